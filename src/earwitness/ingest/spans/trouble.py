"""What went wrong, what was noted on the way, and what the record does not hold."""

import re
from collections.abc import Iterator

from earwitness.ingest.spans.dialects.genai_events import is_message
from earwitness.ingest.spans.span import SpanEvent
from earwitness.ingest.spans.telling import Telling
from earwitness.ingest.spans.texts import as_text
from earwitness.ingest.spans.tree import Node
from earwitness.schema.words import Channel

_PLAIN_NAME = re.compile(r"[A-Za-z_]*(?:[. ][a-z_]+)*")  # a name that a program gives to all such events
# What others say of a call; its span is only where they hang it.
_VERDICT = "gen_ai.evaluation.result"
_CHANNELS: dict[str, Channel] = {"tool": "C4", "retriever": "C4", "memory": "C5", "handoff": "C2"}


def report(t: Telling, node: Node) -> None:
    """Tell the errors, notes and losses of a span."""
    if node.span.events or node.span.status:  # as of few
        _say_what(t, node)
    if node.facts is None:
        return
    for event in node.span.events:
        if event.name != "exception" and not is_message(event):
            _note(t, node, event)
    _count(t, node)


def _say_what(t: Telling, node: Node) -> None:
    errors = [_error(e) for e in node.span.events if e.name == "exception"]
    for text in filter(None, errors):
        _log(t, node, text, "exception")
    status = node.span.status
    if status and status.strip() and not any(status in text for text in errors):
        _log(t, node, status, "status")


def _error(event: SpanEvent) -> str:
    kind, message, stack = (event.attributes.get(f"exception.{k}") for k in ("type", "message", "stacktrace"))
    head = ": ".join(as_text(x) for x in (kind, message) if x)
    stack = as_text(stack) if stack else ""
    return stack if head and head in stack else "\n".join(filter(None, (head, stack)))


def _log(t: Telling, node: Node, text: str, kind: str, time: int | None = None, *, own: bool = True) -> None:
    """An error that climbs the tree is one error. What is not the span's own has no sender."""
    told = t.ledger.find(text, under=node)
    when = time or node.span.end
    if told:
        t.ledger.sighting(node, text, "history", told.event, time=when)
    else:
        sender = node.agent if own else None
        t.ledger.event(node, "C6", text, name=kind, kind=kind, sender=sender, time=when)


def _note(t: Telling, node: Node, event: SpanEvent) -> None:
    texts = dict(_texts(event))
    if texts or not _PLAIN_NAME.fullmatch(event.name):
        text = f"{event.name}: {as_text(texts)}" if texts else event.name
        _log(t, node, text, "span_event", event.time, own=event.name != _VERDICT)


def _texts(event: SpanEvent) -> Iterator[tuple[str, object]]:
    for key, value in event.attributes.items():
        if isinstance(value, str | list | dict) and value:
            yield key, value


def _count(t: Telling, node: Node) -> None:
    facts, place = node.facts, node.span.place
    assert facts is not None
    if node.span.failed:
        t.ledger.lose("failed_call", _CHANNELS.get(node.role), f"{node.role} span with an error status", place)
    if node.span.dropped:
        t.ledger.lose("dropped", None, "attributes, events or links the recorder dropped", place, node.span.dropped)
    if facts.references:
        t.ledger.lose("reference", None, "messages kept elsewhere", place, facts.references)
    if facts.role == "llm" and not (facts.references or _answered_beside(t, node)):
        if facts.silent:
            t.ledger.withhold("content_missing", None, "model call without content", node)
        elif not (node.span.failed or facts.answered):
            t.ledger.withhold("content_missing", None, "model call without an answer", node)


def _answered_beside(t: Telling, node: Node) -> bool:
    """Whether another record of the same call, around a span or inside of it, holds the answer."""
    nested = (node.parent, *t.tree.under(node)) if node.parent else t.tree.under(node)
    return any(n.role == "llm" and n.facts is not None and n.facts.answered for n in nested)
