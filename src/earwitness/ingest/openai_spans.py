"""Exported spans of the OpenAI Agents SDK as spans, and what has to be said of their traces beside."""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import msgspec

from earwitness.ingest.record import Emit, Made, Place, Record
from earwitness.ingest.runguards import withheld
from earwitness.ingest.spans.dialects.openai_agents import SCOPE
from earwitness.ingest.spans.identity import clean_name
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import as_text
from earwitness.ingest.spans.trace import tell
from earwitness.ingest.steps import marks
from earwitness.schema.model import Delivery, Event, Loss, Sighting, Trace
from earwitness.schema.times import to_nanos
from earwitness.schema.words import Channel, SightingKind

_SPOKEN: tuple[Channel, ...] = ("C1", "C2", "C6")
_WORKED: tuple[Channel, ...] = ("C3", "C4")


def span_of(record: Record) -> Span | None:
    """The span in an exported object; None where it is none."""
    value, place = record
    data, trace, span = value.get("span_data"), value.get("trace_id"), value.get("id")
    if not isinstance(data, dict) or not isinstance(trace, str) or not isinstance(span, str):
        return None
    error = value.get("error")
    return Span(
        trace_id=trace,
        span_id=span,
        parent_id=value.get("parent_id") if isinstance(value.get("parent_id"), str) else None,
        place=place,
        name=str(data.get("name") or data.get("type")),
        start=to_nanos(value.get("started_at")),
        end=to_nanos(value.get("ended_at")),
        attributes=data,
        failed=bool(error),
        status=_error(error),
        scope=SCOPE,
    )


def _error(error: Any) -> str | None:
    if not error:
        return None
    if not isinstance(error, dict):
        return as_text(error)
    data = error.get("data")
    return "\n".join([str(error.get("message") or ""), *([as_text(data)] if data else [])]).strip()


def tell_trace(spans: list[Span], head: dict[str, Any] | None) -> Iterator[Emit]:
    """The items of a trace."""
    made = list(tell(spans))
    blocked, told = _blocked(spans), _told_handoffs(made)
    gone: set[str | None] = set()
    given: _Given = set()
    numbers = count()
    for emit in made:
        if not isinstance(emit, Made):
            yield emit
            continue
        item: Any = emit.item
        if isinstance(item, Trace):
            item = _headed(item, spans, head)
        elif isinstance(item, Event):
            item = _event(item, blocked, told, gone)
        elif isinstance(item, Sighting):
            item = _sighting(item, gone, given)
        if item is not None:
            yield Made(_numbered(item, numbers), emit.place)
            yield from _losses(item, emit.place)


def _numbered(item: Any, numbers: Iterator[int]) -> Any:
    """Numbers without the gaps that dropped items leave."""
    return msgspec.structs.replace(item, seq=next(numbers)) if isinstance(item, Event | Sighting) else item


def _headed(trace: Trace, spans: list[Span], head: dict[str, Any] | None) -> Trace:
    head = head or {}
    known = {k: head[k] for k in ("workflow_name", "group_id", "metadata") if head.get(k)}
    return msgspec.structs.replace(
        trace, observable=observable(spans), attributes={**(trace.attributes or {}), **known} or None
    )


def observable(spans: list[Span]) -> tuple[Channel, ...]:
    """What the spans of a trace can show: nothing of models or tools whose contents were not exported."""
    hidden = {s.attributes.get("type") for s in spans if _silent(s.attributes)}
    spoken = () if hidden & {"response", "generation"} else _SPOKEN
    return tuple(sorted((*spoken, *(() if "function" in hidden else _WORKED))))


def _silent(data: dict[str, Any]) -> bool:
    keys = ("input", "response") if data.get("type") == "response" else ("input", "output")
    return data.get("type") in ("response", "generation", "function") and all(data.get(k) is None for k in keys)


def _blocked(spans: list[Span]) -> set[str]:
    """Agents whose words a guardrail held back."""
    by_id = {s.span_id: s for s in spans}
    names: set[str] = set()
    for span in spans:
        if span.attributes.get("type") == "guardrail" and span.attributes.get("triggered") is True:
            names |= {name for name in [_agent_above(span, by_id)] if name}
    return names


def _agent_above(span: Span, by_id: dict[str, Span]) -> str | None:
    at, left = by_id.get(span.parent_id or ""), len(by_id)
    while at is not None and left:
        if at.attributes.get("type") == "agent":
            return clean_name(at.attributes.get("name"))
        at, left = by_id.get(at.parent_id or ""), left - 1
    return None


_Handed = Counter[tuple[str | None, str]]


def _told_handoffs(made: list[Emit]) -> _Handed:
    """Handoffs whose words were told as the arguments of the call that asked for them."""
    events = [m.item for m in made if isinstance(m, Made) and isinstance(m.item, Event)]
    return Counter((e.sender, _first(e)) for e in events if e.kind == "handoff_arguments")


def _first(event: Event) -> str:
    return next((t.actor if isinstance(t, Delivery) else t for t in event.to), "")


def _event(event: Event, blocked: set[str], told: _Handed, gone: set[str | None]) -> Event | None:
    if event.kind == "attributes":  # settings and ids: whatever is content was told
        return None
    if event.kind == "handoff":
        # Handed over is the history, which the next agent is seen reading; the act itself says nothing.
        gone.add(event.id)
        key = (event.sender, _first(event))
        told[key] -= 1
        return msgspec.structs.replace(event, content="", flags=()) if told[key] < 0 else None
    if event.channel == "C1" and event.sender in blocked:
        return withheld(event)
    found = [f for f in marks(event.content) if f not in event.flags]
    return msgspec.structs.replace(event, flags=(*event.flags, *found)) if found else event


_Given = set[tuple[str | None, str]]


def _sighting(sighting: Sighting, gone: set[str | None], given: _Given) -> Sighting:
    """What was linked to a handoff is what was said before: to whom it is new, it was given if the user said it."""
    text, stray = sighting.content, sighting.event is not None and sighting.event in gone
    new = stray and (None, text) in given and (sighting.actor, text) not in given
    kind: SightingKind = "initial" if new else sighting.kind
    if kind == "initial":
        given.update(((None, text), (sighting.actor, text)))
    return msgspec.structs.replace(sighting, event=None, kind=kind) if stray else sighting


def _losses(item: Any, place: Place) -> Iterator[Emit]:
    if isinstance(item, Event) and marks(item.content) == ("truncated",):
        detail = "cut by the exporter"
        yield Made(Loss(trace=item.trace, kind="truncated", channel=item.channel, detail=detail), place)
