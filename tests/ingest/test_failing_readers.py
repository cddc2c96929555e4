"""Readers that fail at their end: what they held back is lost, and the accounts say so."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Adapter, Context, Emit, Made, Record, Skip, Source
from earwitness.schema.case import Case
from earwitness.schema.model import Actor, Event, Trace

SECRET = "MRN-55-102"


class Brittle:
    """Tells a record at once (`now`), later (`later`) or never (`held`), and fails at the end."""

    NAME = "brittle"
    TITLE = "a format whose reader fails at the end"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and ("tell" in value or "parts" in value)

    def split(self, record: Record) -> list[Record]:
        parts = record.value.get("parts")
        return [Record(p, record.place.at(f"/parts/{n}")) for n, p in enumerate(parts)] if parts else [record]

    def open(self, context: Context) -> "BrittleReader":
        return BrittleReader()


class BrittleReader:
    def __init__(self) -> None:
        self.kept: list[Record] = []

    def feed(self, record: Record) -> Iterator[Emit]:
        value, place = record
        yield Made(Trace(id="t"), place)
        yield Made(Actor(trace="t", name="desk"), place)
        if value["tell"] == "now":
            yield self._event(record)
        elif value["tell"] == "ignore":
            yield Skip("ignored", "a mark of the runtime", place)
        else:
            self.kept.append(record)
        if value["tell"] == "flush":
            yield from map(self._event, self.kept)
            self.kept.clear()

    def _event(self, record: Record) -> Made:
        text = record.value["text"]
        return Made(Event(trace="t", channel="C6", content=text), record.place.at("/text"))

    def finish(self) -> Iterable[Emit]:
        for record in self.kept:
            if record.value["tell"] == "break":
                raise ValueError(f"cannot read {record.value['text']}")
            yield self._event(record)


class SharedBrittle(Brittle):
    READER = "brittle"


def said(tell: str, text: str = SECRET) -> dict[str, str]:
    return {"tell": tell, "text": text}


def load(
    tmp_path: Path, adapter: Adapter, *files: list[dict[str, Any]]
) -> tuple[list[Source], list[str], list[tuple[Any, ...]]]:
    paths = []
    for n, records in enumerate(files):
        paths.append(tmp_path / f"{n}.jsonl")
        paths[-1].write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    with Case() as case:
        sources = Loader(case, adapter=adapter).load(paths)
        texts = [text for (text,) in case.rows("SELECT text FROM events JOIN contents USING (content) ORDER BY ALL")]
        skipped = case.rows("SELECT source, line, pointer, outcome, reason FROM records ORDER BY ALL")
    for source in sources:
        assert sum(source.outcomes.values()) == source.records
    return sources, texts, skipped


def test_records_that_were_held_back_are_not_mapped_if_the_reader_fails(tmp_path: Path) -> None:
    records = [said("now", "a"), said("held", "b"), said("break"), said("held", "c"), said("ignore")]
    (source,), texts, skipped = load(tmp_path, Brittle(), records)
    assert texts == ["a", "b"]  # what was told before the failure stays
    assert source.outcomes == {"mapped": 2, "unparseable": 2, "ignored": 1}
    lost = [(line, outcome) for _, line, _, outcome, _ in skipped]
    assert lost == [(3, "unparseable"), (4, "unparseable"), (5, "ignored")]


def test_the_problem_names_the_adapter_and_the_place_and_quotes_nothing(tmp_path: Path) -> None:
    (source,), _, skipped = load(tmp_path, Brittle(), [said("now"), said("break"), said("held")])
    wanted = "the adapter brittle failed at the end: ValueError; what it held back is lost, 2 records from line 2 on"
    assert source.problem == wanted
    reasons = {reason for *_, reason in skipped}
    assert reasons == {"the adapter brittle failed at the end, before it was told: ValueError"}
    assert SECRET not in f"{source.problem}{reasons}"


def test_records_told_with_a_later_one_stay_mapped(tmp_path: Path) -> None:
    records = [said("held", "a"), said("flush", "b"), said("break", "c")]
    (source,), texts, _ = load(tmp_path, Brittle(), records)
    assert texts == ["a", "b"]
    assert source.outcomes == {"mapped": 2, "unparseable": 1}


def test_parts_of_an_envelope_are_accounted_for_one_by_one(tmp_path: Path) -> None:
    parts = [said("now", "a"), said("held", "b"), said("break"), said("held", "c")]
    (source,), texts, skipped = load(tmp_path, Brittle(), [{"parts": parts}])
    assert texts == ["a", "b"]
    assert source.outcomes == {"mapped": 2, "unparseable": 2}
    assert [pointer for _, _, pointer, _, _ in skipped] == ["/parts/2", "/parts/3"]


def test_a_reader_of_several_sources_fails_for_each_of_them(tmp_path: Path) -> None:
    files = [[said("now", "a"), said("held", "b")], [said("break"), said("held")], [said("now", "c")]]
    sources, texts, skipped = load(tmp_path, SharedBrittle(), *files)
    assert texts == ["a", "b", "c"]
    assert [s.outcomes for s in sources] == [{"mapped": 2}, {"unparseable": 2, "mapped": 0}, {"mapped": 1}]
    assert [(source, line) for source, line, *_ in skipped] == [(1, 1), (1, 2)]
    assert all(s.problem and "the adapter brittle failed at the end: ValueError" in s.problem for s in sources)


@pytest.mark.parametrize("adapter", [Brittle(), SharedBrittle()], ids=["of a source", "of the import"])
def test_a_reader_that_does_not_fail_has_no_problem(tmp_path: Path, adapter: Adapter) -> None:
    (source,), texts, _ = load(tmp_path, adapter, [said("held", "a"), said("now", "b")])
    assert (source.problem, source.outcomes, texts) == (None, {"mapped": 2}, ["a", "b"])
