"""Langfuse observation rows: UI batch exports, API lists, and blob storage exports, one observation a record.

Written by Langfuse: the UI's export (camelCase), `/api/public/observations`, and the scheduled export to blob storage
(snake_case, JSON lines or parquet; an empty parent is the root, times have no zone). Windows overlap and the mode
"both" writes each observation twice; the second is a duplicate. Columns that were switched off (`io`, `metadata`)
cannot be told from content that was never there: such spans count as without content.

Obtained by: a batch export of the UI, the API, or the export to blob storage.
Versions tried: none recorded; after the documentation and source of Langfuse.
Order: tree, then time.
"""

from typing import Any

from earwitness.ingest.record import Context, Record, Skip
from earwitness.ingest.spans.langfuse import observation
from earwitness.ingest.spans.reader import SpanReader


class _LangfuseRows:
    NAME = "langfuse-rows"
    READER = "spans"
    TITLE = "Langfuse observation exports"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        rows = value.get("data")
        if isinstance(rows, list) and rows and "meta" in value:
            return _is_row(rows[0])
        return _is_row(value)

    def split(self, record: Record) -> list[Record]:
        rows = record.value.get("data") if not _is_row(record.value) else None
        if not isinstance(rows, list):
            return [Record(observation(record.value, record.place), record.place)]
        return [_part(row, record, n) for n, row in enumerate(rows)]

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _part(row: Any, record: Record, n: int) -> Record:
    place = record.place.at(f"/data/{n}")
    if not isinstance(row, dict):
        return Record(Skip("unparseable", "an observation that is no object", place), place)
    return Record(observation(row, place), place)


def _is_row(value: Any) -> bool:
    if not isinstance(value, dict) or "id" not in value or "type" not in value:
        return False
    camel = "parentObservationId" in value and "traceId" in value
    return camel or ("parent_observation_id" in value and "trace_id" in value)


ADAPTER = _LangfuseRows()
