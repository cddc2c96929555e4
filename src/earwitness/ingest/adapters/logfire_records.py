"""Logfire records: rows of the `records` table, as the query API or the UI exports them.

Written by Pydantic Logfire (`SELECT * FROM records`, JSON rows, or `{"columns": ...}` answers turned into rows). One
row is a span or a log; a `pending_span` is the twin of the span that ends later, and is ignored. Logfire scrubs by
keyword before storage, but leaves messages and exceptions alone; `attributes` may come as JSON text. It cannot show
what a scrubbed field held: that is counted as masked.

Obtained by: `SELECT * FROM records` in the query API or the UI.
Versions tried: none recorded; after the documentation of Logfire.
Order: tree, then time.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.record import Context, Place, Record, Skip, is_array
from earwitness.ingest.spans.build import as_dict, make_span, read_events
from earwitness.ingest.spans.reader import SpanReader
from earwitness.ingest.spans.span import SpanEvent

_ERROR_LEVEL = 17


class _LogfireRecords:
    NAME = "logfire-records"
    READER = "spans"
    TITLE = "Logfire records"
    PIECES = ("/rows",)

    def sniff(self, value: Any) -> bool:
        return next(_rows(value, Place(0, 0, 0)), None) is not None

    def split(self, record: Record) -> Iterator[Record]:
        return (Record(_span(row, place), place) for row, place in _rows(record.value, record.place))

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _rows(value: Any, place: Place) -> Iterator[tuple[dict[str, Any], Place]]:
    if not isinstance(value, dict):
        return
    if _is_row(value):
        yield value, place
    rows = value.get("rows")
    for n, row in enumerate(rows if is_array(rows) else ()):
        if _is_row(row):
            yield row, place.at(f"/rows/{n}")


def _is_row(value: Any) -> bool:
    return isinstance(value, dict) and "start_timestamp" in value and "span_name" in value and "trace_id" in value


def _span(row: dict[str, Any], place: Place) -> Any:
    if row.get("kind") == "pending_span":
        return Skip("ignored", "a pending span: its twin holds the whole", place)
    attributes = dict(as_dict(row.get("attributes")))
    if isinstance(message := row.get("message"), str) and message:
        attributes.setdefault("logfire.msg", message)
    if row.get("tags"):
        attributes["logfire.tags"] = row["tags"]
    level = row.get("level")
    failed = bool(row.get("is_exception")) or (isinstance(level, int) and level >= _ERROR_LEVEL) or level == "error"
    return make_span(
        place,
        trace=row.get("trace_id"),
        span=row.get("span_id"),
        parent=row.get("parent_span_id"),
        name=row.get("span_name"),
        start=row.get("start_timestamp"),
        end=row.get("end_timestamp"),
        attributes=attributes,
        events=(*read_events(row.get("otel_events")), *_exception(row)),
        failed=failed,
        status=row.get("otel_status_message"),
        resource=as_dict(row.get("otel_resource_attributes")),
        scope=row.get("otel_scope_name"),
        links=row.get("otel_links"),
    )


def _exception(row: dict[str, Any]) -> tuple[SpanEvent, ...]:
    """The exception in columns of its own, unless the events hold it."""
    fields = {f"exception.{k}": row.get(f"exception_{k}") for k in ("type", "message", "stacktrace")}
    held = any(e.name == "exception" for e in read_events(row.get("otel_events")))
    return () if held or not any(fields.values()) else (SpanEvent("exception", None, fields),)


ADAPTER = _LogfireRecords()
