"""Exported spans of the OpenAI Agents SDK as spans, and what has to be said of their traces beside."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import msgspec

from earwitness.ingest.openai_calls import CallFates
from earwitness.ingest.record import Emit, Made, Place, Record
from earwitness.ingest.refusals import unmade
from earwitness.ingest.runguards import withheld
from earwitness.ingest.spans.dialects.openai_agents import SCOPE
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import as_text, fingerprint
from earwitness.ingest.spans.trace import tell
from earwitness.ingest.steps import marks
from earwitness.schema.model import Actor, Delivery, Event, Loss, Sighting, Trace
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
    fates = CallFates(spans)
    spans = [s for s in spans if s.span_id not in fates.repeated]
    made = list(_fated(tell(spans), fates))
    blocked, told = _blocked(spans, fates), _told_handoffs(made)
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
    yield from _ended_by_tools(spans, fates)


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


def _blocked(spans: list[Span], fates: CallFates) -> set[str]:
    """Model calls of runs whose answer a guardrail held back: those in the run of the agent that it judged."""
    triggered = [s for s in spans if s.attributes.get("type") == "guardrail" and s.attributes.get("triggered") is True]
    runs = {fates.agent_run(s.span_id) for s in triggered} - {None}
    models = [s.span_id for s in spans if s.attributes.get("type") in ("generation", "response")] if runs else []
    return {span for span in models if fates.agent_run(span) in runs}


def _span_of(event: Event) -> str:
    return (event.id or "").rpartition(":")[0]


def _fated(made: Iterable[Emit], fates: CallFates) -> Iterator[Emit]:
    """What became of calls, told of them: a handoff under a name of its own was a call of no tool."""
    moved = {name for names in fates.moved.values() for name in names}
    for emit in made:
        item = emit.item if isinstance(emit, Made) else None
        if isinstance(item, Event):
            yield Made(_acknowledged(item, fates, moved) or _called(item, fates), emit.place)
        elif not (isinstance(item, Actor) and item.kind == "tool" and item.name in moved):
            yield emit


def _acknowledged(event: Event, fates: CallFates, moved: set[str]) -> Sighting | None:
    """What a handoff gives back is no result: that control has passed is read by whoever has it."""
    if event.channel != "C4" or event.sender not in moved or fingerprint(event.content) not in fates.settled:
        return None
    return Sighting(
        trace=event.trace,
        content=event.content,
        actor=_first(event) or None,
        kind="history",
        seq=event.seq,
        time=event.time,
    )


def _called(event: Event, fates: CallFates) -> Event:
    """A call that was not made reached nobody, and what was answered in its place was said by no tool."""
    span, to = _span_of(event), _first(event)
    if event.channel == "C4":
        return msgspec.structs.replace(event, sender=None) if fingerprint(event.content) in fates.unsaid else event
    if event.kind not in ("tool_arguments", "handoff_arguments", "request") or "not_delivered" in event.flags:
        return event
    if span in fates.unmade or fates.is_lost(span, event.content, to):
        return unmade(event)
    if event.channel == "C3" and (target := fates.target(span, event.content, to)):
        return msgspec.structs.replace(event, channel="C2", kind="handoff_arguments", to=(Delivery(target),))
    return event


def _ended_by_tools(spans: list[Span], fates: CallFates) -> Iterator[Emit]:
    """Runs whose last step was a tool: what it gave was the answer, or what the application made of it."""
    for run in fates.ended_by_tools(spans):
        detail = "the answer of a run that ended with the result of a tool"
        yield Made(Loss(trace=run.trace_id, kind="content_missing", channel="C1", detail=detail), run.place)


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
    if event.channel == "C1" and _span_of(event) in blocked:
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
