"""any-agent traces: one object with `spans` and `final_output`, of whatever framework any-agent ran.

Written by Mozilla's any-agent: `trace.model_dump_json()` of the `AgentTrace` that a run gives. Ids are integers beyond
2^53, times nanoseconds, outputs stand in `gen_ai.output`. It cannot show what later model calls were given (inputs are
kept for the first call only), nor delegation: a file is the run of one agent.

Obtained by: `trace.model_dump_json()`.
Versions tried: recordings in mozilla-ai/any-agent at commit 3e248d1.
Order: tree, then time.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from earwitness.ingest.record import Context, Place, Record, Skip
from earwitness.ingest.spans.build import as_dict, sdk_span
from earwitness.ingest.spans.observed import ONE_AGENT
from earwitness.ingest.spans.reader import SpanReader
from earwitness.ingest.spans.span import Span


class _AnyAgent:
    NAME = "any-agent"
    READER = "spans"
    TITLE = "any-agent traces"
    PIECES = ("/spans",)

    def sniff(self, value: Any) -> bool:
        rows = value.get("spans") if isinstance(value, dict) else None
        if not isinstance(rows, list) or not rows or not isinstance(rows[0], dict) or "traceID" in value:
            return False
        context = rows[0].get("context")
        return isinstance(context, dict) and "span_id" in context and "attributes" in rows[0]

    def split(self, record: Record) -> Iterator[Record]:
        for n, row in enumerate(record.value["spans"]):
            place = record.place.at(f"/spans/{n}")
            yield Record(_span(row, place), place)

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _span(row: Any, place: Place) -> Span | Skip:
    """A span; the recorder names no scope, and what it cannot show is known by one."""
    if not isinstance(row, dict):
        return Skip("unparseable", "a span that is no object", place)
    span = sdk_span(row, place, as_dict(row.get("parent")).get("span_id"))
    return span if isinstance(span, Skip) or span.scope else structs.replace(span, scope=ONE_AGENT)


ADAPTER = _AnyAgent()
