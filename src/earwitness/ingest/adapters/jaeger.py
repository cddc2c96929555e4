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
_SCOPES = tuple(f"otel.{word}.name" for word in ("scope", "library"))


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
    processes = as_dict(trace.get("processes"))
    for n, row in enumerate(trace["spans"]):
        at = place.at(f"/spans/{n}")
        if isinstance(row, dict):
            process = row.get("process") or processes.get(str(row.get("processID")))
            yield Record(_span(row, process if isinstance(process, dict) else {}, at), at)
        else:
            yield Record(Skip("unparseable", "a span that is no object", at), at)


def _span(row: dict[str, Any], process: dict[str, Any], place: Place) -> Any:
    tags = _tags(row.get("tags"))
    start, duration = row.get("startTime"), row.get("duration")
    end = start + duration if isinstance(start, int) and isinstance(duration, int) else None
    resource = _tags(process.get("tags"))
    if process.get("serviceName"):
        resource["service.name"] = process["serviceName"]
    return make_span(
        place,
        trace=row.get("traceID"),
        span=row.get("spanID"),
        parent=_parent(row),
        name=row.get("operationName"),
        start=start,
        end=end,
        attributes=tags,
        events=tuple(_event(log) for log in as_rows(row.get("logs"))),
        failed=tags.get("error") in (True, "true") or is_error(tags.get("otel.status_code")),
        status=tags.get("otel.status_description"),
        resource=resource,
        scope=next((tags[key] for key in _SCOPES if tags.get(key)), None),
        links=_elsewhere(row),
    )


def _parent(row: dict[str, Any]) -> Any:
    """The span that this one is a child of; what it merely follows does not hold it, least of all in another trace."""
    rows = as_rows(row.get("references"))
    here = {"CHILD_OF": rows, "FOLLOWS_FROM": [r for r in rows if r.get("traceID") in (None, row.get("traceID"))]}
    found = [r.get("spanID") for kind, some in here.items() for r in some if r.get("refType") == kind]
    return next(iter(found), None) or row.get("parentSpanID")


def _elsewhere(row: dict[str, Any]) -> list[dict[str, Any]]:
    """References into other traces."""
    rows = as_rows(row.get("references"))
    return [r for r in rows if r.get("traceID") not in (None, row.get("traceID"))]


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
