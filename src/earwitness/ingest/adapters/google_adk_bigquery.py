"""Google ADK BigQuery analytics: rows of the plugin's table, exported as JSON lines, CSV-like objects or Parquet.

Written by `BigQueryAgentAnalyticsPlugin`; a user exports the table or captures the rows before upload. Rows show what
event files hide: agents called as tools run in sessions of their own, which are joined to the caller's. The columns
`content` and `attributes` may come as JSON text. Of a model's answer only texts and names of calls are there,
thoughts not told apart from words; model inputs hold placeholders for tool results; artifacts are not recorded;
`temp:` state is redacted.

Obtained by: an export of the table, or the rows before upload.
Versions tried: google-adk 2.13.0.
Order: time, then file order.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.adk_row import row_of
from earwitness.ingest.adk_rows import Rows
from earwitness.ingest.boundary import together
from earwitness.ingest.record import Context, Emit, Record, Skip
from earwitness.ingest.timeshelf import TimeShelf

_KEYS = frozenset({"event_type", "session_id", "invocation_id", "agent", "content"})


class _GoogleAdkBigquery:
    NAME = "google-adk-bigquery"
    TITLE = "Google ADK BigQuery analytics rows"
    READER = "google-adk-bigquery"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and value.keys() >= _KEYS and isinstance(value["event_type"], str)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self._shelf = TimeShelf()

    def feed(self, record: Record) -> Iterable[Emit]:
        """Rows of a query come in any order: they are put aside."""
        row, place = record
        if not isinstance(row.get("session_id"), str):
            return (Skip("unparseable", "a row without session", place),)
        event_id = row.get("event_id") or row.get("insert_id")
        if event_id and not self.context.claim("adk-bigquery", str(event_id)):
            return (Skip("duplicate", "the same row was read before", place),)
        try:
            self._shelf.add(row, place, row.get("timestamp"))
        except (RecursionError, TypeError):
            return (Skip("unparseable", "a row that cannot be put aside", place),)
        return ()

    def finish(self) -> Iterator[Emit]:
        rows = Rows()
        for record in self._shelf.records():
            yield from together(_told(rows, record), (record.place,))
        yield from rows.finish()


def _told(rows: Rows, record: Record) -> Iterator[Emit]:
    yield from rows.tell(row_of(record))


ADAPTER = _GoogleAdkBigquery()
