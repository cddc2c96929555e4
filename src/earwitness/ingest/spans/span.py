"""A recorded span, whatever container it came from."""

from typing import Any

import msgspec

from earwitness.ingest.record import Place

# Spans of one kind have the same attributes: what follows from their names is remembered of so many kinds.
KINDS = 256


class SpanEvent(msgspec.Struct, frozen=True, array_like=True):
    """Something a span noted while it ran: an exception, a message, a log line."""

    name: str
    time: int | None = None
    attributes: dict[str, Any] = {}


class Span(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One timed step of a trace.

    Attributes:
        trace_id: 32 hex digits, lower case.
        span_id: 16 hex digits, lower case.
        parent_id: the declared parent, whether or not it was exported.
        start: nanoseconds since 1970 UTC.
        end: nanoseconds since 1970 UTC.
        attributes: decoded values, keys as recorded.
        failed: the status says error.
        status: the status message.
        resource: attributes of the process.
        scope: name of the instrumentation.
        dropped: attributes, events and links the recorder says it threw away.
        place: where the span stands in its source.
        links: trace id and span id of the spans it says it has to do with, whatever their trace.
        log: no span but log records written during one: they join the span with their id.
    """

    trace_id: str
    span_id: str
    place: Place
    parent_id: str | None = None
    name: str = ""
    start: int | None = None
    end: int | None = None
    attributes: dict[str, Any] = {}
    events: tuple[SpanEvent, ...] = ()
    failed: bool = False
    status: str | None = None
    resource: dict[str, Any] = {}
    scope: str | None = None
    dropped: int = 0
    log: bool = False
    links: tuple[tuple[str, str], ...] = ()

    def text(self, *keys: str) -> str | None:
        """The first of these attributes that is text with something in it."""
        for key in keys:
            value = self.attributes.get(key)
            if isinstance(value, str) and value.strip():
                return value
        return None

    def get(self, *keys: str) -> Any:
        """The first of these attributes that is not null."""
        for key in keys:
            value = self.attributes.get(key)
            if value is not None:
                return value
        return None
