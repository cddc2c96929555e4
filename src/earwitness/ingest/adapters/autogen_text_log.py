"""AutoGen text logs: the loggers `autogen_core`, `autogen_agentchat.events` and `autogen_agentchat` as plain lines.

Written by `logging.basicConfig(level=DEBUG)` and the like, AutoGen 0.4 to 0.7; with or without time, logger and level
in front. `autogen_core` says what was sent, names each handler that was called, and holds the replies that the core
event log loses; `autogen_agentchat.events` holds tool calls and results of agents only; `autogen_agentchat` (the trace
logger) the ledgers of a Magentic-One orchestrator and who was chosen to speak. Contents are Python representations and
are read as data, never run. No times but those inside of messages; model calls are not in it. Lines of other loggers
are counted as unknown.

Obtained by: `logging.basicConfig(level=DEBUG)` or any handler on the two loggers.
Versions tried: autogen-core and autogen-agentchat 0.7.5.
Order: file order; times inside of messages only.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.actorlog import party
from earwitness.ingest.agentchat import Chat
from earwitness.ingest.agentmessages import is_message
from earwitness.ingest.boundary import together
from earwitness.ingest.corerun import plain_key, text_of
from earwitness.ingest.digests import Counts
from earwitness.ingest.pyrepr import read_fields, read_repr
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.shelf import Whereabouts
from earwitness.ingest.tale import USER, Tale, listed, named
from earwitness.schema.model import Delivery, Trace
from earwitness.schema.words import Channel

_SENT = re.compile(r"(?:Sending message of type (\S+) to (\S+)|Publishing message of type (\S+) to all subscribers): ")
_CALLED = re.compile(r"Calling message handler for (\S+) with message type (\S+) (sent|published) by (\S+)$")
_REPLIED = re.compile(r"Resolving response with message type (\S+) for recipient (\S+) from (\S+): ")
_PRINTED = re.compile(r"id='[^']*' source='")
_LEDGER = re.compile(r"Progress Ledger: (?=\{)|Failed to parse ledger information, retrying: ")
_STEP = re.compile(
    r"(?:Next Speaker|Selected speaker): |Model (?:selected|failed to select) |Task completed, preparing final answer"
    r"|Stall count exceeded, re-planning|Invalid ledger format encountered"
)
_CHOICE = re.compile(r"Model selected a valid name: .* \(attempt \d+\)$")
_LINES = (_SENT, _CALLED, _REPLIED, _PRINTED, _LEDGER, _CHOICE)
_PREFIX = re.compile(
    r"[^{'(=]{0,99}?\bautogen_(?:core|agentchat)(?:\.\w+)*(?::\d+)?[\s:|\]-]*"
    r"(?:(?:DEBUG|INFO|WARNING|ERROR)\b[\s:|\]-]*)?"
)
_ORCHESTRATOR = "MagenticOneOrchestrator"  # the only agent that keeps a ledger; its name is fixed
_NOBODY = "Unknown"
_START = "GroupChatStart"
_TURNS = {"ToolCallRequestEvent": True, "ToolCallExecutionEvent": False}  # whether their agents wait for results
_ALL: tuple[Channel, ...] = ("C1", "C2", "C3", "C4", "C6")
_PLAIN: tuple[Channel, ...] = ("C1", "C2")
_TOOLS: tuple[Channel, ...] = ("C3", "C4")
_THOUGHTS: tuple[Channel, ...] = ("C6",)


class _AutoGenTextLog:
    NAME = "autogen-text-log"
    READER = "autogen-text-log"
    TITLE = "AutoGen text log"

    def sniff(self, value: Any) -> bool:
        line = value.get("_line") if isinstance(value, dict) else None
        return isinstance(line, str) and (_is_said(_bare(line)) or _STEP.match(_bare(line)) is not None)

    def sniff_text(self, head: str) -> bool:
        """Whether one of the first lines is of these loggers, and not many are of the event logger."""
        lines = head.splitlines()[:40]
        events = sum('"delivery_stage"' in line or '"type": "LLMCall"' in line for line in lines)
        return events * 4 < len(lines) and any(_is_said(_bare(line)) for line in lines)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_said(line: str) -> bool:
    return any(pattern.match(line) for pattern in _LINES)


def _bare(line: str) -> str:
    """A line without what `logging` puts in front of a message."""
    found = None if _is_said(line) else _PREFIX.match(line)
    return line[found.end() :] if found else line


@dataclass
class _Sent:
    """A message on its way; its sender by the whole id, for managers of teams have one name."""

    kind: str
    to: str | None
    body: dict[str, Any]
    place: Place
    ids: list[str] = field(default_factory=list)
    heard: set[str] = field(default_factory=set)
    sender: str | None = None


class _Reader:
    """All text logs of an import: what other files tell better must be known first."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.logs: dict[int, _Log] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        source = record.place.source
        if source not in self.logs:
            self.logs[source] = _Log(self.context, self.context.stem)
        yield from self.logs[source].feed(record)

    def finish(self) -> Iterable[Emit]:
        for log in self.logs.values():
            yield from together(log.finish(), log.places)
        self.logs.clear()


