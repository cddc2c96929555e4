"""From canonical items to the tables of a case, in Arrow batches; one thread decodes while another writes."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import blake2b
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np
import pyarrow as pa

from earwitness.ingest.record import Made, Place, Skip, Source
from earwitness.schema.case import Case
from earwitness.schema.model import Actor, Delivery, Event, Label, Line, Loss, Rule, Sighting, Trace, Value
from earwitness.schema.tables import arrow_schema
from earwitness.schema.times import column as time_column

BATCH_ITEMS = 20_000
BATCH_BYTES = 16 << 20
# Content ids remembered to spare the store repeated texts; forgetting some costs space for a while, not truth.
_REMEMBERED = 2_000_000
_WAITING = 2


class Writer:
    """Takes items in any order and appends them to the case.

    Args:
        case: with an open transaction; nobody else may use it until `flush`.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.traces: dict[str, int] = {r[0]: r[1] for r in case.rows("SELECT trace_id, trace FROM traces")}
        self.events = int(case.one("SELECT coalesce(max(event), -1) + 1 FROM events"))
        self.values = int(case.one("SELECT coalesce(max(value), -1) + 1 FROM vault"))
        self.rules = int(case.one("SELECT coalesce(max(rule), -1) + 1 FROM rules"))
        self._seen: set[bytes] = set()
        self._items: list[Line] = []
        self._places: list[Place] = []
        self._sources: list[int] = []
        self._skips: list[tuple[int, Skip]] = []
        self._bytes = 0
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="earwitness-writer")
        self._pending: list[Future[Any]] = []

    def add(self, made: Made, source: Source) -> None:
        """Take one item."""
        item, place = made
        self._items.append(item)
        self._places.append(place)
        self._sources.append(source.number)
        content = getattr(item, "content", None)
        self._bytes += len(content) if content else 0
        if len(self._items) >= BATCH_ITEMS or self._bytes >= BATCH_BYTES:
            self.write()

    def write(self) -> None:
        """Hand the buffer on."""
        items, places, sources = self._items, self._places, self._sources
        self._items, self._places, self._sources, self._bytes = [], [], [], 0
        if items:
            self.add_many(items, Places(sources, places))
        if self._skips:
            skips, self._skips = self._skips, []
            self._write_skips(skips)

    def add_many(self, items: Sequence[Line], places: "Places") -> None:
        """Take many items with their places at once."""
        kinds = list(dict.fromkeys(map(type, items)))
        if len(kinds) == 1:
            _WRITERS[kinds[0]](self, items, places)
            return
        for kind in kinds:
            at = [n for n, item in enumerate(items) if type(item) is kind]
            _WRITERS[kind](self, [items[n] for n in at], places.take(at))

    def skip(self, skip: Skip, source: Source) -> None:
        """Take a record that was not mapped."""
        self._skips.append((source.number, skip))
        if len(self._skips) >= BATCH_ITEMS:
            self.write()

    def _write_skips(self, skips: list[tuple[int, Skip]]) -> None:
        self.insert(
            "records",
            {
                "source": [n for n, _ in skips],
                "line": [s.place.line for _, s in skips],
                "offset": [s.place.offset for _, s in skips],
                "length": [s.place.length for _, s in skips],
                "pointer": [s.place.pointer or None for _, s in skips],
                "outcome": [s.outcome for _, s in skips],
                "reason": [s.reason for _, s in skips],
            },
        )

    def trace(self, trace_id: str) -> int:
        """The number of a trace, given on first sight."""
        number = self.traces.get(trace_id)
        if number is None:
            number = self.traces[trace_id] = len(self.traces)
        return number

    def contents(self, texts: list[str]) -> tuple[pa.Array, list[bool]]:
        """Content ids of texts, storing those not seen before; and which texts had to be escaped to be stored."""
        raw, escaped = _encode(texts)
        ids = [blake2b(r, digest_size=16).digest() for r in raw]
        seen = self._seen
        fresh = [n for n, i in enumerate(ids) if i not in seen and not seen.add(i)]  # type: ignore[func-returns-value]
        if len(seen) > _REMEMBERED:
            seen.clear()
        if fresh:
            self.insert(
                "contents", {"content": _uuids([ids[n] for n in fresh]), "text": _strings([raw[n] for n in fresh])}
            )
        return _uuids(ids), escaped

    def insert(self, table: str, columns: dict[str, Any]) -> None:
        """Append columns to a table, in the background. Columns may be lists or Arrow arrays."""
        schema = arrow_schema(table)
        arrays = [_array(columns[f.name], f.type) for f in schema if f.name in columns]
        batch = pa.table(arrays, names=[f.name for f in schema if f.name in columns])
        self._pending.append(self._pool.submit(self.case.insert, table, batch))
        while len(self._pending) > _WAITING:
            self._pending.pop(0).result()

    def flush(self) -> None:
        """Write what is buffered and wait until everything is in the case.

        Raises:
            Whatever writing raised.
        """
        self.write()
        while self._pending:
            self._pending.pop(0).result()

    def close(self) -> None:
        """Stop the writing thread, whatever happened."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values, kind)


def _encode(texts: list[str]) -> tuple[list[bytes], list[bool]]:
    """UTF-8 of texts. Lone surrogates, which no UTF-8 can hold, become visible `\\udXXX` escapes."""
    try:
        return [t.encode() for t in texts], [False] * len(texts)
    except UnicodeEncodeError:
        raw = [t.encode("utf-8", "backslashreplace") for t in texts]
        return raw, [any(0xD800 <= ord(c) < 0xE000 for c in t) for t in texts]


def _uuids(ids: list[bytes]) -> pa.Array:
    storage = pa.Array.from_buffers(pa.binary(16), len(ids), [None, pa.py_buffer(b"".join(ids))])
    return pa.ExtensionArray.from_storage(pa.uuid(), storage)


def _strings(raw: list[bytes]) -> pa.Array:
    offsets = np.zeros(len(raw) + 1, np.int64)
    np.cumsum([len(r) for r in raw], out=offsets[1:])
    return pa.Array.from_buffers(
        pa.large_string(), len(raw), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(raw))]
    )


def _clean(text: str | None) -> str | None:
    """Text that Arrow can hold."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def _json(values: Sequence[Any]) -> list[str | None]:
    return [msgspec.json.encode(v, enc_hook=str).decode() if v else None for v in map(_speakable, values)]


