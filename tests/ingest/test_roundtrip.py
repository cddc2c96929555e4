"""Import, export, import, export: the same bytes, and every event with its content."""

import io
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from earwitness.ingest.loader import Loader
from earwitness.reports.canonical import export
from earwitness.schema.case import Case
from earwitness.schema.model import Actor, Delivery, Event, Item, Label, Link, Loss, Rule, Sighting, Trace, Value
from earwitness.schema.words import (
    CHANNELS,
    GRADES,
    LINK_KINDS,
    LOSS_KINDS,
    VALUE_TYPES,
    ActorKind,
    Effect,
    Flag,
    Position,
    SightingKind,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(["", "\x00", ":", '":', "null"])
NAME = st.sampled_from(["anna", "ben", "Zoë", "工具", "a b", '"'])
ID = st.sampled_from(["t1", "t2", "T 3", "τ"])
NOT_EMPTY = TEXT.filter(bool)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
TIME = st.integers(0, 2**63 - 1) | st.sampled_from(
    ["2026-11-29T10:00:00Z", "2026-11-29T10:00:00.123456789+02:00", "soon", 1.5]
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def many(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=2, unique=True).map(tuple)


def one_of(words: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(get_args(words))


ATTRIBUTES = st.dictionaries(NOT_EMPTY, JSON, min_size=1, max_size=2)
RECIPIENT = NAME | st.builds(Delivery, NAME, st.sampled_from(GRADES), st.booleans())
EVENT = st.builds(
    Event,
    trace=ID,
    channel=st.sampled_from(CHANNELS),
    content=TEXT,
    id=st.uuids().map(str),
    seq=maybe(st.integers(-(2**63), 2**63 - 1)),
    time=maybe(TIME),
    kind=maybe(NOT_EMPTY),
    sender=maybe(NAME),
    to=st.lists(RECIPIENT, max_size=3).map(tuple),
    parent=maybe(NOT_EMPTY),
    turn=maybe(st.integers(-(2**31), 2**31 - 1)),
    flags=many(one_of(Flag)),
    attributes=maybe(ATTRIBUTES),
)
ITEM: st.SearchStrategy[Item] = st.one_of(
    EVENT,
    EVENT,
    st.builds(
        Trace,
        id=ID,
        framework=maybe(NOT_EMPTY),
        scenario=maybe(NOT_EMPTY),
        horizon=maybe(st.integers(0, 2**31 - 1)),
        started_at=maybe(TIME),
        observable=maybe(many(st.sampled_from(CHANNELS))),
        attributes=maybe(ATTRIBUTES),
    ),
    st.builds(
        Actor,
        trace=ID,
        name=NAME,
        kind=one_of(ActorKind),
        position=one_of(Position),
        roles=many(NOT_EMPTY),
        aliases=many(NOT_EMPTY),
        evidence=maybe(NOT_EMPTY),
    ),
    st.builds(
        Sighting, trace=ID, content=TEXT, actor=maybe(NAME), kind=one_of(SightingKind), seq=maybe(st.integers(0, 99))
    ),
    st.builds(
        Value,
        attribute=NOT_EMPTY,
        value=TEXT,
        value_type=maybe(st.sampled_from(VALUE_TYPES)),
        subject=maybe(NOT_EMPTY),
        trace=maybe(ID),
        aliases=many(NOT_EMPTY),
    ),
    st.builds(
        Rule,
        effect=one_of(Effect),
        trace=maybe(ID),
        attributes=many(NOT_EMPTY),
        channels=many(st.sampled_from(CHANNELS)),
        recipients=many(NAME),
    ),
    st.builds(Loss, trace=ID, kind=st.sampled_from(LOSS_KINDS), n=st.integers(0, 2**63 - 1), detail=maybe(NOT_EMPTY)),
    # What was joined has no events of its own here: they would become those of the run.
    st.builds(Link, trace=ID, other=st.just("joined"), kind=st.sampled_from(LINK_KINDS), joined=st.just(value=True)),
    st.builds(Link, trace=ID, other=ID, kind=st.sampled_from(LINK_KINDS), n=st.integers(0, 2**63 - 1)),
    st.builds(Label, trace=ID, event=NOT_EMPTY, leaked=many(NOT_EMPTY)),
)


def load(path: Path, data: bytes) -> Case:
    path.write_bytes(data)
    case = Case()
    (source,) = Loader(case).load([path])
    assert source.outcomes.get("mapped", 0) == source.records == data.count(b"\n")
    return case


def exported(case: Case) -> bytes:
    out = io.BytesIO()
    export(case, out)
    return out.getvalue()


def lines(items: list[Item]) -> bytes:
    return b"".join(msgspec.json.encode(i) + b"\n" for i in items)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=40
)
@given(items=st.lists(ITEM, min_size=1, max_size=12))
def test_export_is_stable(tmp_path: Path, items: list[Item]) -> None:
    with load(tmp_path / "first", lines(items)) as case:
        first = exported(case)
        assert _contents(case) == _given(items)
    with load(tmp_path / "second", first) as case:
        assert exported(case) == first
        assert _contents(case) == _given(items)


def _contents(case: Case) -> Counter[tuple[Any, ...]]:
    query = (
        "SELECT trace_id, channel, text, event_id FROM events JOIN traces USING (trace) JOIN contents USING (content)"
    )
    return Counter(case.rows(query))


def _given(items: list[Item]) -> Counter[tuple[Any, ...]]:
    return Counter((i.trace, i.channel, i.content, i.id) for i in items if isinstance(i, Event))


@pytest.mark.parametrize("content", ['"\\ud800 lone"', '"\\u0000"', '{"k": "\\udfff"}', str(10**30)])
def test_odd_texts_come_back(tmp_path: Path, content: str) -> None:
    line = f'{{"type":"event","trace":"t","channel":"C1","content":{content}}}\n'.encode()
    with load(tmp_path / "first", line) as case:
        first = exported(case)
    with load(tmp_path / "second", first) as case:
        assert exported(case) == first
