"""All transcripts of an import: sessions are told once their last file was read."""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.boundary import together
from earwitness.ingest.chronicle import base_name, text_of
from earwitness.ingest.claude_code.entries import (
    agent_of_file,
    entry_of,
    fingerprint,
    has_message,
    session_of,
    session_of_file,
    uuid_of,
    without_bulk,
)
from earwitness.ingest.claude_code.session import Aside, Session
from earwitness.ingest.claude_code.telling import tell
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.shelf import Shelf

# Lines of the program's own bookkeeping; what they say of the talk stands in other lines.
IGNORED = frozenset(
    {
        "file-history-snapshot",
        "file-history-delta",
        "queue-operation",
        "ai-title",
        "custom-title",
        "last-prompt",
        "permission-mode",
        "mode",
        "progress",
        "agent-name",
        "agent-color",
        "pr-link",
        "tag",
    }
)
_MESSAGES = ("user", "assistant", "system")


class Reader:
    """Collects lines by session, whatever file they come from.

    Args:
        context: of the import.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.shelf = Shelf()
        self.sessions: dict[str, Session] = {}
        self.homes: dict[str, Session] = {}
        self.loose: list[tuple[str, Aside]] = []

    def feed(self, record: Record) -> Iterable[Emit]:
        """Keep a line for its session."""
        line, place = record
        kind = line.get("type")
        if kind in _MESSAGES:
            yield from self._message(line, place)
        elif kind == "summary" and "leafUuid" in line:
            self.loose.append((str(line["leafUuid"]), Aside("summary", text_of(line.get("summary")), place)))
        elif kind == "answer":
            self._session(str(line["sessionId"])).asides.append(Aside(kind, line["result"], place.at("/result")))
        elif kind == "attachment":
            self._attachment(line, place)
        elif kind in ("started", "result") or "toolUseId" in line:
            self._about_agent(line, place)
        else:
            reason = f"bookkeeping line of type {kind}" if kind in IGNORED else "a line of a type that is not read"
            yield Skip("ignored" if kind in IGNORED else "unknown", reason, place)

    def finish(self) -> Iterable[Emit]:
        """Every session, in the order of their first lines."""
        yield from self._summaries()
        self.homes.clear()  # so that a session goes as soon as it is told
        while self.sessions:
            session = self.sessions.pop(next(iter(self.sessions)))
            yield from together(self._told(session), session.places())
        self.shelf.close()

    def _told(self, session: Session) -> Iterator[Emit]:
        for key, place, file in session.shelved:
            entry = entry_of(self.shelf.get(key), place, file)
            session.entries += [entry] if entry else []
        yield from tell(session)

    def _session(self, name: str) -> Session:
        if name not in self.sessions:
            self.sessions[name] = Session(name)
        return self.sessions[name]

    def _message(self, line: dict[str, Any], place: Place) -> Iterator[Emit]:
        uuid, mark = uuid_of(line), fingerprint(line)
        if not has_message(line):
            reason = "a system line without content" if line.get("type") == "system" else "a message without content"
            yield Skip("ignored" if line.get("type") == "system" else "unparseable", reason, place)
        elif uuid and not self.context.claim("claude-code", uuid, mark):
            yield Skip("duplicate", "the same line was read before", place)
        else:
            session = self._session(session_of(line, self.context.name))
            session.shelved.add(self.shelf.put(without_bulk(line)), place, self.context.name)
            if "madeBy" in line:
                session.made_by[line["agentId"]] = line["madeBy"]
            self.homes.setdefault(uuid, session)

    def _attachment(self, line: dict[str, Any], place: Place) -> None:
        agent = line.get("agentId") if line.get("isSidechain") else None
        aside = Aside(
            "attachment", text_of(line.get("attachment")), place.at("/attachment"), agent, line.get("timestamp")
        )
        self._session(str(line.get("sessionId"))).asides.append(aside)

    def _about_agent(self, line: dict[str, Any], place: Place) -> None:
        """A line of a workflow journal, or the file that says which call made a sub-agent."""
        name = self.context.name
        session = self._session(session_of_file(name) or base_name(name))
        agent = line.get("agentId") or agent_of_file(name)
        if agent and "toolUseId" in line:
            session.made_by[str(agent)] = str(line["toolUseId"])
            session.roles[str(agent)] = str(line.get("agentType") or "")
        elif agent:
            session.asides.append(Aside(str(line["type"]), text_of(line.get("result")), place, str(agent)))

    def _summaries(self) -> Iterator[Emit]:
        """A summary names the last line it sums up, not the session."""
        for leaf, aside in self.loose:
            if leaf in self.homes:
                self.homes[leaf].asides.append(aside)
            else:
                yield Skip("ignored", "summary of a session that was not read", aside.place)
