"""All transcripts of an import: sessions are told once their last file was read."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from earwitness.ingest.boundary import singly, together
from earwitness.ingest.chronicle import base_name, text_of
from earwitness.ingest.claude_code.entries import (
    agent_of_file,
    content_of,
    fingerprint,
    kept_of,
    session_of,
    session_of_file,
    uuid_of,
)
from earwitness.ingest.claude_code.session import Session
from earwitness.ingest.claude_code.telling import tell
from earwitness.ingest.frames import Told
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.runlog import ToldLog
from earwitness.ingest.shelf import Integers, Tape

_NAME = "claude-code"
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
        self._log = ToldLog(self._told, context.jobs)  # of what `Session.take` takes
        # Of each line the hashes of its id and of its session: what summaries name is looked up once, at the end.
        self._homes = Integers()
        self._loose = Tape[tuple[str, str, Place]]()

    def feed(self, record: Record) -> tuple[Emit, ...]:
        """Keep a line for its session."""
        line, place = record
        kind = line.get("type")
        if kind in _MESSAGES:
            return self._message(line, place)
        if kind == "summary" and "leafUuid" in line:
            text = text_of(line.get("summary"))
            self._loose.append((str(line["leafUuid"]), text, place), len(text))
        elif kind == "answer":
            self._aside(str(line["sessionId"]), kind, line["result"], place.at("/result"))
        elif kind == "attachment":
            self._attachment(line, place)
        elif kind in ("started", "result") or "toolUseId" in line:
            self._about_agent(line, place)
        else:
            reason = f"bookkeeping line of type {kind}" if kind in IGNORED else "a line of a type that is not read"
            return (Skip("ignored" if kind in IGNORED else "unknown", reason, place),)
        return ()

    def finish(self) -> Iterable[Emit]:
        """Every session, in the order of their first lines."""
        yield from self._summaries()
        yield from self._log.told()

    def _told(self, session: str) -> Told:
        return Told(together(self._tell(session), self._log.places(session)), {})

    def _tell(self, name: str) -> Iterator[Emit]:
        session = Session(name)
        yield from singly(session.take, self._log.of(name), _NAME)
        yield from tell(session)

    def _message(self, line: dict[str, Any], place: Place) -> tuple[Emit, ...]:
        uuid, content = uuid_of(line), content_of(line)
        if content is None:
            reason = "a system line without content" if line.get("type") == "system" else "a message without content"
            return (Skip("ignored" if line.get("type") == "system" else "unparseable", reason, place),)
        if uuid and not self.context.claim(_NAME, uuid, fingerprint(line)):
            return (Skip("duplicate", "the same line was read before", place),)
        file = self.context.name
        session = session_of(line, file)
        self._log.add(session, ("line", *kept_of(line, content, file)), place)
        self._homes.extend((hash(uuid), hash(session)))
        return ()

    def _attachment(self, line: dict[str, Any], place: Place) -> None:
        agent = line.get("agentId") if line.get("isSidechain") else None
        session, text = str(line.get("sessionId")), text_of(line.get("attachment"))
        self._aside(session, "attachment", text, place.at("/attachment"), agent, line.get("timestamp"))

    def _about_agent(self, line: dict[str, Any], place: Place) -> None:
        """A line of a workflow journal, or the file that says which call made a sub-agent."""
        name = self.context.name
        session = session_of_file(name) or base_name(name)
        agent = line.get("agentId") or agent_of_file(name)
        if agent and "toolUseId" in line:
            made = str(agent), str(line["toolUseId"]), str(line.get("agentType") or "")
            self._log.add(session, ("maker", *made), place)
        elif agent:
            self._aside(session, str(line["type"]), text_of(line.get("result")), place, str(agent))

    def _aside(
        self, session: str, kind: str, text: str, place: Place, agent: Any = None, time: str | None = None
    ) -> None:
        self._log.add(session, (kind, text, agent, time), place)

    def _summaries(self) -> Iterator[Emit]:
        """A summary names the last line it sums up, not the session."""
        homes = self._homes_of({hash(leaf) for leaf, _, _ in self._loose})
        for leaf, text, place in self._loose:
            if hash(leaf) in homes:
                self._aside(homes[hash(leaf)], "summary", text, place)
            else:
                yield Skip("ignored", "summary of a session that was not read", place)

    def _homes_of(self, leaves: set[int]) -> dict[int, str]:
        """Of lines the sessions in which they stood first."""
        names = {hash(name): name for name in self._log.names()} if leaves else {}
        wanted, found = np.array(list(leaves), np.int64), dict[int, str]()
        for block in self._homes.blocks() if leaves else ():
            rows = np.array(block).reshape(-1, 2)
            for line, session in rows[np.isin(rows[:, 0], wanted)].tolist():
                found.setdefault(line, names[session])
        return found
