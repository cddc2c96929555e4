"""Lines decoded at once say what each says by itself, and JSON is written as the standard library writes it."""

import json
from json import JSONDecodeError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.ingest.containers import Block, lines_of, records_of
from earwitness.ingest.jsonout import encode_text, encoder
from earwitness.ingest.record import Record

_KEYS = st.sampled_from(['"a"', '"b"', '"\\\\"', '"\\""', '":"', '"c\\":"', '"d\\\\\\":"', '"e,"'])
_SCALARS = st.sampled_from(
    [
        *("1", "-0", "1e5", "1e999", "NaN", "9" * 30, "null", "true", '"x"', '"\\":"', '":"', '"\\\\"', '"\\ud800"'),
        '"{\\"a\\":1}"',
        '"\\\\\\":\\\\"',
        '"a\tb"',
        '"\\u003ax"',
    ]
)
_COLONS = st.sampled_from([":", " :", ": ", "\t:"])


def _joined(pairs: list[tuple[str, str, str]]) -> str:
    return "{" + ",".join(key + colon + value for key, colon, value in pairs) + "}"


# Keys may repeat, escapes may end them, and JSON may stand in a text.
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda rows: f"[{','.join(rows)}]")
        | st.lists(st.tuples(_KEYS, _COLONS, inner), max_size=4).map(_joined)
    ),
    max_leaves=8,
)
_PIECES = st.sampled_from(["{", "}", "[1,", "]", ",", '"a":', "{}", "é", "\ufeff", " "])
_NOISE = st.lists(_PIECES, max_size=5).map("".join)
_LINES = st.lists(st.tuples(_VALUES | _NOISE, st.sampled_from(["\n", "\r\n", " \n", "\n\n"])), min_size=1, max_size=4)


class _Repeated(Exception):
    pass


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise _Repeated
    return dict(pairs)


def _float(text: str) -> Any:
    return text if abs(float(text)) == float("inf") else float(text)


def _alone(raw: bytes) -> str | None:
    text = raw.decode("utf-8", "surrogateescape").strip(" \t\r\n\ufeff")
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=str, parse_float=_float, strict=False)
    except (JSONDecodeError, _Repeated):
        return None
    return repr(value)


@given(lines=_LINES)
def test_lines_say_together_what_each_says_alone(lines: list[tuple[str, str]]) -> None:
    block = Block("".join(text + end for text, end in lines).encode("utf-8", "surrogatepass"), 7, 100)
    together = [(repr(r.value) if isinstance(r, Record) else None, r.place) for r in records_of(block)]
    assert together == [(_alone(raw), place) for raw, place in lines_of(block)]


@pytest.mark.parametrize("repeated", ['{"a":1,"a":"\\u003ax"}', '{"a":[{"b":":"}],"a":"\\u003a"}', '{"a,":1,"a,":"a"}'])
def test_what_another_text_is_written_like_hides_no_repeated_key(repeated: str) -> None:
    lines = f'{{"c":1}}\n{repeated}\n'.encode()
    assert [isinstance(found, Record) for found in records_of(Block(lines, 1, 0))] == [True, False]


_WRITTEN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    max_leaves=8,
)


@pytest.mark.parametrize("settings", [{"ensure_ascii": False, "separators": (",", ":")}, {"sort_keys": True}])
@given(value=_WRITTEN)
def test_json_is_written_as_the_standard_library_writes_it(settings: dict[str, Any], value: Any) -> None:
    assert encoder(default=str, **settings)(value) == json.dumps(value, default=str, **settings)


@given(text=st.text())
def test_a_text_is_escaped_as_the_standard_library_escapes_it(text: str) -> None:
    assert encode_text(text) == json.dumps(text, ensure_ascii=False)
