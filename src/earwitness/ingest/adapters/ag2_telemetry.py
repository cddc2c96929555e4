"""AG2 hub telemetry: `telemetry/spans.jsonl` of a network's folder, one span a line.

Written by AG2 1.x (`ag2.network`) beside its audit log. The spans tell channels, envelopes and their senders by id,
and join by links. They hold no content at all: messages are in the log of the channel. Together with spans of an
instrumentation they complete its traces; alone they give none.

Obtained by: `Network(...)` with a store on disk (`telemetry/spans.jsonl`).
Versions tried: ag2 1.2.1.
Order: time.
"""

from typing import Any

from earwitness.ingest.record import Context, Record
from earwitness.ingest.spans.build import as_dict, is_error, make_span, read_events
from earwitness.ingest.spans.reader import SpanReader

_KEYS = ("trace_id", "span_id", "parent_span_id", "attributes", "links", "start", "end")


class _Ag2Telemetry:
    NAME = "ag2-telemetry"
    READER = "spans"
    TITLE = "AG2 hub telemetry spans"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and all(key in value for key in _KEYS) and isinstance(value["attributes"], dict)

    def split(self, record: Record) -> list[Record]:
        return [Record(_span(record), record.place)]

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _span(record: Record) -> Any:
    row = record.value
    return make_span(
        record.place,
        trace=row["trace_id"],
        span=row["span_id"],
        parent=row["parent_span_id"],
        name=row.get("name"),
        start=row["start"],
        end=row["end"],
        attributes=as_dict(row["attributes"]),
        links=row["links"],
        events=read_events(row.get("events")),
        failed=is_error(row.get("status")),
        status=row.get("status_message"),
    )


ADAPTER = _Ag2Telemetry()
