"""Large JSON values read in pieces say what they say when they are decoded whole."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earwitness.ingest.containers import Block, Container, json_lines, records, records_of, whole
from earwitness.ingest.jsonlarge import Cuts
from earwitness.ingest.jsonpieces import Large
from earwitness.ingest.jsonscan import Array, Scan
from earwitness.ingest.jsontext import documents
from earwitness.ingest.limits import DEFAULT_LIMITS, Limits
from earwitness.ingest.loader import Loader, Router
from earwitness.ingest.record import Elements, Record, Skip, Source
from earwitness.ingest.registry import adapter_for, find_adapters, find_pieces, pieces_of
from earwitness.ingest.shelf import Shelf
from earwitness.ingest.stream import CountingStream
from earwitness.schema.case import Case

GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
OPTED = [a for a in find_adapters() if hasattr(a, "PIECES")]
SAMPLES = sorted(p for a in OPTED for p in (GOLDEN / a.NAME).glob("*.in.json*"))
# Of every format the largest, or one that holds an envelope.
CHOSEN = {"anthropic-managed": "threads.in.json", "google-adk-events": "session.in.json"}
LARGEST = [
    max((GOLDEN / a.NAME).glob(CHOSEN.get(a.NAME, "*.in.json*")), key=lambda path: path.stat().st_size) for a in OPTED
]
CUTS = Cuts(find_pieces, pieces_of)
_TIMES = ("meta", "runs")  # tables that say when


def tiny(piece: int, **more: int) -> Limits:
    """Limits under which every object is large."""
    return replace(DEFAULT_LIMITS, whole=1, piece=piece, **{"block": 7, **more})


# -- all tables of a case -------------------------------------------------------------------------------------------


def tables(path: Path, limits: Limits) -> dict[str, list[tuple[object, ...]]]:
    with Case() as case:
        Loader(case, limits).load([path])
        names = case.rows("SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'")
        return {str(n): case.rows(f'SELECT * FROM "{n}" ORDER BY ALL') for (n,) in names if n not in _TIMES}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of every large value that is taken: whether in pieces."""
    seen: list[bool] = []

    def note(self: Large, adapter: Any) -> bool:
        seen.append(self.parts.paths <= set(getattr(adapter, "PIECES", ())))
        return seen[-1]

    monkeypatch.setattr(Large, "suits", note)
    return seen


def test_formats_are_opted_in() -> None:
    names = {"jaeger", "langfuse-trace", "mlflow-trace", "otlp-logs", "otlp-spans", "phoenix-rest"}
    assert names <= {a.NAME for a in OPTED}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: f"{p.parent.name}/{p.name.split('.')[0]}")
def test_an_import_of_a_sample_gives_the_same_tables(path: Path, taken: list[bool]) -> None:
    expected = tables(path, DEFAULT_LIMITS)
    assert not taken
    assert tables(path, tiny(300)) == expected
    assert all(taken)


@pytest.mark.parametrize("layout", ["on one line", "indented", "in an array"])
@pytest.mark.parametrize("path", LARGEST, ids=lambda p: p.parent.name)
def test_an_import_gives_the_same_tables(path: Path, layout: str, tmp_path: Path, taken: list[bool]) -> None:
    path = _laid_out(path, layout, tmp_path)
    expected = tables(path, DEFAULT_LIMITS)
    assert not taken
    assert tables(path, tiny(7)) == expected
    assert taken
    assert all(taken)


# Formats whose samples hold lines, and the list in which an answer holds them.
ENVELOPES = {"logfire-records": "rows", "openai-agents-trace": "data"}


def _laid_out(path: Path, layout: str, folder: Path) -> Path:
    text = path.read_text()
    try:
        values = [json.loads(text)]
    except json.JSONDecodeError:
        values = [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]
    if name := ENVELOPES.get(path.parent.name):
        values = [{name: values}]
    laid = {
        "on one line": lambda: "".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values),
        "indented": lambda: "\n".join(json.dumps(v, indent=2) for v in values),
        "in an array": lambda: json.dumps(values, indent=1),
    }[layout]()
    out = folder / "in.json"
    out.write_text(laid, encoding="utf-8")
    return out


# -- random documents -----------------------------------------------------------------------------------------------

