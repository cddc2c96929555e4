"""Forms of values: tables of what is found and what is not, and what holds for any text."""

import base64
import codecs
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earwitness.audit.forms import views
from earwitness.audit.forms.finder import Finder
from earwitness.audit.forms.needles import Needles
from earwitness.audit.forms.skeleton import fold
from earwitness.audit.forms.variants import variants
from earwitness.audit.match_forms import find, match_forms
from earwitness.audit.match_split import identifiers, number_of_pieces, pieces
from earwitness.audit.weak import is_weak
from earwitness.schema.case import Case
from earwitness.schema.progress import silent

TABLES = Path(__file__).parent.parent / "golden" / "forms"
ROWS = [
    pytest.param(json.loads(line), id=f"{path.stem}:{n}")
    for path in sorted(TABLES.glob("*.jsonl"))
    for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
]
FRAME: dict[str, Any] = {"value": pl.Int64, "attribute": pl.String, "text": pl.String, "aliases": pl.List(pl.String)}


def finder(*values: tuple[str, str]) -> tuple[Finder, Needles]:
    rows: list[Any] = [(n, attribute, text, []) for n, (attribute, text) in enumerate(values)]
    needles = Needles(pl.DataFrame(rows, FRAME, orient="row"))
    return Finder(needles), needles


def audit_one(attribute: str, value: str, text: str) -> list[tuple[Any, ...]]:
    """Matches of one value in one text, as an audit stores them."""
    with Case() as case:
        case.execute("INSERT INTO contents (content, text) VALUES (uuid(), ?)", [text])
        case.execute(
            "INSERT INTO vault (value, attribute, text, scope, aliases) VALUES (0, ?, ?, 'case', [])",
            [attribute, value],
        )
        match_forms(case, silent)
        return case.rows("SELECT form, start, stop, confidence, standing FROM matches")


@pytest.mark.parametrize("row", ROWS)
def test_a_value_is_found_in_the_form_it_stands_in(row: dict[str, Any]) -> None:
    found = audit_one(row["attribute"], row["value"], row["text"])
    if row["form"] == "-":
        assert found == []
    else:
        ((form, start, stop, _, _),) = found
        assert form == row["form"]
        assert row["span"] in (None, row["text"][start:stop])


def test_every_kind_of_variant_has_a_table() -> None:
    from earwitness.audit.forms import variants as package

    modules = {p.stem for p in Path(package.__path__[0]).glob("*.py")} - {"__init__"}
    assert modules <= {p.stem for p in TABLES.glob("*.jsonl")}


# Texts around a value: any characters, but no letter or digit next to it.
AROUND = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
WORDS = st.from_regex(r"[A-Z][a-z]{3,8} [A-Z][a-z]{3,8}", fullmatch=True)
IDS = st.from_regex(r"[A-Z]{3}-[1-9][0-9]{6}", fullmatch=True)
DATES = st.dates().filter(lambda d: d.year > 1900).map(str)
AMOUNTS = st.integers(10_000, 9_999_999).map(str)
VALUES = st.one_of(
    st.tuples(st.just("patient_name"), WORDS),
    st.tuples(st.just("account_id"), IDS),
    st.tuples(st.just("dob"), DATES),
    st.tuples(st.just("salary"), AMOUNTS),
)
SHORT = st.tuples(st.just("pin"), st.sampled_from(["a", "7", "12", "ab", "C++", "é", "4711", "王"]))
ANY = st.one_of(VALUES, SHORT)
ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "case": str.upper,
    "json": lambda text: json.dumps(f"é\n{text}\n"),
    "base64": lambda text: base64.b64encode(f"é: {text}, end".encode()).decode(),
    "hex": lambda text: f"é: {text}, end".encode().hex(),
    "reversed": lambda text: text[::-1],
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "line breaks": lambda text: text.replace(" ", "\n  "),
    "wide": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "invisible": lambda text: "\u200b".join(text),
}
_MEANT_FOR = {"reversed": ("patient_name", "account_id"), "rot13": ("patient_name",)}


