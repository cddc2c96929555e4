"""Gemini CLI sessions: a record a message, with the tools it called, and the files of sub-agents.

Gemini CLI writes `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, and for each sub-agent
`<session>/<id>.jsonl` beside it; older versions write one JSON value a session. A message is written again as it grows:
the last one counts. Import the folder: a session and the sub-agents that its calls name become one trace. Files that
were written are artifacts, notes for later sessions and to-do lists are memory.

The format cannot show system prompts and context files, nor how files looked that were changed in part.

Obtained by: the folder `~/.gemini/tmp/<project>/chats`.
Versions tried: the writer of @google/gemini-cli-core 0.61.0, in its source.
Order: file order, with times.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.boundary import together
from earwitness.ingest.chronicle import name_of, run_name, text_of
from earwitness.ingest.dialogue import USER, At, Dialogue
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.shelf import Shelf
from earwitness.schema.model import Delivery, Trace
from earwitness.schema.words import ActorKind, Channel, Flag

_KINDS = ("user", "gemini", "info", "error", "warning")
_KEYS = frozenset(("id", "timestamp", "type", "content", "displayContent", "toolCalls", "thoughts", "tokens", "model"))
_MAIN = "main"
# States of a call that was not made yet, and how the program begins what it answers for one that it did not make.
_WAITING = ("validating", "scheduled", "awaiting_approval")
_UNMADE = re.compile(
    r"\[Operation Cancelled\] Reason: |Tool execution (?:for \"[^\"]*\" )?denied by policy|Tool \"[^\"]*\" not found"
)
_UNWRITTEN: tuple[Flag, ...] = ("not_delivered",)
# Tools whose words go elsewhere than to a tool.
_STORES: dict[str, tuple[Channel, ActorKind, str]] = {
    "write_file": ("C7", "artifact_store", "files"),
    "replace": ("C7", "artifact_store", "files"),
    "save_memory": ("C5", "memory", "memory"),
    "write_todos": ("C5", "memory", "plan"),
    "ask_user": ("C1", "user", USER),
}


@dataclass(eq=False)
class _Session:
    """The messages of one file; of each the last that was written, as they lie on the shelf."""

    id: str
    place: Place
    start: Any = None
    messages: dict[str, tuple[tuple[int, int], Place]] = field(default_factory=dict)


class _GeminiCli:
    NAME = "gemini-cli"
    TITLE = "Gemini CLI session"
    READER = "gemini-cli"
    PRIORITY = 60

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if "projectHash" in value:
            return isinstance(value.get("sessionId"), str)
        if "$set" in value or "$rewindTo" in value:
            return len(value) == 1
        known = value.get("type") in _KINDS and isinstance(value.get("id"), str) and "content" in value
        return known and isinstance(value.get("timestamp"), str) and value.keys() <= _KEYS

    def split(self, record: Record) -> Iterator[Record]:
        """A session's head and its messages."""
        value, place = record
        inner, at = (value["$set"], "/$set") if isinstance(value.get("$set"), dict) else (value, "")
        if "projectHash" in value or at or "$rewindTo" in value:
            yield Record({"head": inner}, place)
        else:
            yield record
        listed = inner.get("messages")
        for n, message in enumerate(listed if isinstance(listed, list) else ()):
            yield Record(message if isinstance(message, dict) else {}, place.at(f"{at}/messages/{n}"))

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.shelf = Shelf()
        self.sessions: dict[str, _Session] = {}
        self.by_source: dict[int, _Session] = {}

    def feed(self, record: Record) -> Iterator[Emit]:
        """Keep a message for its session."""
        value, place = record
        if "head" in value:
            self._head(value["head"], place)
            yield Skip("ignored", "the head of a session, or a note about it", place)
            return
        if not isinstance(value.get("id"), str):
            yield Skip("unparseable", "a message without an id", place)
            return
        session = self.by_source.get(place.source) or self._open(run_name(self.context), place)
        before = session.messages.get(value["id"])
        session.messages[value["id"]] = self.shelf.put(value), place
        if before:
            yield Skip("duplicate", "a message that was written again", before[1])

    def _head(self, head: dict[str, Any], place: Place) -> None:
        if "projectHash" in head:
            session = self._open(head["sessionId"], place)
            session.start = session.start or head.get("startTime")

    def _open(self, name: str, place: Place) -> _Session:
        session = self.sessions.setdefault(name, _Session(name, place))
        self.by_source[place.source] = session
        return session

    def finish(self) -> Iterator[Emit]:
        """Sessions with those of the sub-agents that they called."""
        called = {str(call.get("agentId")) for s in self.sessions.values() for call in self._calls(s)}
        for session in [s for name, s in self.sessions.items() if name not in called]:
            yield from together(self._told(session), self._places(session))
        self.shelf.close()

    def _read(self, session: _Session) -> Iterator[tuple[dict[str, Any], Place]]:
        return ((self.shelf.get(key), place) for key, place in session.messages.values())

    def _calls(self, session: _Session) -> Iterator[dict[str, Any]]:
        return (call for message, _ in self._read(session) for _, call in _calls_of(message))

    def _places(self, session: _Session) -> Iterable[Place]:
        below = (self.sessions.get(str(call.get("agentId"))) for call in self._calls(session))
        return [place for s in (session, *filter(None, below)) for _, place in s.messages.values()]

    def _told(self, session: _Session) -> Iterator[Emit]:
        trace = Trace(id=session.id, framework="gemini-cli", started_at=session.start)
        dialogue = Dialogue(trace, At(session.place))
        self._tell(dialogue, session, _MAIN)
        yield from dialogue.finish()

    def _tell(self, dialogue: Dialogue, session: _Session, agent: str) -> None:
        for message, place in self._read(session):
            at, text = At(place.at("/content"), message.get("timestamp")), _text(message.get("content"))
            if message["type"] == "user" and agent == _MAIN:
                dialogue.request(text, at)
            elif message["type"] == "user":
                dialogue.sighting(agent, text, "input", at)
            elif message["type"] != "gemini":
                dialogue.event("C6", text, at, kind=message["type"], remember=False)  # beside what is said
            else:
                self._said(dialogue, agent, message, place)

    def _said(self, dialogue: Dialogue, agent: str, message: dict[str, Any], place: Place) -> None:
        time = message.get("timestamp")
        for n, thought in enumerate(message.get("thoughts") or ()):
            words = (text_of(thought.get(key)) for key in ("subject", "description"))
            dialogue.think(agent, "\n".join(filter(None, words)), At(place.at(f"/thoughts/{n}"), time))
        dialogue.say(agent, _text(message.get("content")), At(place.at("/content"), time), id=message["id"])
        for n, call in _calls_of(message):
            self._call(dialogue, agent, call, At(place.at(f"/toolCalls/{n}"), call.get("timestamp") or time))

    def _call(self, dialogue: Dialogue, agent: str, call: dict[str, Any], at: At) -> None:
        """A call, the work of the sub-agent behind it, and what came back."""
        name, given, back = name_of(call.get("name")), text_of(call.get("args")), _text(call.get("result"))
        call_id, state = text_of(call.get("id")), call.get("status")
        denied = state != "success" and _UNMADE.match(back) is not None
        if name in _STORES:
            self._store(dialogue, agent, call, at, made=state == "success")
        else:
            dialogue.call(agent, name, given, at, call_id, hold=True)
        child = self.sessions.get(str(call.get("agentId")))
        if called := _agent_of(call):
            dialogue.delegate(call_id, called, "declared", at.place)
        if child and called:
            self._tell(dialogue, child, called)
        if state in _WAITING:
            dialogue.pause(call_id)
        elif state == "error" or back or name not in _STORES:
            flags: tuple[Flag, ...] = ("failed",) if state in ("error", "cancelled") and not denied else ()
            dialogue.result(call_id, back, at, agent=agent, tool=name, flags=flags, denied=denied)

    def _store(self, dialogue: Dialogue, agent: str, call: dict[str, Any], at: At, *, made: bool) -> None:
        channel, kind, store = _STORES[call["name"]]
        dialogue.settle(final=False, next_agent=agent)
        dialogue.acts(agent, at.place)
        dialogue.actor(store, kind, "declared", at.place)
        to, flags = (Delivery(store, delivered=made),), _UNWRITTEN if not made else ()
        dialogue.event(channel, text_of(call.get("args")), at, kind=call["name"], sender=agent, to=to, flags=flags)


def _calls_of(message: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    calls = message.get("toolCalls")
    return ((n, c) for n, c in enumerate(calls if isinstance(calls, list) else ()) if isinstance(c, dict))


def _agent_of(call: dict[str, Any]) -> str | None:
    """The sub-agent behind a call."""
    shown = call.get("resultDisplay")
    named = name_of(shown.get("agentName")) if isinstance(shown, dict) else None
    return (named or name_of(call.get("name"))) if name_of(call.get("agentId")) else None


def _text(content: Any) -> str:
    """The words of a text, a part, or a list of them."""
    parts = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, map(_part, parts)))


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return text_of(part)
    answer = part.get("functionResponse")
    if isinstance(answer, dict) and isinstance(answer.get("response"), dict):
        said = answer["response"]
        return text_of(next((said[k] for k in ("output", "error") if k in said), said))
    return text_of(part["text"]) if isinstance(part.get("text"), str) else text_of(part)


ADAPTER = _GeminiCli()
