"""Canonical items as rows of the case's tables: one function a kind of item, whole columns at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, cast

import numpy as np
import pyarrow as pa

from earwitness.ingest.columns import Ints, Places, clean, content_ids, encode, json_texts, strings, uuids
from earwitness.ingest.digests import Digests
from earwitness.schema.case import Case
from earwitness.schema.model import Actor, Delivery, Event, Label, Line, Link, Loss, Rule, Sighting, Trace, Value
from earwitness.schema.times import column as time_column

# Content ids remembered to spare the store repeated texts; forgetting some costs space for a while, not truth.
_REMEMBERED = 2_000_000

Rows = Iterator[tuple[str, dict[str, Any]]]


@dataclass
class Numbers:
    """The numbers rows go by, continued from what the case already holds.

    Attributes:
        traces: numbers by id; an id that was joined to a run has the number of the run.
    """

    traces: dict[str, int]
    next_trace: int
    events: int
    values: int
    rules: int
    seen: Digests

    @classmethod
    def of(cls, case: Case) -> "Numbers":
        """Where a case left off."""
        following, events, values, rules = (
            int(case.one(f"SELECT coalesce(max({column}), -1) + 1 FROM {table}"))
            for column, table in (("trace", "traces"), ("event", "events"), ("value", "vault"), ("rule", "rules"))
        )
        traces = dict(case.rows("SELECT trace_id, trace FROM traces ORDER BY trace"))
        joined = case.rows("SELECT other, trace FROM links WHERE joined")
        traces |= {other: trace for other, trace in joined if other not in traces}
        return cls(traces, following, events, values, rules, Digests())

    def trace(self, names: list[str]) -> list[int]:
        """Numbers of traces, given on first sight."""
        for name in dict.fromkeys(names):
            if name not in self.traces:
                self.traces[name] = self.next_trace
                self.next_trace += 1
        return list(map(self.traces.__getitem__, names))

    def take(self, kind: str, n: int) -> Ints:
        """The next `n` numbers of `events`, `values` or `rules`."""
        first = getattr(self, kind)
        setattr(self, kind, first + n)
        return np.arange(first, first + n)

    def fresh(self, ids: list[bytes]) -> list[int]:
        """Positions of content ids not seen before."""
        found = self.seen.fresh(ids)
        if len(self.seen) > _REMEMBERED:
            self.seen.clear()
        return found


def rows_of(kind: type, items: Sequence[Line], places: Places, numbers: Numbers) -> Rows:
    """Tables and columns that items of one kind make."""
    return _KINDS[kind](items, places, numbers)


def _column(items: Sequence[Any], name: str) -> list[Any]:
    return list(map(attrgetter(name), items))


def _columns(items: Sequence[Any], *names: str) -> dict[str, list[Any]]:
    return {name: _column(items, name) for name in names}


def _lists(items: Sequence[Any], *names: str) -> dict[str, list[list[Any]]]:
    return {name: [list(v) for v in _column(items, name)] for name in names}


def _contents(items: Sequence[Any], numbers: Numbers) -> tuple[Rows, pa.Array, list[bool]]:
    """Rows of texts not seen before, the content id of each item, and whether its text was escaped."""
    raw, escaped = encode(_column(items, "content"))
    ids = content_ids(raw)
    fresh = numbers.fresh(ids)
    texts = {"content": uuids([ids[n] for n in fresh]), "text": strings([raw[n] for n in fresh])}
    return iter([("contents", texts)] if fresh else []), uuids(ids), escaped


def _events(items: Sequence[Event], places: Places, numbers: Numbers) -> Rows:
    texts, ids, escaped = _contents(items, numbers)
    yield from texts
    times = time_column(_column(items, "time"))
    at = numbers.take("events", len(items))
    yield (
        "events",
        {
            "event": at,
            "trace": numbers.trace(_column(items, "trace")),
            "event_id": _column(items, "id"),
            "time": times,
            "content": ids,
            "parent_id": _column(items, "parent"),
            "flags": _flags(items, escaped),
            "attributes": json_texts(_attributes(items, np.isnat(times))),
            **_columns(items, "seq", "channel", "kind", "sender", "turn", "archetype"),
            **places.columns(),
        },
    )
    yield from _deliveries(items, at)


def _flags(items: Sequence[Event], escaped: list[bool]) -> list[list[str] | None]:
    if True not in escaped:
        return [list(e.flags) if e.flags else None for e in items]
    return [[*e.flags, *["escaped"] * x] or None for e, x in zip(items, escaped, strict=True)]


def _attributes(items: Sequence[Event], lost: Any) -> list[dict[str, Any] | None]:
    """Attributes of events; a time that is none is kept there as it was written."""
    out = _column(items, "attributes")
    for n in np.flatnonzero(lost).tolist():
        if items[n].time is not None:
            out[n] = {"time": items[n].time, **(out[n] or {})}
    return out


def _deliveries(items: Sequence[Event], at: Ints) -> Rows:
    recipients = _column(items, "to")
    flat = [d for to in recipients for d in to]
    if flat:
        full = [d if isinstance(d, Delivery) else None for d in flat]
        yield (
            "deliveries",
            {
                "event": np.repeat(at, [len(to) for to in recipients]),
                "recipient": [d.actor if d else bare for d, bare in zip(full, flat, strict=True)],
                "grade": [d.grade if d else "declared" for d in full],
                "delivered": [d.delivered if d else True for d in full],
            },
        )


def _sightings(items: Sequence[Sighting], places: Places, numbers: Numbers) -> Rows:
    texts, ids, _ = _contents(items, numbers)
    yield from texts
    yield (
        "sightings",
        {
            "trace": numbers.trace(_column(items, "trace")),
            "time": time_column(_column(items, "time")),
            "content": ids,
            "event_id": _column(items, "event"),
            **_columns(items, "actor", "kind", "seq"),
            **places.columns(),
        },
    )


def _traces(items: Sequence[Trace], places: Places, numbers: Numbers) -> Rows:
    texts = ("framework", "scenario", "domain", "topology", "model", "arm", "adversary", "pair", "request", "horizon")
    yield (
        "traces",
        {
            "trace": numbers.trace(_column(items, "id")),
            "trace_id": _column(items, "id"),
            "source": places.source,
            **_columns(items, *texts),
            "started_at": time_column(_column(items, "started_at")),
            "observable": [None if t.observable is None else list(t.observable) for t in items],
            "attributes": json_texts(_column(items, "attributes")),
        },
    )


def _actors(items: Sequence[Actor], places: Places, numbers: Numbers) -> Rows:
    yield (
        "actors",
        {
            "trace": numbers.trace(_column(items, "trace")),
            "actor": _column(items, "name"),
            **_columns(items, "kind", "position", "evidence"),
            **_lists(items, "roles", "aliases"),
        },
    )


def _scoped(items: Sequence[Any], numbers: Numbers) -> list[int | None]:
    """Numbers of traces where an item names one."""
    numbers.trace([i.trace for i in items if i.trace is not None])
    return [None if i.trace is None else numbers.traces[i.trace] for i in items]


def _values(items: Sequence[Value], places: Places, numbers: Numbers) -> Rows:
    yield (
        "vault",
        {
            "value": numbers.take("values", len(items)),
            "type_origin": ["given" if v.value_type else None for v in items],
            "scope": ["trace" if v.trace is not None else "scenario" if v.scenario else "case" for v in items],
            "trace": _scoped(items, numbers),
            "text": _column(items, "value"),
            "origin": ["trace"] * len(items),
            **_columns(items, "attribute", "value_type", "subject", "scenario"),
            **_lists(items, "aliases"),
        },
    )


def _rules(items: Sequence[Rule], places: Places, numbers: Numbers) -> Rows:
    at = numbers.take("rules", len(items))
    lists = ("attributes", "value_types", "subjects", "channels", "recipients", "roles", "kinds", "positions")
    yield (
        "rules",
        {
            "rule": at,
            "rule_id": [r.id or f"rule-{n}" for n, r in zip(at, items, strict=True)],
            "trace": _scoped(items, numbers),
            "origin": ["trace"] * len(items),
            **_columns(items, "effect", "scenario"),
            **_lists(items, *lists),
        },
    )


def _losses(items: Sequence[Loss], places: Places, numbers: Numbers) -> Rows:
    trace = numbers.trace(_column(items, "trace"))
    yield "losses", {"trace": trace, **_columns(items, "channel", "kind", "n", "detail")}


def _links(items: Sequence[Link], places: Places, numbers: Numbers) -> Rows:
    trace = numbers.trace(_column(items, "trace"))
    place = {k: v for k, v in places.columns().items() if k != "pointer"}
    yield "links", {"trace": trace, **_columns(items, "other", "kind", "joined", "n"), **place}


def _labels(items: Sequence[Label], places: Places, numbers: Numbers) -> Rows:
    rows = [(x.trace, x.event, a) for x in items for a in (x.leaked or (None,))]
    trace = numbers.trace([r[0] for r in rows])
    yield "labels", {"trace": trace, "event_id": [r[1] for r in rows], "attribute": [clean(r[2]) for r in rows]}


_Kind = Callable[[Sequence[Any], Places, Numbers], Rows]
_KINDS: dict[type, _Kind] = cast(
    "dict[type, _Kind]",
    {
        Event: _events,
        Sighting: _sightings,
        Trace: _traces,
        Actor: _actors,
        Value: _values,
        Rule: _rules,
        Loss: _losses,
        Link: _links,
        Label: _labels,
    },
)
