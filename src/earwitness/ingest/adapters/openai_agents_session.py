"""OpenAI Agents SDK session database: `SQLiteSession` and `AdvancedSQLiteSession`.

The SQLite file itself, or rows of `agent_sessions` and `agent_messages` dumped as JSON lines with the table's name
under `table`. A session is the list of items that models were given, over all runs. It names no agent: who speaks is
followed through the handoffs, the agent that starts is `assistant`, and after a handoff nobody knows who a new
request went to. What agents called as tools did inside is not there, and their calls look like those of any tool unless
an agent that takes over has the tool's name; nor is shared context. Rows of the advanced
session's other tables repeat the structure of the messages and are ignored.

Obtained by: the file of `SQLiteSession`, or its rows dumped.
Versions tried: openai-agents 0.24.0.
Order: number of the row, with times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.dialogue import At, Dialogue
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.spans.texts import fingerprint, fingerprint_of, loads
from earwitness.ingest.talk import Talk
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

_OBSERVABLE: tuple[Channel, ...] = ("C1", "C2", "C3", "C4", "C6")
_BESIDE = ("message_structure", "turn_usage")
_START = "assistant"


class _OpenaiAgentsSession:
    NAME = "openai-agents-session"
    TITLE = "OpenAI Agents SDK session database"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or "session_id" not in value:
            return False
        return "message_data" in value or value.get("_table", value.get("table")) in ("agent_sessions", *_BESIDE)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self._sessions: dict[str, Talk] = {}

    def feed(self, record: Record) -> Iterator[Emit]:
        row, place = record
        if "message_data" in row:
            yield from self._message(row, place)
        elif row.get("_table", row.get("table")) in _BESIDE:
            yield Skip("ignored", "structure and usage of messages that other rows hold", place)
        else:
            yield from self._session(str(row["session_id"]), place).dialogue.drain()

    def _message(self, row: dict[str, Any], place: Place) -> Iterator[Emit]:
        session, number = str(row["session_id"]), str(row.get("id"))
        raw = row["message_data"]
        item = loads(raw) if isinstance(raw, str) else raw
        said = fingerprint(str(raw)) if item is None else fingerprint_of(item)
        if not self.context.claim("openai-agents-session", session, number, said.hex()):
            yield Skip("duplicate", "the same message was read before", place)
            return
        talk = self._session(session, place)
        if not talk.tell(item, At(place.at("/message_data"), row.get("created_at"))):
            yield Skip("unknown", "an item of a kind that is not known", place)
        yield from talk.dialogue.drain()

    def _session(self, session: str, place: Place) -> Talk:
        if session not in self._sessions:
            head = Trace(id=session, framework="openai-agents", observable=_OBSERVABLE)
            self._sessions[session] = Talk(Dialogue(head, At(place), stand_in=_START), _START)
        return self._sessions[session]

    def finish(self) -> Iterable[Emit]:
        for talk in self._sessions.values():
            yield from talk.dialogue.ended()


ADAPTER = _OpenaiAgentsSession()