@settings(max_examples=300, deadline=None)
@given(VALUES, AROUND, AROUND, st.sampled_from(sorted(ENCODINGS)))
def test_an_embedded_value_is_found_where_it_stands(
    value: tuple[str, str], before: str, after: str, encoding: str
) -> None:
    if value[0] not in _MEANT_FOR.get(encoding, (value[0],)) or value[1][::-1] == value[1]:
        return
    written = ENCODINGS[encoding](value[1])
    text = f"{before} | {written} | {after}"
    at = len(before) + 3
    search, _ = finder(value)
    hits = find(search, pa.array([text]))
    spans = [(r["start"], r["stop"]) for r in hits.iter_rows(named=True)]
    assert any(at <= start < stop <= at + len(written) for start, stop in spans) or value[1] in before + after


@settings(max_examples=100, deadline=None)
@given(VALUES, st.data())
def test_every_variant_is_found(value: tuple[str, str], data: st.DataObject) -> None:
    ways = [v for v in variants(*value) if v.fit != "cued"]
    way = data.draw(st.sampled_from(ways)) if ways else None
    text = f"😀 e\u0301 ({way.text if way else value[1]})"
    search, _ = finder(value)
    assert any(text[r["start"] : r["stop"]] for r in find(search, pa.array([text])).iter_rows(named=True))


@settings(max_examples=100, deadline=None)
@given(VALUES, st.text("abcdefghij xyz,.-\n😀é", max_size=80))
def test_a_text_without_the_value_gives_nothing(value: tuple[str, str], text: str) -> None:
    search, _ = finder(value)
    assert find(search, pa.array([text])).is_empty()


@settings(max_examples=100, deadline=None)
@given(st.lists(ANY, min_size=1, max_size=3), st.lists(st.one_of(AROUND, ANY.map(lambda v: v[1])), max_size=6))
def test_one_batch_finds_what_its_texts_give_alone(values: list[tuple[str, str]], texts: list[str]) -> None:
    search, _ = finder(*values)
    together = {(*r[1:], r[0]) for r in find(search, pa.array(texts, pa.string())).iter_rows()}
    alone = {(*r[1:], n) for n, t in enumerate(texts) for r in find(search, pa.array([t])).iter_rows()}
    assert together == alone


@settings(max_examples=100, deadline=None)
@given(VALUES, AROUND, AROUND)
def test_halves_joined_are_the_whole(value: tuple[str, str], before: str, after: str) -> None:
    """A border between sentences takes nothing away and adds nothing."""
    search, _ = finder(value)
    left, right = f"{before} | {value[1]} | So it", f" goes. On: {value[1]} | {after}"
    whole = find(search, pa.array([left + right]))
    halves = [find(search, pa.array([half])) for half in (left, right)]
    assert set(whole["needle"]) == set(halves[0]["needle"]) | set(halves[1]["needle"])
    assert sum(whole["hits"]) == sum(halves[0]["hits"]) + sum(halves[1]["hits"])


