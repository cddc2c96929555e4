"""Log records that hold GenAI messages, as what a span noted: they join the span with their ids."""

from typing import Any

from earwitness.ingest.record import Place, Skip
from earwitness.ingest.spans.otlp import span_id
from earwitness.ingest.spans.span import Span, SpanEvent
from earwitness.ingest.spans.texts import as_text
from earwitness.schema.times import to_nanos

_GENAI = ("gen_ai.", "gcp.vertex.agent.")
_DETAILS = "gen_ai.client.inference.operation.details"
_NO_CONTENT = "a log record without text"


def log_span(
    place: Place,
    *,
    trace: Any,
    span: Any,
    name: Any,
    time: Any,
    body: Any,
    attributes: dict[str, Any],
    resource: dict[str, Any],
    scope: Any = None,
) -> Span | Skip:
    """A log record as an event of the span in which it was written.

    A record outside any trace stands by itself, in a trace named after its conversation or its place.
    """
    if not body and not attributes:
        return Skip("ignored", _NO_CONTENT, place)
    named = name or attributes.get("event.name") or _implied(attributes)
    genai = str(named or "").startswith("gen_ai.")
    trace_id = span_id(trace, 16)
    if trace_id is None and not genai:
        return Skip("ignored", "a log record outside any trace, without messages", place)
    event = SpanEvent(str(named or "log"), to_nanos(time), _content(body, attributes, genai=genai))
    return Span(
        trace_id=trace_id or str(attributes.get("gen_ai.conversation.id") or f"log-{place.source}"),
        span_id=span_id(span, 8) or f"log-{place.source}-{place.offset}{place.pointer}",
        place=place,
        name=str(named or "log"),
        start=to_nanos(time),
        events=(event,),
        resource=resource,
        scope=scope if isinstance(scope, str) else None,
        log=True,
    )


def _implied(attributes: dict[str, Any]) -> str | None:
    """Messages among the attributes make it the record of a whole call."""
    return _DETAILS if "gen_ai.input.messages" in attributes or "gen_ai.output.messages" in attributes else None


def _content(body: Any, attributes: dict[str, Any], *, genai: bool) -> dict[str, Any]:
    if genai and body:
        return {**attributes, "event_body": body}
    return {**attributes, "body": as_text(body)} if body else attributes
