"""OTLP/JSON trace files: collector file exporter, SDK JSON exporters, Tempo. Each span is one record.

Obtained by: the collector's file exporter, `OTEL_TRACES_EXPORTER=otlp_json_file`, or Tempo's API.
Versions tried: opentelemetry-exporter-otlp-json-file 0.66b1; dialects as recorded by the frameworks.
Order: tree, then time.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.record import Context, Record
from earwitness.ingest.spans import otlp
from earwitness.ingest.spans.reader import SpanReader


class _OtlpSpans:
    NAME = "otlp-spans"
    READER = "spans"
    TITLE = "OpenTelemetry trace spans (OTLP/JSON)"
    PIECES = otlp.PIECES

    def sniff(self, value: Any) -> bool:
        return otlp.is_envelope(value)

    def split(self, record: Record) -> Iterator[Record]:
        return otlp.split(record)

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


ADAPTER = _OtlpSpans()
