"""Records put aside by run come back as they were, whatever they hold and wherever they stand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.ingest.boundary import singly
from earwitness.ingest.record import Emit, Place, Record, Skip
from earwitness.ingest.runlog import Chains, RunLog

NUMBERS = st.integers(0, 1 << 62)
PLACES = st.builds(Place, NUMBERS, NUMBERS, NUMBERS, st.text() | st.just("/\ud800"), st.integers(-1, 1 << 31))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just("\udfff"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.tuples(st.sampled_from("abc"), VALUES, PLACES), max_size=30))
def test_records_come_back_by_run_in_order(rows: list[tuple[str, Any, Place]]) -> None:
    log = RunLog()
    for run, value, place in rows:
        log.add(run, value, place)
    runs = list(dict.fromkeys(run for run, _, _ in rows))
    assert (list(log.names()), len(log)) == (runs, len(runs))
    for run in runs:
        expected = [Record(value, place) for name, value, place in rows if name == run]
        assert run in log
        assert list(log.of(run)) == expected
        assert list(log.places(run)) == [place for _, place in expected]
    log.close()
    assert "a" not in log


def test_records_of_which_the_earlier_ones_are_on_disk() -> None:
    log, place = RunLog(), Place(1, 2, 3)
    for n in range(40):
        log.add(f"r{n % 3}", "x" * 100_000 + str(n), place)
    assert log.size > 4_000_000
    assert [r.value[100_000:] for r in log.of("r1")] == [str(n) for n in range(1, 40, 3)]


def test_a_record_of_several_runs() -> None:
    log = RunLog()
    at = log.add("a", {"k": 1}, Place(1, 0, 9, "/s"))
    log.share("b", at)
    assert list(log.of("a")) == list(log.of("b")) == [Record({"k": 1}, Place(1, 0, 9, "/s"))]


def test_numbers_of_an_unknown_name() -> None:
    assert list(Chains().of("nobody's")) == []


def test_what_is_nested_too_deep_is_refused_and_leaves_nothing() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    log = RunLog()
    with pytest.raises(RecursionError):
        log.add("a", deep, Place(1, 0, 9))
    assert "a" not in log


def test_a_record_that_cannot_be_told_costs_no_other() -> None:
    def tell(record: Record) -> tuple[Emit, ...]:
        return (Skip("ignored", str(1 // record.value), record.place),)

    places = [Place(n, n, 1) for n in range(3)]
    records = [Record(value, place) for value, place in zip((1, 0, 1), places, strict=True)]
    wrong = Skip("unparseable", "not of a shape that the adapter x knows: ZeroDivisionError", places[1])
    assert list(singly(tell, records, "x")) == [
        Skip("ignored", "1", places[0]),
        wrong,
        Skip("ignored", "1", places[2]),
    ]