_EDGES = st.sampled_from(['"', "\\", '\\"', "{", "}", "[", "]", ",", ":", '":', "é", "\U0001f600", "\n", '"spans":['])
TEXT = st.lists(_EDGES | st.text(max_size=4), max_size=5).map("".join)
_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(TEXT | st.sampled_from(["spans", "data", "observations", "a/b", "*"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def _rows(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Rows of a format, among which something else may stand."""
    row = st.builds(lambda known, more: {**more, **known}, st.fixed_dictionaries(fields), _ANY.map(_as_dict))
    return st.lists(row | row | row | _ANY, max_size=6)


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"more": value}


_ID = st.integers(1, 2**60).map("{:016x}".format)
_SPANS = _rows(traceID=_ID, spanID=_ID, processID=st.sampled_from(["p1", "p2"]), tags=_ANY)
_TRACE = st.builds(
    lambda spans, more: {"traceID": "1", **more, "spans": spans, "processes": {"p1": {"serviceName": "desk"}}},
    _SPANS,
    _ANY.map(_as_dict),
)
_OTLP = st.builds(
    lambda rows: {"scopeSpans": [{"scope": {"name": "s"}, "spans": rows}], "resource": {"attributes": []}},
    _rows(traceId=_ID, spanId=_ID, attributes=_ANY),
)
_LOGS = st.builds(
    lambda rows: {"resource": {"attributes": []}, "scopeLogs": [{"logRecords": rows, "scope": {"name": "s"}}]},
    _rows(traceId=_ID, spanId=_ID, body=_ANY).map(lambda rows: [_as_dict(r) for r in rows]),
)
DOCUMENTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "jaeger": _TRACE,
    "jaeger, many": st.lists(_TRACE | _ANY, max_size=4).map(lambda rows: {"total": 0, "data": rows, "errors": None}),
    "mlflow": _rows(span_id=_ID, trace_id=_ID, attributes=_ANY).map(
        lambda rows: {"info": {"trace_id": "t"}, "data": {"spans": rows, "other": [1]}}
    ),
    "langfuse": _rows(id=_ID, traceId=_ID, metadata=_ANY).map(
        lambda rows: {"observations": rows, "trace": {"id": "t", "sessionId": "s"}}
    ),
    "otlp": st.lists(_OTLP | _ANY, max_size=4).map(lambda rows: {"resourceSpans": rows}),
    "tempo": st.lists(_OTLP, max_size=3).map(lambda rows: {"trace": {"resourceSpans": rows}, "metrics": {}}),
    "logs": st.lists(_LOGS | _ANY, max_size=4).map(lambda rows: {"resourceLogs": rows}),
    "phoenix": _rows(span_kind=st.just("LLM"), context=st.just({"span_id": "1", "trace_id": "2"})).map(
        lambda rows: {"next_cursor": None, "data": rows}
    ),
    "anything": _ANY.map(_as_dict),
}


def told(chunks: Iterator[Block | Record | Skip | Large], limits: Limits) -> tuple[list[Any], int]:
    """The records of a stream as adapters take them apart, and how many values came in pieces."""
    out: list[Any] = []
    pieces = 0
    for chunk in chunks:
        if isinstance(chunk, Large):
            adapter = adapter_for(chunk.sample)
            if adapter and chunk.suits(adapter):
                pieces += 1
                out += adapter.split(Record(chunk.value(), chunk.place))  # type: ignore[attr-defined]
                continue
            chunk = whole(chunk, limits)
        for found in records_of(chunk) if isinstance(chunk, Block) else [chunk]:
            adapter = adapter_for(found.value) if isinstance(found, Record) else None
            split = getattr(adapter, "split", None)
            out += split(found) if split else [found]
    return out, pieces


LAYOUTS: dict[str, Callable[[Any], str]] = {
    "lines": lambda v: json.dumps(v) + "\n",
    "lines, windows": lambda v: " \t" + json.dumps(v, ensure_ascii=False, separators=(",", ":")) + " \r\n",
    "document": lambda v: json.dumps(v, indent=1) + "\n",
    "document, tight": lambda v: json.dumps(v, ensure_ascii=False, separators=(",", ":")),
    "array": lambda v: "[" + json.dumps(v, indent=2, ensure_ascii=False) + ",\n" + json.dumps(v) + "]",
}


def read(layout: str, data: bytes, limits: Limits) -> tuple[list[Any], int]:
    stream = CountingStream(io.BytesIO(data))
    name = {"lines": "jsonl", "array": "json-array"}.get(layout.split(",")[0], "json-concatenated")
    container = Container(name, stream)
    if name == "jsonl":
        return told(json_lines(container, limits, CUTS), limits)
    return told(records(container, limits, CUTS), limits)


def drawn(data: st.DataObject, kind: str) -> tuple[str, bytes]:
    """How documents are laid out, and some of a kind laid out so."""
    layout = data.draw(st.sampled_from(sorted(LAYOUTS)))
    values = data.draw(st.lists(DOCUMENTS[kind], min_size=1, max_size=2))
    return layout, "".join(map(LAYOUTS[layout], values)).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("kind", DOCUMENTS)
@settings(max_examples=30)
@given(data=st.data(), piece=st.sampled_from([1, 5, 30, 200]), block=st.sampled_from([1, 9, 1 << 20]))
def test_every_document_gives_the_same_records(kind: str, data: st.DataObject, piece: int, block: int) -> None:
    layout, raw = drawn(data, kind)
    expected, none = read(layout, raw, DEFAULT_LIMITS)
    found, _ = read(layout, raw, tiny(piece, block=block))
    assert none == 0
    assert repr(found) == repr(expected)


_DAMAGE = st.sampled_from(
    [
        b"",
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\n",
        b"NaN",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\t",
        b"1e999",
        b"[,]",
    ]
)


@pytest.mark.parametrize("kind", DOCUMENTS)
@settings(max_examples=50)
@given(data=st.data(), piece=st.sampled_from([1, 5, 30, 200]), block=st.sampled_from([1, 9, 1 << 20]))
def test_every_damaged_document_gives_the_same_outcomes(kind: str, data: st.DataObject, piece: int, block: int) -> None:
    layout, raw = drawn(data, kind)
    at = data.draw(st.integers(0, len(raw)))
    gone = data.draw(st.sampled_from([0, 1, 2, len(raw)]))
    raw = raw[:at] + data.draw(_DAMAGE) + raw[at + gone :]
    expected, _ = read(layout, raw, DEFAULT_LIMITS)
    found, _ = read(layout, raw, tiny(piece, block=block))
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("kind", DOCUMENTS)
@settings(max_examples=50)
@given(data=st.data(), piece=st.sampled_from([1, 5, 30, 200]), line=st.integers(10, 200))
def test_every_document_over_the_limit_is_read_or_refused(
    kind: str, data: st.DataObject, piece: int, line: int
) -> None:
    layout = data.draw(st.sampled_from([name for name in sorted(LAYOUTS) if name != "array"]))
    raw = LAYOUTS[layout](data.draw(DOCUMENTS[kind])).encode("utf-8", "surrogatepass")
    expected, _ = read(layout, raw, DEFAULT_LIMITS)
    found, _ = read(layout, raw, tiny(piece, line=line))
    if [type(f) for f in found] == [Skip]:
        assert found[0].outcome == "oversized"
        assert len(raw) > line
    else:
        assert repr(found) == repr(expected)
    at = data.draw(st.integers(0, len(raw)))
    damaged, _ = read(layout, raw[:at] + data.draw(_DAMAGE) + raw[at:], tiny(piece, line=line))
    assert damaged


# -- over the limit -------------------------------------------------------------------------------------------------

OVER = tiny(40, line=700, block=64)


def _document(spans: int = 30, **more: object) -> dict[str, Any]:
    rows = [{"traceID": "1", "spanID": f"{n + 1:x}", "operationName": f'say "{n}" {{'} for n in range(spans)]
    return {"traceID": "1", "spans": rows, "processes": {}, **more}


def load(path: Path, data: bytes, limits: Limits = OVER) -> tuple[Source, list[tuple[Any, ...]]]:
    """The source of a file, and the records that were not mapped: line, offset, length, pointer, outcome, reason."""
    path.write_bytes(data)
    with Case() as case:
        (source,) = Loader(case, limits).load([path])
        assert sum(source.outcomes.values()) == source.records
        rows = case.rows('SELECT line, "offset", length, pointer, outcome, reason FROM records ORDER BY ALL')
    return source, rows


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("around", ["alone", "before and behind"])
def test_a_document_over_the_limit_is_read(tmp_path: Path, indent: int | None, around: str) -> None:
    large, small = json.dumps(_document(), indent=indent), json.dumps(_document(2), indent=indent)
    assert len(large) > OVER.line > len(small)
    text = large if around == "alone" else f"{small}\n{large}\n{small.replace('1', '2')}\n"
    source, rows = load(tmp_path / "in.json", text.encode())
    assert source.dialects == {"jaeger": 30 if around == "alone" else 34}
    assert {row[4] for row in rows} <= {"ignored", "duplicate"}
    pointers = {row[3] for row in rows if row[4] == "ignored" and row[2] == len(large)}
    assert f"/spans/{29}" in pointers


_LARGE = json.dumps(_document())
_MIDDLE = _LARGE.index('"spanID": "10"')
# What is wrong, the text, outcome, words of the reason.
REFUSED: dict[str, tuple[str, str, str]] = {
    "cut off": (_LARGE[:-30], "unparseable", "cut off"),
    "cut off in a text": (_LARGE[:_MIDDLE], "unparseable", "cut off"),
    "a comma is missing": (_LARGE[:_MIDDLE] + "1 " + _LARGE[_MIDDLE:], "unparseable", "behind byte"),
    "a bracket of the other kind": (_LARGE[::-1].replace("}", "]", 1)[::-1], "unparseable", "not JSON"),
    "a trailing comma": (_LARGE.replace('"}], "proc', '"},], "proc'), "unparseable", "expecting value"),
    "two commas": (_LARGE.replace("}, {", "},, {", 1), "unparseable", "expecting value"),
    "a key twice": (_LARGE.replace('"processes"', '"traceID"'), "unparseable", "repeats a key"),
    "a key twice in an element": (
        _LARGE[:_MIDDLE] + '"traceID": "2", ' + _LARGE[_MIDDLE:],
        "unparseable",
        "repeats a key",
    ),
    "a list as a key": (
        _LARGE.replace('{"traceID"', '{"spans": 1, [' + "{}," * 50 + '{}]: 1, "traceID"', 1),
        "unparseable",
        "not JSON",
    ),
    "too deep": (_LARGE.replace("{}}", "[" * 300 + "]" * 300 + "}"), "oversized", "JSON lines"),
    "a large part that is no list": (_LARGE.replace("{}}", json.dumps("x" * 900) + "}"), "oversized", "JSON lines"),
    "a format that is not known": (_LARGE.replace("traceID", "id"), "oversized", "split it"),
    "no list": (json.dumps({"a": "x" * 900}), "oversized", "split it"),
    "no object": (json.dumps("x" * 900), "oversized", "split it"),
}


@pytest.mark.parametrize("indent", [False, True], ids=["line", "document"])
@pytest.mark.parametrize(("text", "outcome", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_over_the_limit_and_cannot_be_read_says_why(
    tmp_path: Path, text: str, outcome: str, said: str, indent: bool
) -> None:
    text = text.replace(", ", ",\n ") if indent else text
    good = json.dumps(_document(2))
    source, rows = load(tmp_path / "in.json", f"{good}\n{text}\n{good.replace('1', '2')}\n".encode())
    wrong = [row for row in rows if row[4] not in ("ignored", "duplicate")]
    assert wrong[0][0] == 2
    assert wrong[0][4] == outcome
    assert said in wrong[0][5]
    assert source.dialects["jaeger"] == 4  # what stands before and behind it is read


@pytest.mark.parametrize("piece", range(1, 90, 4))
def test_a_trailing_comma_is_found_wherever_the_list_is_cut(piece: int) -> None:
    text = _LARGE.replace('"}], "proc', '"},], "proc').encode()
    (found,) = records(Container("json", CountingStream(io.BytesIO(text))), replace(OVER, piece=piece), CUTS)
    assert isinstance(found, Skip)
    assert found.outcome == "unparseable"


def test_a_key_that_ends_like_that_of_a_list_is_none(tmp_path: Path) -> None:
    text = json.dumps({"traceID": "1", "spans": [], 'other "spans': _document()["spans"]})
    _, rows = load(tmp_path / "in.json", text.encode())
    assert [row[4] for row in rows] == ["oversized"]
    _, rows = load(tmp_path / "in.json", text.encode(), tiny(40))
    assert [row[5] for row in rows] == ["a trace without spans"]


def test_more_behind_a_value_spoils_a_line_but_no_document(tmp_path: Path) -> None:
    _, rows = load(tmp_path / "in.json", f"{{}}\n{_LARGE}]\n".encode())
    assert (rows[1][4], rows[1][5]) == ("unparseable", f"not JSON: extra data, behind byte {3 + len(_LARGE)}")
    source, rows = load(tmp_path / "in.json", json.dumps(_document(), indent=1).encode() + b"]")
    assert source.dialects == {"jaeger": 30}
    assert [row[5] for row in rows if row[4] == "unparseable"] == ["not JSON: expecting value"]


def test_a_value_is_refused_where_no_room_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def put(self: Shelf, raw: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Shelf, "put_bytes", put)
    for indent in (None, 1):
        _, rows = load(tmp_path / "in.json", json.dumps(_document(), indent=indent).encode())
        assert [row[4] for row in rows] == ["oversized"]
        source, _ = load(tmp_path / "in.json", json.dumps(_document(3), indent=1).encode())
        assert source.dialects == {"jaeger": 3}


def test_reading_goes_on_behind_a_broken_value_however_short_the_reads_are() -> None:
    class Short(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(1, size or 0))

    text = b'{\n "a": 1\n "b": 2,' + b'\n "d": 3' * 9 + b'\n}\n{\n "c": "\xc3\xa9"\n}\n'
    found = list(documents(Short(text), 0, DEFAULT_LIMITS, array=False, take=lambda window: None))
    assert [type(f) for f in found] == [Skip, Record]
    assert found[1].place[:3] == (14, text.rindex(b"{"), 14)


def test_a_stream_that_is_damaged_in_a_large_value_says_so(tmp_path: Path) -> None:
    import gzip

    packed = gzip.compress(json.dumps(_document(500), indent=1).encode())
    source, rows = load(tmp_path / "in.json.gz", packed[: len(packed) // 2])
    assert "unparseable" in {row[4] for row in rows}
    assert source.problem


def test_many_values_that_are_not_read_in_pieces_take_no_more_each(tmp_path: Path) -> None:
    """What was put aside of one is let go before the next."""
    value = json.dumps({"kind": "of nobody", "spans": [[n] for n in range(60)]}, indent=1)
    limits = tiny(400, line=10_000, block=500)
    source, rows = load(tmp_path / "in.json", "\n".join([value] * 2500).encode(), limits)
    assert source.outcomes["unknown"] == 2500
    assert [row[0] for row in rows[:2]] == [1, 1 + value.count("\n") + 1]


# -- elements -------------------------------------------------------------------------------------------------------


def test_elements_are_walked_again_and_counted() -> None:
    text = json.dumps(_document(50)).encode()
    stream = CountingStream(io.BytesIO(text))
    (large,) = records(Container("json", stream), tiny(30), CUTS)
    assert isinstance(large, Large)
    rows = large.value()["spans"]
    assert isinstance(rows, Elements)
    assert not isinstance(rows, list)
    assert len(rows) == 50
    assert list(rows) == list(rows) == _document(50)["spans"]
    assert 20 <= len(large.sample["spans"]) < 50
    assert large.value()["processes"] == {}


@given(value=_ANY, piece=st.integers(1, 60), block=st.integers(1, 60), indent=st.sampled_from([None, 1]))
def test_a_scan_finds_where_a_value_ends_and_its_arrays(value: Any, piece: int, block: int, indent: int | None) -> None:
    document = {"spans": value, "data": [{"spans": [value]}]}
    text = json.dumps(document, ensure_ascii=False, indent=indent).encode("utf-8", "surrogatepass")
    scan, end = Scan({"/spans", "/data", "/data/*/spans"}, piece), None
    for at in range(0, len(text) + 4, block):
        if (found := scan.feed((text + b'{"]"')[at : at + block])) is not None:
            end = at + found
            break
    assert end == len(text)
    assert scan.root
    for array in _arrays(scan.root):
        inside = {"/spans": value, "/data": document["data"], "/data/*/spans": [value]}[array.path]
        assert json.loads(text[array.start - 1 : array.end + 1]) == json.loads(json.dumps(inside))
        for cut in array.cuts:
            json.loads(b"[" + text[array.start : cut] + b"]")


def _arrays(array: Array) -> Iterator[Array]:
    for inner in array.inner:
        yield inner
        yield from _arrays(inner)


def test_the_program_takes_a_large_value_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limits as they are: 20 MB in a line of its own, and over many lines."""
    seen: list[str] = []
    take = Router._take_large

    def note(self: Router, large: Large) -> None:
        seen.append("document" if large.document else "line")
        take(self, large)

    monkeypatch.setattr(Router, "_take_large", note)
    rows = [{"traceID": "1", "spanID": f"{n + 1:x}", "tags": [{"key": "k", "value": "v" * 4000}]} for n in range(5000)]
    for indent in (None, 1):
        text = json.dumps({"data": [{"traceID": "1", "spans": rows}]}, indent=indent)
        source, _ = load(tmp_path / "in.json", text.encode(), DEFAULT_LIMITS)
        assert source.dialects == {"jaeger": 5000}
    assert seen == ["line", "document"]
