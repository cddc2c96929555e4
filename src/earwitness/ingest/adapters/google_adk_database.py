"""Google ADK session database: rows of `SqliteSessionService` and `DatabaseSessionService`.

The SQLite file itself (`.adk/session.db`), or rows dumped as JSON lines with the table's name under `table`. Both
schemas are read: v1 keeps an event as JSON in `event_data`; v0 keeps columns, and `actions` as a pickle, which is
never opened. So v0 cannot show shared memory and artifacts, and a transfer is believed when the named agent speaks
next: its recipient is known by that effect, not by name. State of the app and of the user stands in tables of their
own.

Obtained by: the file `.adk/session.db`, or its rows dumped.
Versions tried: google-adk 1.18.0 (v0) and 2.13.0 (v1).
Order: time, then file order.
"""

from typing import Any

from earwitness.ingest.adk import AdkReader
from earwitness.ingest.record import Context, Record
from earwitness.ingest.spans.texts import loads

_SHARED = {"app_states": "app:", "user_states": "user:"}
_COLUMNS = ("id", "author", "timestamp", "invocation_id", "partial", "error_code", "error_message")


class _GoogleAdkDatabase:
    NAME = "google-adk-database"
    TITLE = "Google ADK session database"
    READER = "google-adk"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if _table(value) == "adk_internal_metadata":
            return True
        return "app_name" in value and _table(value) in ("sessions", "events", *_SHARED)

    def split(self, record: Record) -> list[Record]:
        """A row in the form that the reader of all ADK files knows."""
        row, place = record
        if _table(row) == "events":
            return [Record(_event(row), place.at("/event_data" if "event_data" in row else ""))]
        state = _object(row.get("state"))
        app, user = str(row.get("app_name")), f"{row.get('app_name')}/{row.get('user_id')}"
        if _table(row) == "sessions":
            return [Record({"session": str(row.get("id")), "state": state, "owner": [app, user]}, place)]
        shared = _SHARED.get(str(_table(row)), "")
        return [Record({"shared": shared, "state": state, "owner": user if shared == "user:" else app}, place)]

    def open(self, context: Context) -> AdkReader:
        return AdkReader(context)


def _table(row: dict[str, Any]) -> Any:
    return row.get("_table", row.get("table"))


def _event(row: dict[str, Any]) -> dict[str, Any]:
    """Schema v1 keeps an event as JSON, v0 in columns."""
    session = str(row.get("session_id"))
    if "event_data" in row:
        data = _object(row["event_data"])
        return {"session": session, "event": {"id": row.get("id"), **data} if data else None}
    event = {key: row.get(key) for key in _COLUMNS}
    return {"session": session, "event": {**event, "content": _object(row.get("content"))}, "hidden": True}


def _object(value: Any) -> dict[str, Any]:
    found = loads(value) if isinstance(value, str) else value
    return found if isinstance(found, dict) else {}


ADAPTER = _GoogleAdkDatabase()
