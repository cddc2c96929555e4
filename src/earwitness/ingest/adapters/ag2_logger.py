"""AG2 and AutoGen 0.2 runtime logging: rows of the SQLite logger, or JSON lines of the file logger.

Written by `autogen.runtime_logging.start(logger_type="sqlite"|"file")`, package `pyautogen` 0.2 and `ag2` up to 0.14.
`received_message` names the recipient of each message: the best evidence a log can hold. A group chat is relayed by
its manager; the relays tell who heard the speaker. Times are UTC without a zone. Neither events nor function calls
say which session they are of: their agent's id does. Not in it: shared context and memories, artifacts, reasoning.
Messages that reach a user proxy are output to the user; whether a person read them the log cannot know.

Obtained by: `autogen.runtime_logging.start(logger_type="sqlite")` or `"file"`.
Versions tried: pyautogen 0.2.35, ag2 0.14.0.
Order: time (UTC), then file order.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.ag2rows import BROKEN, EMPTY, IGNORED, Row, row_of, shown
from earwitness.ingest.ag2session import Session
from earwitness.ingest.boundary import together
from earwitness.ingest.record import Context, Emit, Record, Skip
from earwitness.ingest.tale import Tale
from earwitness.schema.model import Trace


class _Ag2Logger:
    NAME = "ag2-logger"
    TITLE = "AG2 / AutoGen 0.2 runtime logging"
    PRIORITY = 45

    def sniff(self, value: Any) -> bool:
        return row_of(value) is not None

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.rows: list[Row] = []
        self.owners: dict[str, str] = {}
        self.sessions: dict[str, None] = {}
        self.shown: set[tuple[str | None, str, str]] = set()

    def feed(self, record: Record) -> Iterable[Emit]:
        row = row_of(record.value)
        if row is None or row.kind == EMPTY:
            yield Skip("ignored", "definition of a table", record.place)
            return
        session = row.session
        if session:
            self.sessions[session] = None
        if row.kind == "agent" and session:
            self.owners[str(row.value.get("agent_id", row.value.get("id")))] = session
            self.owners[row.name or ""] = session
        if row.kind in IGNORED:
            yield Skip("ignored", f"{row.kind}: says nothing of who told whom", record.place)
        elif row.broken:
            self.rows.append(row._replace(kind=BROKEN, place=record.place, order=len(self.rows)))
            yield Skip("unparseable", "a row whose state is no JSON", record.place)
        else:
            row = self._slim(row) if row.kind == "completion" else row
            self.rows.append(row._replace(place=record.place, order=len(self.rows)))

    def _slim(self, row: Row) -> Row:
        """Every completion repeats the history; what its agent was shown before is let go."""
        fresh = [s for s in shown(row) if (row.name, s[1], s[2]) not in self.shown]
        self.shown |= {(row.name, role, text) for _, role, text in fresh}
        return row._replace(value={"session_id": row.session}, state=fresh)

    def finish(self) -> Iterable[Emit]:
        sessions: dict[str, list[Row]] = {}
        for row in sorted(self.rows, key=lambda r: (r.time, r.order)):
            sessions.setdefault(self._session_of(row), []).append(row)
        for key, rows in sessions.items():
            yield from together(_told(key, rows), (row.place for row in rows))
        self.rows.clear()

    def _session_of(self, row: Row) -> str:
        """The session a row names, that of its agent, or the only one there is."""
        if row.session:
            return row.session
        if len(self.sessions) == 1:
            return next(iter(self.sessions))
        owner = self.owners.get(str(row.value.get("source_id"))) or self.owners.get(row.name or "")
        return owner or self.context.stem


def _told(key: str, rows: list[Row]) -> Iterator[Emit]:
    trace = Trace(id=f"ag2-{key}", framework="ag2", observable=("C1", "C2", "C3", "C4"))
    session = Session(Tale(trace, rows[0].place))
    for row in rows:
        session.prepare(row)
    session.tell()
    yield from session.tale.items()
    yield from (Skip("duplicate", "a function call that a message tells", p) for p in session.repeats)


ADAPTER = _Ag2Logger()