def _speakable(value: Any) -> Any:
    """Attributes without lone surrogates, which no JSON text in UTF-8 can hold."""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, dict):
        return {_clean(str(k)): _speakable(v) for k, v in value.items()}
    return [_speakable(v) for v in value] if isinstance(value, list | tuple) else value


class Places(NamedTuple):
    """Where items came from, column by column: source numbers and places."""

    sources: Sequence[int]
    places: Sequence[Place]

    def take(self, at: list[int]) -> "Places":
        """Those at the given positions."""
        return Places([self.sources[n] for n in at], [self.places[n] for n in at])

    def columns(self) -> dict[str, Any]:
        """As columns of `events` and `sightings`."""
        return {
            "source": self.sources,
            "line": [p[0] for p in self.places],
            "offset": [p[1] for p in self.places],
            "pointer": [p[3] or None for p in self.places],
        }


def _write_events(writer: Writer, items: list[Event], places: Places) -> None:
    first = writer.events
    writer.events += len(items)
    ids, escaped = writer.contents([e.content for e in items])
    flags = [list(e.flags) + ["escaped"] * x if x or e.flags else None for e, x in zip(items, escaped, strict=True)]
    writer.insert(
        "events",
        {
            "event": np.arange(first, first + len(items)),
            "trace": [writer.trace(e.trace) for e in items],
            "event_id": [_clean(e.id) for e in items],
            "seq": [e.seq for e in items],
            "time": time_column([e.time for e in items]),
            "channel": [e.channel for e in items],
            "kind": [e.kind for e in items],
            "sender": [_clean(e.sender) for e in items],
            "content": ids,
            "parent_id": [_clean(e.parent) for e in items],
            "turn": [e.turn for e in items],
            "archetype": [e.archetype for e in items],
            "flags": flags,
            "attributes": _json([e.attributes for e in items]),
            **places.columns(),
        },
    )
    _write_deliveries(writer, items, first)


def _write_deliveries(writer: Writer, items: list[Event], first: int) -> None:
    pairs = [
        (n, d) if isinstance(d, Delivery) else (n, Delivery(d)) for n, e in enumerate(items, start=first) for d in e.to
    ]
    if pairs:
        writer.insert(
            "deliveries",
            {
                "event": [n for n, _ in pairs],
                "recipient": [_clean(d.actor) for _, d in pairs],
                "grade": [d.grade for _, d in pairs],
                "delivered": [d.delivered for _, d in pairs],
            },
        )


