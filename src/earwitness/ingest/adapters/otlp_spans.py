"""OTLP/JSON trace files: collector file exporter, SDK JSON exporters, Tempo. Each span is one record."""

from typing import Any

from earwitness.ingest.record import Context, Record
from earwitness.ingest.spans import otlp
from earwitness.ingest.spans.reader import SpanReader


class _OtlpSpans:
    NAME = "otlp-spans"
    READER = "spans"
    TITLE = "OpenTelemetry trace spans (OTLP/JSON)"

    def sniff(self, value: Any) -> bool:
        return otlp.is_envelope(value)

    def split(self, record: Record) -> list[Record]:
        return otlp.split(record)

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


ADAPTER = _OtlpSpans()
