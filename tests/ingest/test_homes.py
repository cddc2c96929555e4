"""Which traces the spans of an import stand in: columns answer as plain dictionaries do."""

from hypothesis import given
from hypothesis import strategies as st

from earwitness.ingest.spans.homes import Homes, Stray

# Ids drawn by lot, counted ones, words, long and short: all of them come again in other traces.
IDS = st.sampled_from(
    [f"{n:016x}" for n in (7, 2**32 - 1, 2**32, 2**60, 2**64 - 1)]
    + ["step-1", "step-2", "7", "a-long-id-of-a-step", "another-id-of-a-step", "dead_beef_000001", "\ud800" * 16]
)
SPANS = st.lists(st.tuples(st.integers(0, 3), IDS, st.none() | IDS), max_size=12)
Rows = list[tuple[int, str, str | None]]


def drawn_by_lot(span_id: str) -> bool:
    try:
        return "_" in span_id or int(span_id, 16) >= 2**32
    except ValueError:
        return len(span_id) >= 16


def homes_of(rows: Rows, span_id: str) -> set[int]:
    return {trace for trace, own, _ in rows if own == span_id}


def home_of(rows: Rows, trace: int, parent: str) -> int | None:
    counting = [homes_of(rows, own) for _, own, _ in rows if len(homes_of(rows, own)) > 1]
    homes = homes_of(rows, parent)
    if len(homes) != 1 or trace in homes or not drawn_by_lot(parent):
        return None
    (home,) = homes
    return None if all(any(t in some for some in counting) for t in (trace, home)) else home


@given(SPANS)
def test_homes_are_those_of_dictionaries(rows: Rows) -> None:
    found = Homes()
    for where, (trace, own, parent) in enumerate(rows):
        found.note(trace, own, parent, where)
    found.settle(4)
    expected: dict[tuple[int, str], list[int]] = {}
    for where, (trace, _, parent) in enumerate(rows):
        if parent and home_of(rows, trace, parent) is not None:
            expected.setdefault((trace, parent), []).append(where)
    strays = [Stray(t, home_of(rows, t, p) or 0, named[0], len(named)) for (t, p), named in expected.items()]
    assert list(found.strays()) == strays
    for span_id in {own for _, own, _ in rows} | {"nowhere", f"{2**50:016x}"}:
        assert found.knows(span_id) == bool(homes_of(rows, span_id))
        for trace in range(4):
            assert found.holds(trace, span_id) == (trace in homes_of(rows, span_id))
            assert found.home(trace, span_id) == home_of(rows, trace, span_id)
