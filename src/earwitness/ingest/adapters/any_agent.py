"""any-agent traces: one object with `spans` and `final_output`, of whatever framework any-agent ran.

Written by Mozilla's any-agent: `trace.model_dump_json()` of the `AgentTrace` that a run gives. Ids are integers beyond
2^53, times nanoseconds, outputs stand in `gen_ai.output`. It cannot show what later model calls were given (inputs are
kept for the first call only), nor delegation: a file is the run of one agent.
"""

from typing import Any

from earwitness.ingest.record import Context, Record, Skip
from earwitness.ingest.spans.build import as_dict, sdk_span
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
                sdk_span(row, place, as_dict(row.get("parent")).get("span_id"))
                if isinstance(row, dict)
                else Skip("unparseable", "a span that is no object", place)
            )
            parts.append(Record(span, place))
        return parts

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


ADAPTER = _AnyAgent()
