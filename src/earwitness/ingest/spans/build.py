"""Spans from the fields of any container: ids, times, events and attributes brought to one form."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from earwitness.ingest.record import Place, Skip, is_array
from earwitness.ingest.spans.otlp import read_links, span_id
from earwitness.ingest.spans.span import Span, SpanEvent
from earwitness.ingest.spans.texts import as_text, loads
from earwitness.schema.times import to_nanos

_FAILED = ("ERROR", "STATUS_CODE_ERROR", "2", "FAILED", "STATUSCODE.ERROR")
_TOO_DEEP = "a span with attributes nested too deep to be read"


def make_span(
    place: Place,
    *,
    trace: Any,
    span: Any,
    parent: Any = None,
    name: Any = "",
    start: Any = None,
    end: Any = None,
    attributes: Any = None,
    events: tuple[SpanEvent, ...] = (),
    failed: bool = False,
    status: Any = None,
    resource: Any = None,
    scope: Any = None,
    dropped: int = 0,
    links: Any = None,
) -> Span | Skip:
    """A span from raw fields, or why there is none."""
    ids = span_id(trace, 16), span_id(span, 8)
    if ids[0] is None or ids[1] is None:
        return Skip("unparseable", "a span without trace id or span id", place)
    return Span(
        trace_id=ids[0],
        span_id=ids[1],
        parent_id=span_id(parent, 8),
        place=place,
        name=str(name or ""),
        start=_moment(start),
        end=_moment(end),
        attributes=attributes if isinstance(attributes, dict) else {},
        events=events,
        failed=failed,
        status=status if isinstance(status, str) else None,
        resource=resource if isinstance(resource, dict) else {},
        scope=scope if isinstance(scope, str) else None,
        dropped=dropped,
        links=read_links(loads(links) if isinstance(links, str) else links) if links else (),
    )


def sdk_span(row: dict[str, Any], place: Place, parent: Any) -> Span | Skip:
    """A span as the Python SDK prints it: ids under `context`, plain attributes; what names the parent differs."""
    context, status = as_dict(row.get("context")), as_dict(row.get("status"))
    return make_span(
        place,
        trace=context.get("trace_id"),
        span=context.get("span_id"),
        parent=parent,
        name=row.get("name"),
        start=row.get("start_time"),
        end=row.get("end_time"),
        attributes=as_dict(row.get("attributes")),
        events=read_events(row.get("events")),
        failed=is_error(status.get("status_code")),
        status=status.get("description"),
        resource=as_dict(as_dict(row.get("resource")).get("attributes")),
        scope=as_dict(row.get("scope")).get("name"),
        links=row.get("links"),
    )


def _moment(value: Any) -> int | None:
    """A time as a recorder wrote it; the rows of a table hold dates."""
    return to_nanos(value.isoformat() if isinstance(value, datetime) else value)


def is_error(code: Any) -> bool:
    """Whether a status code, in whatever spelling, says error."""
    return code == 2 or (isinstance(code, str) and code.upper() in _FAILED)


def as_dict(value: Any) -> dict[str, Any]:
    """An object, or the object a text is the JSON of; else an empty one. Un-nests text in text."""
    if type(value) is dict:  # mostly
        return value
    for _ in range(4):
        if not isinstance(value, str):
            break
        inner = loads(value)
        value = _unquoted(value) if inner is None else inner
    return value if isinstance(value, dict) else {}


def _unquoted(value: str) -> Any:
    """The text inside a JSON string: `"\\"{...}\\""`."""
    bare = value.strip()
    if not bare.startswith('"'):
        return None
    inner = loads(f"[{bare}]")
    return inner[0] if isinstance(inner, list) and len(inner) == 1 else None


def as_rows(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, or of the list that a text is the JSON of."""
    if not value:  # mostly
        return []
    rows = loads(value) if isinstance(value, str) else value
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def each_row(value: Any) -> Iterator[dict[str, Any]]:
    """The same one by one, also of an array that is too large to be held."""
    return (row for row in value if isinstance(row, dict)) if is_array(value) else iter(as_rows(value))


def read_events(rows: Any) -> tuple[SpanEvent, ...]:
    """Span events with plain attributes, as SDKs and most backends print them."""
    return tuple(map(_event, as_rows(rows))) if rows else ()


def _event(row: dict[str, Any]) -> SpanEvent:
    time = next((row[k] for k in ("timestamp", "event_timestamp", "time", "at", "time_unix_nano") if k in row), None)
    name = row.get("name") or row.get("event_name") or ""
    return SpanEvent(as_text(name), _moment(time), as_dict(row.get("attributes")))


def flat(prefix: str, value: dict[str, Any]) -> dict[str, Any]:
    """Nested objects as dotted keys under a prefix; lists stay whole. Iterative: depth is the sender's choice."""
    out: dict[str, Any] = {}
    waiting = [(prefix, value)]
    while waiting:
        start, inner = waiting.pop()
        for key, item in inner.items():
            name = f"{start}.{key}" if start else str(key)
            if isinstance(item, dict) and item and len(name) < 256:
                waiting.append((name, item))
            else:
                out[name] = item
    return out
