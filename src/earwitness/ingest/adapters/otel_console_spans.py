"""OpenTelemetry spans as the SDK prints them: `ConsoleSpanExporter` output, or `span.to_json()` one a line.

Written by the Python SDK's `ConsoleSpanExporter` to standard output (pretty-printed objects, often between the prints
of the program) and by programs that dump `span.to_json()`; a user redirects the output to a file. Ids carry `0x`,
times are ISO text, attributes are plain. It cannot show the name of the instrumentation, nor log records; whatever
content the instrumentation was told not to capture is not there either.
"""

from typing import Any

from earwitness.ingest.record import Context, Record
from earwitness.ingest.spans.build import as_dict, is_error, make_span, read_events
from earwitness.ingest.spans.reader import SpanReader


class _ConsoleSpans:
    NAME = "otel-console-spans"
    READER = "spans"
    TITLE = "OpenTelemetry console spans"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("context"), dict):
            return False
        context = value["context"]
        return "parent_id" in value and "attributes" in value and "trace_id" in context and "span_id" in context

    def split(self, record: Record) -> list[Record]:
        return [Record(_span(record), record.place)]

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _span(record: Record) -> Any:
    row, context = record.value, record.value["context"]
    status = as_dict(row.get("status"))
    return make_span(
        record.place,
        trace=context.get("trace_id"),
        span=context.get("span_id"),
        parent=row.get("parent_id"),
        name=row.get("name"),
        start=row.get("start_time"),
        end=row.get("end_time"),
        attributes=as_dict(row.get("attributes")),
        events=read_events(row.get("events")),
        failed=is_error(status.get("status_code")),
        status=status.get("description"),
        resource=as_dict(as_dict(row.get("resource")).get("attributes")),
    )


ADAPTER = _ConsoleSpans()
