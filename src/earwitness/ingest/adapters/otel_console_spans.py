"""OpenTelemetry spans as the SDK prints them: `ConsoleSpanExporter` output, or `span.to_json()` one a line.

Written by the Python SDK's `ConsoleSpanExporter` to standard output (pretty-printed objects, often between the prints
of the program) and by programs that dump `span.to_json()`; a user redirects the output to a file. Ids carry `0x`,
times are ISO text, attributes are plain. It cannot show the name of the instrumentation, nor log records; whatever
content the instrumentation was told not to capture is not there either.

Obtained by: `ConsoleSpanExporter`, redirected to a file, or `span.to_json()`.
Versions tried: opentelemetry-sdk 1.45.2; spans of strands-agents 1.62.0, agent-framework 1.23.0, and by OpenInference
of smolagents 1.26.0 and agno 3.1.10.
Order: tree, then time.
"""

from typing import Any

from earwitness.ingest.record import Context, Record
from earwitness.ingest.spans.build import sdk_span
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
        return [Record(sdk_span(record.value, record.place, record.value.get("parent_id")), record.place)]

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


ADAPTER = _ConsoleSpans()
