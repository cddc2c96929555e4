"""any-agent traces: one object with `spans` and `final_output`, of whatever framework any-agent ran.

Written by Mozilla's any-agent: `trace.model_dump_json()` of the `AgentTrace` that a run gives. Ids are integers beyond
2^53, times nanoseconds, outputs stand in `gen_ai.output`. It cannot show what later model calls were given (inputs are
kept for the first call only), nor delegation: a file is the run of one agent.
"""

from typing import Any

from earwitness.ingest.record import Context, Record, Skip
from earwitness.ingest.spans.build import as_dict, is_error, make_span, read_events
from earwitness.ingest.spans.reader import SpanReader


class _AnyAgent:
    NAME = "any-agent"
    READER = "spans"
    TITLE = "any-agent traces"

    def sniff(self, value: Any) -> bool:
        rows = value.get("spans") if isinstance(value, dict) else None
        if not isinstance(rows, list) or not rows or not isinstance(rows[0], dict) or "traceID" in value:
            return False
        context = rows[0].get("context")
        return isinstance(context, dict) and "span_id" in context and "attributes" in rows[0]

    def split(self, record: Record) -> list[Record]:
        parts = []
        for n, row in enumerate(record.value["spans"]):
            place = record.place.at(f"/spans/{n}")
            span = (
                _span(row, place) if isinstance(row, dict) else Skip("unparseable", "a span that is no object", place)
            )
            parts.append(Record(span, place))
        return parts

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _span(row: dict[str, Any], place: Any) -> Any:
    context, status = as_dict(row.get("context")), as_dict(row.get("status"))
    return make_span(
        place,
        trace=context.get("trace_id"),
        span=context.get("span_id"),
        parent=as_dict(row.get("parent")).get("span_id"),
        name=row.get("name"),
        start=row.get("start_time"),
        end=row.get("end_time"),
        attributes=as_dict(row.get("attributes")),
        events=read_events(row.get("events")),
        failed=is_error(status.get("status_code")),
        status=status.get("description"),
        resource=as_dict(as_dict(row.get("resource")).get("attributes")),
        scope=as_dict(row.get("scope")).get("name"),
    )


ADAPTER = _AnyAgent()
