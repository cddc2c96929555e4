"""Langfuse trace downloads: one object with `trace` and `observations`.

Written by the Langfuse UI ("Download trace as JSON") and API (`/api/public/traces/<id>` has the same fields in one
object). The attributes of the original instrumentation stand in `metadata`, which is an object or its text. It cannot
show media (references only), and above 350 observations the download drops inputs, outputs and metadata. A mask of the
SDK covers the SDK's own observations only: those of other instrumentations are read as they came.

Obtained by: "Download trace as JSON" in the UI, or the API.
Versions tried: downloads of June to December 2025, in langfuse/langfuse at commit 6275144.
Order: tree, then time.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.record import Context, Place, Record, Skip
from earwitness.ingest.spans.build import as_dict
from earwitness.ingest.spans.langfuse import observation, trace_span
from earwitness.ingest.spans.reader import SpanReader


class _LangfuseTrace:
    NAME = "langfuse-trace"
    READER = "spans"
    TITLE = "Langfuse trace downloads"
    PIECES = ("/observations",)

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("observations"), list):
            return False
        rows = value["observations"]
        whole = isinstance(value.get("trace"), dict) or ("projectId" in value and "timestamp" in value)
        return whole and all(isinstance(r, dict) and ("traceId" in r or "trace_id" in r) for r in rows[:3])

    def split(self, record: Record) -> Iterator[Record]:
        return _parts(record.value, record.place)

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _parts(value: dict[str, Any], place: Place) -> Iterator[Record]:
    trace = value["trace"] if isinstance(value.get("trace"), dict) else value
    at = place.at("/trace") if trace is not value else place
    yield Record(trace_span(trace, at), at)
    shared = {k: trace[k] for k in ("sessionId", "userId") if trace.get(k)}
    for n, row in enumerate(value["observations"]):
        where = place.at(f"/observations/{n}")
        if isinstance(row, dict):
            yield Record(observation({"traceId": trace.get("id"), **shared, **as_dict(row)}, where), where)
        else:
            yield Record(Skip("unparseable", "an observation that is no object", where), where)


ADAPTER = _LangfuseTrace()
