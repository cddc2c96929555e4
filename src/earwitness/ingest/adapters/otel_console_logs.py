"""OpenTelemetry log records as the SDK prints them: `ConsoleLogExporter` output with GenAI message events.

Written by the Python SDK's `ConsoleLogExporter` (`ConsoleLogRecordExporter`), one object a record; Semantic Kernel,
Google ADK and others put each message of a model call there (`gen_ai.user.message`, `gen_ai.choice`). A user redirects
the output to a file; with the console spans of the same run it makes one trace. Alone it cannot show who called whom:
tools and agents are in the spans.

Obtained by: `ConsoleLogExporter`, redirected to a file.
Versions tried: opentelemetry-sdk 1.45.2.
Order: time, then file order.
"""

from typing import Any

from earwitness.ingest.record import Context, Record
from earwitness.ingest.spans.build import as_dict
from earwitness.ingest.spans.logs import log_span
from earwitness.ingest.spans.reader import SpanReader


class _ConsoleLogs:
    NAME = "otel-console-logs"
    READER = "spans"
    TITLE = "OpenTelemetry console log records"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and "severity_number" in value and "body" in value and "trace_id" in value

    def split(self, record: Record) -> list[Record]:
        return [Record(_record(record), record.place)]

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _record(record: Record) -> Any:
    row = record.value
    return log_span(
        record.place,
        trace=row.get("trace_id"),
        span=row.get("span_id"),
        name=row.get("event_name"),
        time=row.get("timestamp") or row.get("observed_timestamp"),
        body=row.get("body"),
        attributes=as_dict(row.get("attributes")),
        resource=as_dict(as_dict(row.get("resource")).get("attributes")),
    )


ADAPTER = _ConsoleLogs()
