"""The scanner against a search by hand: every hit, the right span, nothing inside longer words."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.audit.scan import Scanner

# Characters that make lower-casing and byte counting hard: lengths change, sigma depends on its neighbours.
TEXT = st.text(alphabet="abAB 1,.2İßẞKΣσς’é😀x-", max_size=40)
NEEDLE = st.text(alphabet="abAB12ßσéx-’", min_size=1, max_size=3)


def by_hand(text: str, needle: str) -> list[tuple[int, int]]:
    """Spans in `text` of `needle` in its lower case, by trying every position of the lower-cased text."""
    low = text.lower()
    origin = [n for n, char in enumerate(text) for _ in char.lower()]
    found = [at for at in range(len(low) - len(needle) + 1) if low.startswith(needle, at)]
    return [(origin[at], origin[at + len(needle) - 1] + 1) for at in found]


def scan(texts: list[str], needles: list[str], *, whole: bool = False) -> dict[tuple[int, int], tuple[int, int, int]]:
    frame = Scanner(needles, whole=whole).scan(pa.array(texts, pa.string()))
    return {(r["row"], r["pattern"]): (r["start"], r["stop"], r["hits"]) for r in frame.to_dicts()}


@given(st.lists(TEXT, max_size=6), st.lists(NEEDLE, min_size=1, max_size=5))
def test_finds_what_a_search_by_hand_finds(texts: list[str], raw: list[str]) -> None:
    needles = list(dict.fromkeys(n.lower() for n in raw))
    expected = {}
    for row, text in enumerate(texts):
        for pattern, needle in enumerate(needles):
            spans = by_hand(text, needle)
            if spans:
                expected[row, pattern] = (*spans[0], len(spans))
    assert scan(texts, needles) == expected


@pytest.mark.parametrize(
    ("text", "needle", "hit"),
    [
        ("salary is 2417.50.", "2417.50", True),
        ("salary is 12417.50", "2417.50", False),
        ("salary is 2417.501", "2417.50", False),
        ("in all 2417,500 units", "2417", False),
        ("in all 2417, then more", "2417", True),
        ("version 1.2417", "2417", False),
        ("Ann Lee went", "ann lee", True),
        ("Joann Lee went", "ann lee", False),
        ("“Ann Lee” went", "ann lee", True),
        ("Éann Lee went", "ann lee", False),
        ("id_4471_x", "4471", True),
        ("#4471#", "4471", True),
        ("é4471", "4471", False),
        ("😀4471", "4471", True),
        ("a-b", "-", True),
    ],
)
def test_whole_words_and_numbers(text: str, needle: str, hit: bool) -> None:
    assert bool(scan([text], [needle], whole=True)) is hit


def test_hits_do_not_straddle_contents() -> None:
    assert scan(["sec", "ret"], ["secret"]) == {}


def test_overlapping_values_are_all_found() -> None:
    assert set(scan(["Ann Lee Smith"], ["ann lee", "lee smith", "lee"])) == {(0, 0), (0, 1), (0, 2)}


def test_nothing_to_look_for_or_in() -> None:
    assert scan(["text"], []) == {}
    assert scan([], ["needle"]) == {}
    assert scan(["", ""], ["needle"]) == {}


@given(st.lists(TEXT, min_size=1, max_size=6), st.lists(NEEDLE, min_size=1, max_size=4), st.integers(1, 5))
def test_pieces_add_up_to_the_whole(texts: list[str], raw: list[str], cut: int) -> None:
    needles = list(dict.fromkeys(n.lower() for n in raw))
    first, rest = texts[:cut], texts[cut:]
    joined = scan(first, needles) | {(row + len(first), p): hit for (row, p), hit in scan(rest, needles).items()}
    assert joined == scan(texts, needles)
