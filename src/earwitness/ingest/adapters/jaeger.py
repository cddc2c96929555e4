"""Jaeger traces: the download of the Jaeger UI, and answers of the query API (`/api/traces`).

Written by Jaeger (and what imitates its API); a user presses "Download Results" or saves the API's answer. Times and
durations are microseconds, tags are typed lists, the process names the service. It cannot show more content than the
instrumentation put into tags and logs; Jaeger may cut long tags, and says so in `warnings` at best. A service name is
a unit of deployment, so no agent is named after it.

Obtained by: "Download Results" in the UI, or the answer of the query API.
Versions tried: fixtures of jaegertracing/jaeger-ui at commit c321fb3.
Order: tree, then time.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.record import Context, Place, Record, Skip, is_array, some
from earwitness.ingest.spans.build import as_dict, as_rows, is_error, make_span
from earwitness.ingest.spans.reader import SpanReader
from earwitness.ingest.spans.span import SpanEvent
from earwitness.schema.times import to_nanos

# What is called a scope today was called a library in older versions of OpenTelemetry.
_SCOPE, _FORMER = (f"otel.{word}.name" for word in ("scope", "library"))


class _Jaeger:
    NAME = "jaeger"
    READER = "spans"
    TITLE = "Jaeger traces"
    PIECES = ("/spans", "/data", "/data/*/spans")

    def sniff(self, value: Any) -> bool:
        return any(True for _ in _traces(value, Place(0, 0, 0)))

    def split(self, record: Record) -> Iterator[Record]:
        parts = (part for trace, place in _traces(record.value, record.place) for part in _spans(trace, place))
        return some(parts, record.place, "a trace without spans")

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _traces(value: Any, place: Place) -> Iterator[tuple[dict[str, Any], Place]]:
    if not isinstance(value, dict):
        return
    rows = value.get("data")
    if _is_trace(value):
        yield value, place
    elif is_array(rows):
        yield from ((row, place.at(f"/data/{n}")) for n, row in enumerate(rows) if _is_trace(row))


def _is_trace(value: Any) -> bool:
    return isinstance(value, dict) and "traceID" in value and is_array(value.get("spans"))


def _spans(trace: dict[str, Any], place: Place) -> Iterator[Record]:
    resources = {name: _resource(process) for name, process in as_dict(trace.get("processes")).items()}
    for n, row in enumerate(trace["spans"]):
        at = place.at(f"/spans/{n}")
        if isinstance(row, dict):
            own = row.get("process")
            resource = _resource(own) if own else resources.get(str(row.get("processID")), {})
            yield Record(_span(row, resource, at), at)
        else:
            yield Record(Skip("unparseable", "a span that is no object", at), at)


def _resource(process: Any) -> dict[str, Any]:
    """The attributes of a process."""
    if not isinstance(process, dict):
        return {}
    tags = _tags(process.get("tags"))
    return tags | {"service.name": process["serviceName"]} if process.get("serviceName") else tags


def _span(row: dict[str, Any], resource: dict[str, Any], place: Place) -> Any:
    tags, references = _tags(row.get("tags")), as_rows(row.get("references"))
    start, duration = row.get("startTime"), row.get("duration")
    end = start + duration if isinstance(start, int) and isinstance(duration, int) else None
    return make_span(
        place,
        trace=row.get("traceID"),
        span=row.get("spanID"),
        parent=_parent(row, references),
        name=row.get("operationName"),
        start=start,
        end=end,
        attributes=tags,
        events=tuple(map(_event, as_rows(row.get("logs")))),
        failed=tags.get("error") in (True, "true") or is_error(tags.get("otel.status_code")),
        status=tags.get("otel.status_description"),
        resource=resource,
        scope=tags.get(_SCOPE) or tags.get(_FORMER) or None,
        links=[r for r in references if not _is_here(r, row)],
    )


def _parent(row: dict[str, Any], references: list[dict[str, Any]]) -> Any:
    """The span that this one is a child of; what it merely follows does not hold it, least of all in another trace."""
    for found in references:
        if found.get("refType") == "CHILD_OF":
            return found.get("spanID") or row.get("parentSpanID")
    followed = (r.get("spanID") for r in references if r.get("refType") == "FOLLOWS_FROM" and _is_here(r, row))
    return next(followed, None) or row.get("parentSpanID")


def _is_here(reference: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether it leads to a span of the same trace."""
    return reference.get("traceID") in (None, row.get("traceID"))


def _event(log: dict[str, Any]) -> SpanEvent:
    fields = _tags(log.get("fields"))
    name = fields.pop("event", "") or fields.pop("message", "") or "log"
    return SpanEvent(str(name), to_nanos(log.get("timestamp")), fields)


def _tags(rows: Any) -> dict[str, Any]:
    """Tags as a list, or as the object of Elasticsearch dumps, where dots became `@`."""
    if isinstance(rows, dict):
        return {str(k).replace("@", "."): v for k, v in rows.items()}
    return {str(row["key"]): row.get("value") for row in as_rows(rows) if "key" in row}


ADAPTER = _Jaeger()