class _Log:
    def __init__(self, context: Context, stem: str) -> None:
        self.context, self.stem = context, stem
        self.chat: Chat | None = None
        self.printed: list[tuple[dict[str, Any], Place]] = []
        self.sent: dict[tuple[str, str | None], list[_Sent]] = {}
        self.next: dict[tuple[str, str | None, str, str | None], int] = {}
        self.heard: dict[str, dict[str, None]] = {}
        self.counts = Counts()
        self.unread: list[Place] = []
        self.places = Whereabouts()
        self.core = False
        self.ended = False
        self.ledgers = 0
        self.starter: str | None = None
        self.busy: set[str] = set()
        self.kept: list[tuple[str, str]] = []

    def feed(self, record: Record) -> Iterable[Emit]:
        """Take a line."""
        line, place = _bare(record.value["_line"]), record.place
        self.places.append(place)
        ledger = _LEDGER.match(line)
        if ledger:
            self._think(line[ledger.end() :], place)
        elif _PRINTED.match(line):
            yield from self._print(line, place)
        elif _STEP.match(line):
            yield Skip("ignored", "a step of the team, or its choice of a speaker", place)
        elif _is_said(line):
            yield from self._pass(line, place)
        else:
            yield Skip("unknown", "a line of another logger", place)

    def _print(self, line: str, place: Place) -> Iterable[Emit]:
        message = read_fields(line)
        if message is not None and is_message(message):
            self.printed.append((message, place))
        else:
            yield from self._unread(place)

    def _pass(self, line: str, place: Place) -> Iterable[Emit]:
        """A line of the runtime: something was sent, arrived, or was answered."""
        self.core = True
        called, replied = _CALLED.match(line), _REPLIED.match(line)
        if called:
            self._arrived(*called.groups())
            return
        found = replied or _SENT.match(line)
        body = read_repr(line[found.end() :]) if found else None
        if replied and replied[1] == "NoneType":
            yield Skip("ignored", "reply without a content", place)
        elif not isinstance(body, dict) or found is None:
            yield from self._unread(place)
        elif replied:
            self._reply(replied[2], replied[3], body, place)
        else:
            yield from self._send(found[1] or found[3], found[2], body, place)

    def _think(self, ledger: str, place: Place) -> None:
        """What an orchestrator thinks of the progress; that it chose a speaker does not show what that one heard."""
        tale, text = self._open(None, place).tale, ledger.strip()
        self.ledgers += 1
        key = f"ledger:{self.ledgers}"

        def tell() -> None:
            sender = tale.actor(_ORCHESTRATOR, evidence="channel")
            tale.event(place, "C6", text, key=key, kind="ledger", sender=sender)

        self._open(None, place).aside(tell)

    def _unread(self, place: Place) -> Iterable[Emit]:
        self.unread.append(place)
        yield Skip("unparseable", "a content that is no Python representation as known", place)

    def _open(self, first: str | None, place: Place) -> Chat:
        if self.chat is None:
            key = first or self.stem
            self.chat = Chat(Tale(Trace(id=f"autogen-{key}", framework="autogen"), place))
            self.chat.grade = "declared"  # a line for each handler that was called
            self.chat.audience = lambda m: tuple(self.heard.get(str(m.get("id")), ()))
        return self.chat

    def _take(self, message: dict[str, Any], place: Place) -> bool:
        key = str(message.get("id"))
        chat = self._open(key if self.core else None, place)
        if message["type"] in _TURNS:
            (self.busy.add if _TURNS[message["type"]] else self.busy.discard)(message["source"])
        return key not in chat.ids and self.context.claim("autogen-message", key) and chat.take(message, place)

    def _send(self, kind: str, to: str | None, body: dict[str, Any], place: Place) -> Iterable[Emit]:
        """Messages of teams go to the chat; who gets them is told by the handlers that follow."""
        if kind == "GroupChatTermination":
            self.ended = True
            yield Skip("ignored", "end of the chat", place)
            return
        sent = _Sent(kind, None if to is None else _name(to), body, place)
        sent.sender = self.starter if kind == _START and to is None else None
        response, result = body.get("response"), body.get("result")
        messages = [*listed(body.get("messages")), body.get("message")]
        if isinstance(response, dict):
            messages += [*listed(response.get("inner_messages")), response.get("chat_message")]
            sent.ids = [_id(response.get("chat_message"))]
        elif isinstance(result, dict):
            messages += listed(result.get("messages"))
            sent.ids = [_id(m) for m in messages]
        elif kind == _START:
            sent.ids = [_id(m) for m in messages]
        known = [m for m in messages if is_message(m)]
        fresh = [m for m in known if self._take(m, place)]
        self.sent.setdefault((kind, sent.to), []).append(sent)
        self.ended = self.ended and not fresh  # a nested team ended, and the one around it went on
        if known and not fresh and not sent.ids:
            yield Skip("duplicate", "a message that was published before", place)
        elif kind.startswith("GroupChat") and not known:
            yield Skip("ignored", "request to speak", place)
        elif not known:
            self._plain(sent)

    def _arrived(self, to: str, kind: str, how: str, by: str) -> None:
        """A handler was called: the oldest message of the type that it was not yet called for."""
        name, sender = _name(to), None if by == _NOBODY else by
        if kind == _START and how == "sent":
            self.starter = to  # who passes it on to its team
        to_whom = None if how == "published" else name
        waiting, turn = self.sent.get((kind, to_whom), []), (kind, to_whom, name, sender)
        for n in range(self.next.get(turn, 0), len(waiting)):
            sent = waiting[n]
            if name not in sent.heard and (sent.sender or sender) == sender:
                self.next[turn] = n + 1
                sent.heard.add(name)
                sent.sender = sender
                for key in sent.ids if how == "published" else ():
                    self.heard.setdefault(key, {})[name] = None
                self._keep(sent)
                return

    def _keep(self, sent: _Sent) -> None:
        """An agent passes on what the members of a team of its own say; what a tool's run said is in its result."""
        message, by = sent.body.get("message"), _name(sent.sender or "")
        if sent.kind != "GroupChatMessage" or not isinstance(message, dict) or by in self.busy:
            return
        if is_message(message) and message["source"] not in (by, USER):
            self.kept.append((_id(message), by))

    def _plain(self, sent: _Sent) -> None:
        """A message of the user's own type."""
        chat, text = self._open(None, sent.place), text_of(sent.body)

        def tell() -> None:
            tale, hearers = chat.tale, sorted(sent.heard)
            if sent.sender is None:
                for name in hearers or (None,):
                    tale.sighting(sent.place, text, tale.actor(name), "initial")
                return
            sender = _name(sent.sender)
            key = plain_key(self.counts, sender, sent.to, text)
            kind, sender = "message" if sent.to else "publication", tale.actor(sender) or sender
            event = tale.event(sent.place, "C2", text, key=key, kind=kind, sender=sender)
            event.reach([tale.actor(name) or name for name in hearers], "declared")

        chat.aside(tell)

    def _reply(self, to: str, by: str, body: dict[str, Any], place: Place) -> None:
        """A reply to whoever asked; outside of the runtime that is the user's program."""
        chat, text = self._open(None, place), text_of(body)
        hearer = party(to)
        sender = _name(by)

        def tell() -> None:
            tale = chat.tale
            name = tale.actor(hearer.name) if hearer else tale.actor(USER, "user", "structural")
            key = plain_key(self.counts, sender, f"{to}:reply", text)
            to_whom = Delivery(name or USER, "declared" if hearer else "structural")
            kind, who = "answer" if hearer else "final", tale.actor(named(sender))
            tale.event(place, "C2" if hearer else "C1", text, key=key, kind=kind, sender=who, to=(to_whom,))

        chat.aside(tell)

    def finish(self) -> Iterable[Emit]:
        """Tell the log."""
        for message, where in self.printed:
            if not self._take(message, where):
                yield Skip("duplicate", "the same message was read before", where)
        if self.chat is None or not (self.chat.messages or self.chat.asides):
            return
        self._forget_managers(self.chat)
        for where in self.unread:
            self.chat.tale.lose("content_missing", None, "a line whose content cannot be read", where)
        chats = any(not m["type"].startswith("ToolCall") for m, _ in self.chat.messages)
        self.chat.tale.observe(*self._observable(chats=chats))
        self.chat.tell()
        if self.ended:
            self.chat.close()
        elif chats:
            self.chat.tale.lose("content_missing", "C1", "the log ends before the team does", self.chat.tale.place)
        yield from self.chat.tale.items()

    def _observable(self, *, chats: bool) -> tuple[Channel, ...]:
        """What the loggers show that wrote into this file."""
        if chats:
            return _ALL
        plain, tools = _PLAIN if self.core else (), _TOOLS if self.printed else ()
        return (*plain, *tools, *(_THOUGHTS if self.ledgers else ()))

    def _forget_managers(self, chat: Chat) -> None:
        """A manager that never spoke only passes on; an agent that speaks for a team of its own has what that says."""
        speakers = {m["source"] for m, _ in chat.messages}
        for key, by in self.kept:
            if by in speakers and key in self.heard:
                self.heard[key][by] = None
        for names in self.heard.values():
            for name in [n for n in names if n.endswith("Manager") and n not in speakers]:
                names.pop(name)


def _name(raw: str) -> str:
    """The name in an id, with or without a key behind it."""
    who = party(raw.partition("/")[0] + "/")
    return who.name if who else raw


def _id(message: Any) -> str:
    return str(message.get("id")) if isinstance(message, dict) else ""


ADAPTER = _AutoGenTextLog()
