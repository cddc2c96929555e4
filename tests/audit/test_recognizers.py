"""Recognizers against their tables, and the columnar way against the plain one."""

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earwitness.audit.recognizers.base import Found, Recognizer, luhn
from earwitness.audit.recognizers.registry import find_recognizers
from earwitness.audit.replayed.bulk import recognize

FOLDER = Path(__file__).parents[1] / "golden" / "recognizers"
RECOGNIZERS = {r.name: r for r in find_recognizers()}


class Row(NamedTuple):
    """One line of a table; of a negative only the text."""

    name: str
    text: str
    span: str = ""
    canonical: str = ""
    strong: bool = False
    entity: str = ""


def plain(cell: str) -> str:
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], cell)


def table(path: Path) -> tuple[list[Row], list[Row]]:
    rows: dict[str, list[Row]] = {"+": [], "-": []}
    for line in path.read_text().splitlines():
        sign, *cells = line.split("\t")
        if sign == "-":
            rows[sign].append(Row(path.stem, plain(cells[0])))
        elif sign == "+":
            text, span, canonical, strength, *entity = cells
            found = (plain(text), plain(span), plain(canonical), strength == "strong", "".join(entity))
            rows[sign].append(Row(path.stem, *found))
    return rows["+"], rows["-"]


TABLES = {path.stem: table(path) for path in sorted(FOLDER.glob("*.tsv"))}
POSITIVES = [row for found, _ in TABLES.values() for row in found]
NEGATIVES = [row for _, none in TABLES.values() for row in none]
TEXTS = list(dict.fromkeys(row.text for row in [*POSITIVES, *NEGATIVES]))


def told(recognizer: Recognizer, text: str, found: Found) -> tuple[str, str, bool, str]:
    return text[found.start : found.stop], found.canonical, found.strong, found.entity or recognizer.entity


def test_every_recognizer_has_a_table() -> None:
    assert TABLES.keys() == RECOGNIZERS.keys()
    assert all(len(found) >= 3 and len(none) >= 8 for found, none in TABLES.values())


@pytest.mark.parametrize("row", POSITIVES, ids=lambda r: f"{r.name}:{r.text[:30]}")
def test_found(row: Row) -> None:
    recognizer = RECOGNIZERS[row.name]
    found = [told(recognizer, row.text, f) for f in recognizer.find(row.text)]
    assert (row.span, row.canonical, row.strong, row.entity or recognizer.entity) in found


@pytest.mark.parametrize("row", NEGATIVES, ids=lambda r: f"{r.name}:{r.text[:30]}")
def test_not_found(row: Row) -> None:
    assert list(RECOGNIZERS[row.name].find(row.text)) == []


@pytest.mark.parametrize("row", POSITIVES, ids=lambda r: f"{r.name}:{r.text[:30]}")
def test_prefilter_lets_it_pass_in_both_engines(row: Row) -> None:
    pattern = RECOGNIZERS[row.name].prefilter
    assert re.search(pattern, row.text)
    assert pl.Series([row.text]).str.contains(pattern).all()


@pytest.mark.parametrize("recognizer", RECOGNIZERS.values(), ids=lambda r: r.name)
def test_prefilters_assert_nothing(recognizer: Recognizer) -> None:
    """Else their matches need not stand where `str.index` finds them."""
    assert not re.search(r"\(\?[=!<]|\\b|\\B|\(\?P|(?<!\[)\^|(?<!\\)\$$", recognizer.prefilter)
    assert re.compile(recognizer.prefilter).groups == 0


def spans(recognizer: Recognizer, text: str) -> set[tuple[int, int, str, str]]:
    finds = recognizer.find(text)
    if recognizer.whole:
        return {(f.start, f.stop, f.entity or recognizer.entity, f.canonical) for f in finds}
    out, base = set(), 0
    for line in text.split("\n"):
        for f in recognizer.find(line):
            out.add((base + f.start, base + f.stop, f.entity or recognizer.entity, f.canonical))
        base += len(line) + 1
    return out


@pytest.mark.parametrize("recognizer", RECOGNIZERS.values(), ids=lambda r: r.name)
@pytest.mark.parametrize("frame", ["{}", "\U0001f600e\u0301 {}", "{}\n{}", "{}" + " und so fort" * 80 + " {}"])
def test_columns_agree_with_the_plain_way(recognizer: Recognizer, frame: str) -> None:
    texts = [frame.replace("{}", text) for text in TEXTS]
    found = recognize(pa.array(texts), [recognizer])
    by_row: dict[int, set[tuple[int, int, str, str]]] = {}
    for row, start, stop, entity, canonical in found.select("row", "start", "stop", "entity", "canonical").iter_rows():
        by_row.setdefault(row, set()).add((start, stop, entity, canonical))
    for n, text in enumerate(texts):
        assert by_row.get(n, set()) == spans(recognizer, text), text


# What makes a careless pattern try everything again at every place.
ATOMS = (
    *(
        "a",
        "1",
        "-",
        '"',
        "@",
        ".",
        " ",
        "\\",
        "A ",
        "Aa ",
        "1 ",
        "1-",
        "1,",
        "1.",
        "a.",
        "a@",
        "a: ",
        "a-",
        "*",
        "[",
        "'",
        "\n",
    ),
    *(
        '"a": ',
        '"a":"',
        '{"a":',
        '\\"a\\": ',
        "1:",
        "a_",
        "A1",
        "$1",
        "eyJa.",
        "sk-a",
        "://a:",
        "key: ",
        "password: a",
        "Mr. A",
    ),
    *(
        "John A",
        "ssn 123",
        "(1",
        "+1",
        "1/1/",
        "Jan 1 ",
        "account ",
        "passport ",
        "diagnosed with a ",
        "1 A St ",
        "John ",
    ),
    *("-----BEGIN PRIVATE KEY-----", "\u00e9", "\U0001f600"),
)


@pytest.mark.parametrize("atom", ATOMS, ids=repr)
def test_no_text_takes_long(atom: str) -> None:
    text = atom * (50_000 // len(atom))
    started = time.process_time()
    recognize(pa.array([text]))
    assert time.process_time() - started < 5


@given(st.lists(st.sampled_from([*TEXTS, *ATOMS]) | st.text(max_size=8), max_size=12).map("".join))
@settings(max_examples=60, deadline=None)
def test_spans_lie_in_the_text(text: str) -> None:
    for start, stop, canonical in recognize(pa.array([text])).select("start", "stop", "canonical").iter_rows():
        assert 0 <= start < stop <= len(text)
        assert canonical


def test_nothing_in_nothing() -> None:
    assert recognize(pa.array([], pa.string())).is_empty()
    assert recognize(pa.array([None, "", "\n\n"], pa.string())).is_empty()


def test_same_text_in_two_rows_is_found_in_both() -> None:
    found = recognize(pa.array(["a@b.co", "x", "a@b.co"]), [RECOGNIZERS["email"]])
    assert found.select("row", "start", "stop").rows() == [(0, 0, 6), (2, 0, 6)]


def test_recognizers_load_no_library_before_it_is_needed() -> None:
    code = (
        "import sys; from earwitness.audit.recognizers.registry import find_recognizers as f; f();"
        "print([m for m in ('phonenumbers', 'stdnum', 'spacy', 'polars') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("number", "sound"), [("4111111111111111", True), ("4111111111111112", False), ("0000", False)]
)
def test_luhn(number: str, sound: bool) -> None:
    assert luhn(number) is sound