def _write_sightings(writer: Writer, items: list[Sighting], places: Places) -> None:
    ids, _ = writer.contents([s.content for s in items])
    writer.insert(
        "sightings",
        {
            "trace": [writer.trace(s.trace) for s in items],
            "actor": [_clean(s.actor) for s in items],
            "kind": [s.kind for s in items],
            "seq": [s.seq for s in items],
            "time": time_column([s.time for s in items]),
            "content": ids,
            "event_id": [_clean(s.event) for s in items],
            **places.columns(),
        },
    )


_TRACE_TEXT = ("framework", "scenario", "domain", "topology", "model", "arm", "adversary", "pair", "request")


def _write_traces(writer: Writer, items: list[Trace], places: Places) -> None:
    writer.insert(
        "traces",
        {
            "trace": [writer.trace(t.id) for t in items],
            "trace_id": [_clean(t.id) for t in items],
            "source": places.sources,
            **{name: [_clean(getattr(t, name)) for t in items] for name in _TRACE_TEXT},
            "horizon": [t.horizon for t in items],
            "started_at": time_column([t.started_at for t in items]),
            "observable": [None if t.observable is None else list(t.observable) for t in items],
            "attributes": _json([t.attributes for t in items]),
        },
    )


def _write_actors(writer: Writer, items: list[Actor], places: Places) -> None:
    writer.insert(
        "actors",
        {
            "trace": [writer.trace(a.trace) for a in items],
            "actor": [_clean(a.name) for a in items],
            "kind": [a.kind for a in items],
            "position": [a.position for a in items],
            "roles": [list(a.roles) for a in items],
            "aliases": [[_clean(x) for x in a.aliases] for a in items],
            "evidence": [a.evidence for a in items],
        },
    )


def _write_values(writer: Writer, items: list[Value], places: Places) -> None:
    first = writer.values
    writer.values += len(items)
    writer.insert(
        "vault",
        {
            "value": list(range(first, writer.values)),
            "attribute": [_clean(v.attribute) for v in items],
            "value_type": [v.value_type for v in items],
            "type_origin": ["given" if v.value_type else None for v in items],
            "subject": [_clean(v.subject) for v in items],
            "scope": ["trace" if v.trace is not None else "scenario" if v.scenario else "case" for v in items],
            "trace": [None if v.trace is None else writer.trace(v.trace) for v in items],
            "scenario": [_clean(v.scenario) for v in items],
            "text": [_clean(v.value) for v in items],
            "aliases": [[_clean(x) for x in v.aliases] for v in items],
            "origin": ["trace"] * len(items),
        },
    )


def _write_rules(writer: Writer, items: list[Rule], places: Places) -> None:
    first = writer.rules
    writer.rules += len(items)
    lists = ("attributes", "value_types", "subjects", "channels", "recipients", "roles", "kinds", "positions")
    writer.insert(
        "rules",
        {
            "rule": list(range(first, writer.rules)),
            "rule_id": [_clean(r.id) or f"rule-{n}" for n, r in enumerate(items, start=first)],
            "effect": [r.effect for r in items],
            "trace": [None if r.trace is None else writer.trace(r.trace) for r in items],
            "scenario": [_clean(r.scenario) for r in items],
            **{name: [[_clean(x) for x in getattr(r, name)] for r in items] for name in lists},
            "origin": ["trace"] * len(items),
        },
    )


def _write_losses(writer: Writer, items: list[Loss], places: Places) -> None:
    writer.insert(
        "losses",
        {
            "trace": [writer.trace(x.trace) for x in items],
            "channel": [x.channel for x in items],
            "kind": [x.kind for x in items],
            "n": [x.n for x in items],
            "detail": [_clean(x.detail) for x in items],
        },
    )


def _write_labels(writer: Writer, items: list[Label], places: Places) -> None:
    rows = [(writer.trace(x.trace), x.event, a) for x in items for a in (x.leaked or (None,))]
    writer.insert(
        "labels",
        {
            "trace": [r[0] for r in rows],
            "event_id": [_clean(r[1]) for r in rows],
            "attribute": [_clean(r[2]) for r in rows],
        },
    )


_Write = Callable[[Writer, Sequence[Any], Places], None]
_WRITERS: dict[type, _Write] = cast(
    "dict[type, _Write]",
    {
        Event: _write_events,
        Sighting: _write_sightings,
        Trace: _write_traces,
        Actor: _write_actors,
        Value: _write_values,
        Rule: _write_rules,
        Loss: _write_losses,
        Label: _write_labels,
    },
)
