"""OTLP/JSON log files that hold GenAI message events: collector file exporter, SDK JSON exporters.

GenAI instrumentations of 2024 and 2025, and newer ones in the mode EVENT_ONLY or SPAN_AND_EVENT, write each message
as a log record (`gen_ai.user.message`, `gen_ai.choice`, ...) with the ids of its span. A user gets the file from the
collector's file exporter or from `OTEL_LOGS_EXPORTER=otlp_json_file`; imported together with the span file of the same
run the two are one trace. Alone it cannot show who called whom: tools and agents are in the spans.

Obtained by: the collector's file exporter, or `OTEL_LOGS_EXPORTER=otlp_json_file`.
Versions tried: opentelemetry-exporter-otlp-json-file 0.66b1, opentelemetry-util-genai 1.3b0.
Order: time, then file order.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.record import Context, Place, Record, is_array, some
from earwitness.ingest.spans.logs import log_span
from earwitness.ingest.spans.otlp import any_value, attributes
from earwitness.ingest.spans.reader import SpanReader

_RESOURCES = ("resourceLogs", "resource_logs")
_SCOPES = ("scopeLogs", "scope_logs", "instrumentationLibraryLogs")
_RECORDS = ("logRecords", "log_records", "logs")


class _OtlpLogs:
    NAME = "otlp-logs"
    READER = "spans"
    TITLE = "OpenTelemetry log records (OTLP/JSON)"
    PIECES = tuple(
        path
        for blocks in _RESOURCES
        for path in (
            f"/{blocks}",
            *(f"/{blocks}/*/{groups}" for groups in _SCOPES),
            *(f"/{blocks}/*/{groups}/*/{records}" for groups in _SCOPES for records in _RECORDS),
        )
    )

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in _RESOURCES)

    def split(self, record: Record) -> Iterator[Record]:
        return some(_parts(record.value, record.place), record.place, "an envelope without log records")

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _parts(value: dict[str, Any], place: Place) -> Iterator[Record]:
    for block, at in _rows(value, _RESOURCES, place):
        resource = attributes(_dict(block.get("resource")).get("attributes"))
        for group, deeper in _rows(block, _SCOPES, at):
            scope = _dict(group.get("scope")).get("name")
            for raw, where in _rows(group, _RECORDS, deeper):
                yield Record(_record(raw, resource, scope, where), where)


def _record(raw: dict[str, Any], resource: dict[str, Any], scope: Any, place: Place) -> Any:
    return log_span(
        place,
        trace=_of(raw, "traceId", "trace_id"),
        span=_of(raw, "spanId", "span_id"),
        name=_of(raw, "eventName", "event_name"),
        time=_time(_of(raw, "timeUnixNano", "time_unix_nano"))
        or _of(raw, "observedTimeUnixNano", "observed_time_unix_nano"),
        body=any_value(raw.get("body")),
        attributes=attributes(raw.get("attributes")),
        resource=resource,
        scope=scope,
    )


def _time(value: Any) -> Any:
    """Zero says that the time is not known."""
    return None if value in (0, "0", "") else value


def _rows(owner: dict[str, Any], names: tuple[str, ...], place: Place) -> Iterator[tuple[dict[str, Any], Place]]:
    key = next((name for name in names if name in owner), None)
    rows = owner.get(key) if key else None
    for n, row in enumerate(rows if is_array(rows) else ()):
        yield _dict(row), place.at(f"/{key}/{n}")


def _of(raw: dict[str, Any], *names: str) -> Any:
    return next((raw[name] for name in names if raw.get(name) is not None), None)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


ADAPTER = _OtlpLogs()