@given(st.text(max_size=60))
def test_a_skeleton_is_a_fixed_point(text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    assert fold(fold(text)) == fold(text)


def test_a_value_split_over_two_messages_counts_in_the_second_only() -> None:
    with Case() as case:
        for n, text in enumerate(("The number is 219-09", "-9999, as asked.", "-9999, as asked.")):
            case.execute("INSERT INTO contents (content, text) SELECT md5(?)::UUID, ? WHERE NOT EXISTS "
                         "(SELECT 1 FROM contents WHERE text = ?)", [text, text, text])  # fmt: skip
            case.execute(
                "INSERT INTO events (event, trace, seq, channel, sender, content) "
                "VALUES (?, ?, ?, 'C2', 'a', md5(?)::UUID)",
                [n, n // 2, n, text],
            )
        case.execute(
            "INSERT INTO vault (value, attribute, text, scope, aliases) VALUES (0, 'ssn', '219-09-9999', 'case', [])"
        )
        match_forms(case, silent)
        ((event, form, standing),) = case.rows("SELECT event, form, standing FROM matches")
        assert (event, standing) == (1, "confirmed")
        assert form.startswith("split")


@pytest.mark.parametrize(
    ("attribute", "text", "weak"),
    [
        ("pin", "123", True),
        ("internal_rating", "D", True),
        ("status", "stable", True),
        ("department", "Engineering", True),
        ("first_name", "Heather", False),
        ("ssn", "219-09-9999", False),
        ("performance_rating", "Needs Improvement", True),
        ("notes", "allergic to penicillin", False),
    ],
)
def test_weak_values(attribute: str, text: str, *, weak: bool) -> None:
    assert is_weak(attribute, text) is weak


def test_a_weak_value_is_confirmed_by_its_attribute_nearby() -> None:
    ((*_, standing),) = audit_one("credit_score", "627", "Her credit score is 627.")
    ((*_, alone),) = audit_one("credit_score", "627", "There were 627 people.")
    assert (standing, alone) == ("confirmed", "possible")


@pytest.mark.parametrize(
    ("texts", "standing"),
    [
        (("First part: 2190.", "Noted.", "Second part is 99999, thanks."), "confirmed"),
        (("It begins with 219", "then 099", "and ends with 999"), "possible"),
        (("It begins with 2190", "and ends with 9998"), None),
        (("219099999 as a whole? no: 2190", "nothing"), None),
        (("It ends with 99999", "and begins with 2190"), None),
    ],
)
def test_fragments_of_an_identifier_are_put_together(texts: tuple[str, ...], standing: str | None) -> None:
    with Case() as case:
        case.execute("INSERT INTO traces (trace, trace_id) VALUES (0, 't')")
        for n, text in enumerate(texts):
            case.execute("INSERT INTO contents (content, text) VALUES (md5(?)::UUID, ?)", [text, text])
            case.execute(
                "INSERT INTO events (event, trace, seq, channel, sender, content) "
                "VALUES (?, 0, ?, 'C2', 'a', md5(?)::UUID)",
                [n, n, text],
            )
        case.execute(
            "INSERT INTO vault (value, attribute, text, scope, aliases) VALUES (0, 'ssn', '219-09-9999', 'case', [])"
        )
        match_forms(case, silent)
        found = case.rows("SELECT standing, event FROM matches WHERE event IS NOT NULL")
        assert found == ([(standing, len(texts) - 1)] if standing else [])


@given(st.lists(st.text("ab019- é", max_size=36), max_size=8))
def test_pieces_are_as_many_as_counted_and_each_stands_where_it_says(texts: list[str]) -> None:
    rows: list[tuple[Any, ...]] = [(n, "id", text, []) for n, text in enumerate(texts)]
    found = identifiers(Needles(pl.DataFrame(rows, FRAME, orient="row"), varied=False))
    keys = dict(found.iter_rows())
    cut = pieces(found)
    assert number_of_pieces(found["key"]) == len(cut)
    told = {(needle, at, length): token for token, needle, at, length, _ in cut.iter_rows()}
    assert told == {
        (needle, at, length): key[at : at + length]
        for needle, key in keys.items()
        for at in range(len(key))
        for length in range(3, len(key) - at + 1)
        if length < len(key) and any(map(str.isdigit, key[at : at + length]))
    }


@settings(max_examples=100, deadline=None)
@given(
    st.lists(ANY, min_size=1, max_size=3), st.lists(st.one_of(AROUND, ANY.map(lambda v: f"é王😀 {v[1]} ß")), max_size=6)
)
def test_folding_by_tables_finds_the_same(values: list[tuple[str, str]], texts: list[str]) -> None:
    search, _ = finder(*values)
    one_by_one = find(search, pa.array(texts, pa.string()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(views, "_WORTH_TABLES", 0)
        at_once = find(search, pa.array(texts, pa.string()))
    assert set(one_by_one.iter_rows()) == set(at_once.iter_rows())
