"""AutoGen core event log: one JSON line a message sent or delivered, model call and tool call.

Written by AutoGen 0.4 to 0.7 to the logger `autogen_core.events`; a user attaches a handler that writes
`record.getMessage()`. One run is spread over many ids: the team's id inside of agent and topic names, and the ids of
the messages that nested teams pass on, join it. Who heard a message to a team is known: the members of the team are
named in the log, but those that are never asked to speak (a loss). Lost for good: replies of plain agents, which the
runtime could not serialise (a loss each; what a team's members answer its runtime holds nothing), why a team stopped,
times other than those inside of messages, recipients of plain publications, and all model calls of clients that do not
log.

Obtained by: a handler on the logger `autogen_core.events`.
Versions tried: autogen-core 0.7.5.
Order: file order; times inside of messages only.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

from earwitness.ingest.actorlog import Party, is_call, is_delivery, of_kernel, party, payload, stage
from earwitness.ingest.agentchat import Chat
from earwitness.ingest.agentmessages import Message, is_message, is_spoken
from earwitness.ingest.boundary import together
from earwitness.ingest.coreasides import tell_asides
from earwitness.ingest.corerun import CoreRun, answer_of, digest, results_in, text_of, words
from earwitness.ingest.digests import Counts
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.shelf import Row, Shelf
from earwitness.ingest.spans.texts import as_text, fingerprint_of
from earwitness.ingest.tale import USER, Tale, listed, named, said
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel, SightingKind

# Memories are only queried, and seldom.
_NAMED = "autogen-"
_OBSERVABLE: tuple[Channel, ...] = ("C1", "C2", "C3", "C4", "C6")


class _AutoGenCoreLog:
    NAME = "autogen-core-log"
    TITLE = "AutoGen core event log"

    def sniff(self, value: Any) -> bool:
        return (is_delivery(value) or is_call(value)) and not of_kernel(value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.runs: dict[str, CoreRun] = {}
        self.teams: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.tasks: dict[str, str] = {}  # runs in which tools work on tasks
        self.count = 0
        self.counts = Counts()
        self.shelf = Shelf()

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        self.count += 1
        if is_delivery(value):
            yield from self._message(value, place)
        elif value["type"] == "ToolCall":
            self._tool(value, place)
        elif value["type"] == "MessageHandlerException":
            self._trouble(value, place)
        elif value["type"] == "MessageDropped":
            run = self._run(party(value.get("receiver")) or party(value.get("sender")), place)
            run.chat.tale.lose("dropped", "C2", "message dropped by the runtime", place)
        else:
            self._model(value, place)

    def _message(self, value: dict[str, Any], place: Place) -> Iterable[Emit]:
        kind, at = stage(value)
        sender, receiver, body = party(value.get("sender")), party(value.get("receiver")), payload(value)
        run = self._run_of(sender, receiver, body, place)
        run.talks = True
        for who in (sender, receiver):
            run.seat(who)
        if at == "DELIVER":
            run.arrived.add(_arrival(value, str(value.get("receiver"))))
            if kind == "PUBLISH" and sender and sender.team and isinstance(body, dict) and "messages" in body:
                run.count_start(sender.team, told=True)
        elif body is None:
            yield from self._unwritten(run, kind, sender, receiver, place)
        elif body == {}:
            yield Skip("ignored", "request to speak or to reset", place)
        elif isinstance(body, dict) and self._of_team(run, body, sender, receiver, place):
            return
        elif isinstance(body, dict) and is_message(body.get("message")):
            yield Skip("duplicate", "a message that was published before", place)
        else:
            self._plain(run, value, body, place)

    def _unwritten(
        self, run: CoreRun, kind: str, sender: Party | None, to: Party | None, place: Place
    ) -> Iterable[Emit]:
        """What the log could not write is lost, but for what holds no words of agents.

        Members of a team answer the requests of its runtime with nothing; its manager's last words are why it stopped.
        """
        if kind == "RESPOND" and to is None and sender and sender.team and sender.team == sender.key:
            yield Skip("ignored", "acknowledgement of a request to a team, which holds nothing", place)
            return
        outward = to is not None and to.name == "output_topic"
        if to and outward:
            run.ended |= to.team == run.team
        if outward and sender and sender.name == run.managers.get(sender.team or "", sender.name):
            return
        channel: Channel = "C1" if to is None or outward else "C2"
        run.chat.tale.lose("content_missing", channel, f"{kind.lower()} that the log could not write", place)

    def _of_team(
        self, run: CoreRun, body: dict[str, Any], sender: Party | None, to: Party | None, place: Place
    ) -> bool:
        """Messages of a group chat; False where this is none, or one that says nothing new."""
        by = sender.name if sender else ""
        if isinstance(body.get("messages"), list) and to and to.team:
            self._start(run, [m for m in body["messages"] if is_message(m)], by, to, place)
        elif is_message(body.get("message")):
            return self._take(run, body["message"], place) or self._kept(run, body["message"], by, to, place)
        elif isinstance(body.get("response"), dict) and to and to.team:
            answer = body["response"]
            for message in [*listed(answer.get("inner_messages")), answer.get("chat_message")]:
                self._take(run, message, place)
            self._address(run, [answer.get("chat_message")], to.team, by)
        elif isinstance(body.get("result"), dict) and to and to.team:
            spoken = [m for m in listed(body["result"].get("messages")) if is_message(m) and m["source"] != USER]
            for message in spoken:
                self._take(run, message, place)
            self._address(run, spoken, to.team, by)
        else:
            return False
        return True

    def _start(self, run: CoreRun, messages: list[Message], by: str, to: Party, place: Place) -> None:
        if not by and to.team:
            run.managers[to.team] = to.name
            run.team = run.team or to.team
        fresh = [m for m in messages if self._take(run, m, place) or self.ids.get(str(m.get("id"))) == to.team]
        if to.name == "group_topic" and to.team:
            run.count_start(to.team, told=False)
            self._address(run, fresh, to.team, by)
            known = [m for m in messages if m not in fresh]
            run.aside("overheard", (known, to.team, by), place)

    def _kept(self, run: CoreRun, message: Message, by: str, to: Party | None, place: Place) -> bool:
        """An agent passes on what others said inside of it; what a tool's run said is in the result of the tool."""
        inside = by and to and to.name == "output_topic" and message["source"] not in (by, USER)
        if inside and is_spoken(message["type"]) and message.get("id") and not run.is_busy(by):
            run.aside("kept", (str(message["id"]), by), place)
        return False

    def _address(self, run: CoreRun, messages: list[Any], team: str, by: str) -> None:
        for message in messages:
            if is_message(message) and is_spoken(message["type"]) and message.get("id"):
                groups = run.groups.setdefault(str(message["id"]), [])
                if (team, by) not in groups:
                    groups.append((team, by))

    def _take(self, run: CoreRun, message: Any, place: Place) -> bool:
        if not is_message(message):
            return False
        key = message.get("id")
        if key is None:  # before 0.6.2: the same message comes again and again
            message = {**message, "id": f"h{fingerprint_of(message).hex()[:16]}"}
        if str(message["id"]) in run.chat.ids:
            return False
        if key and not self.context.claim("autogen-message", str(key)):
            run.results.fresh(results_in(message))  # told from another file
            return False
        run.thinkers.add(message["source"])
        given, done = run.note(message)
        self.tasks |= dict.fromkeys(given, run.chat.tale.trace.id.removeprefix(_NAMED))
        for task in done:
            self.tasks.pop(task, None)
        return run.chat.take(message, place.at("/payload"))

    def _plain(self, run: CoreRun, value: dict[str, Any], body: Any, place: Place) -> None:
        """A message of the user's own type, to one agent or to a topic."""
        sender, receiver, topic = party(value.get("sender")), party(value.get("receiver")), stage(value)[0] == "PUBLISH"
        arrival = _arrival(value, "None" if topic else str(value.get("receiver")))
        names = sender and sender.name, None if topic or receiver is None else receiver.name
        run.aside("plain", (text_of(body), *names, topic, arrival), place.at("/payload"))

    def _tool(self, value: dict[str, Any], place: Place) -> None:
        who = party(value.get("agent_id"))
        given, result = as_text(value.get("arguments")), said(value.get("result"))
        told = f"call{self.count}", named(value.get("tool_name")), who and who.name, given, result
        self._run(who, place).aside("tool", told, place)

    def _model(self, value: dict[str, Any], place: Place) -> None:
        """What a model was shown, told of the agent only where the system message is the agent's own.

        An agent that is used as a tool runs under the id of the agent that called it.
        """
        raw, who = str(value.get("agent_id")), party(value.get("agent_id"))
        run = self._run(who, place)
        messages = [m for m in listed(value.get("messages")) if isinstance(m, dict)]
        system = next((words(m) for m in messages if m.get("role") in ("system", "developer")), None)
        own = who is not None and (not messages or run.systems.setdefault(raw, system) == system)
        actor = who.name if who and own else None
        run.thinkers.add(actor or "")
        for n, message in enumerate(messages):
            if message.get("role") != "assistant":
                kind: SightingKind = "initial" if message.get("role") in ("system", "developer") else "input"
                self._shown(run, actor, kind, words(message), place.at(f"/messages/{n}"))
        answer = answer_of(value.get("response"))
        if answer:
            run.aside("answer", (f"answer{self.count}", answer, actor), place.at("/response"))

    def _shown(self, run: CoreRun, actor: str | None, kind: SightingKind, text: str | None, place: Place) -> None:
        if text is not None and run.shown.add(digest(actor or "", kind, text)):
            run.aside("shown", (text, actor, kind), place)

    def _trouble(self, value: dict[str, Any], place: Place) -> None:
        who = party(value.get("handling_agent"))
        run, text = self._run(who, place), said(value.get("exception"))
        run.chat.tale.lose("failed_call", None, "message handler failed", place)
        if text is not None:
            run.aside("error", (f"error{self.count}", text, who and who.name), place)

    def _run_of(self, sender: Party | None, receiver: Party | None, body: Any, place: Place) -> CoreRun:
        """A run begins where a team is started; a nested team is started with messages of the run it is part of."""
        if receiver and receiver.team and receiver.team not in self.teams and isinstance(body, dict):
            given = [m for m in listed(body.get("messages")) if is_message(m) and m.get("id")]
            keys = [str(m["id"]) for m in given]
            if keys:
                self.teams[receiver.team] = next((self.ids[k] for k in keys if k in self.ids), self._around(given))
                self.ids |= dict.fromkeys(keys, self.teams[receiver.team])
        run = self._run(sender if sender and sender.team else receiver or sender, place)
        if isinstance(body, dict) and is_message(body.get("message")) and sender and sender.team:
            self.ids[str(body["message"].get("id"))] = self.teams.get(sender.team, sender.team)
        return run

    def _around(self, given: list[Message]) -> str:
        """The run in which a team is used as a tool, or a new one."""
        tasks = (said(m.get("content")) for m in given if m["source"] == USER)
        return next((self.tasks[task] for task in tasks if task in self.tasks), str(given[0]["id"]))

    def _run(self, who: Party | None, place: Place) -> CoreRun:
        stem = self.context.stem
        if who and who.team:
            key = self.teams.setdefault(who.team, f"team-{who.team}")
        else:
            key = f"{stem}/{who.key}" if who and who.key != "default" else stem
        if key not in self.runs:
            trace = Trace(id=_NAMED + key, framework="autogen", observable=_OBSERVABLE)
            chat = Chat(Tale(trace, place), messages=Row(self.shelf))
            run = self.runs[key] = CoreRun(chat, Row(self.shelf), self.counts)
            chat.audience, chat.beside = run.audience, partial(tell_asides, run)
        return self.runs[key]

    def finish(self) -> Iterable[Emit]:
        with closing(self.shelf):
            for key in list(self.runs):
                run = self.runs.pop(key)
                yield from together(_told(run), run.places())
                yield from (Skip("duplicate", "a tool call that a message tells", place) for place in run.repeats)
                run.let_go()


def _told(run: CoreRun) -> Iterator[Emit]:
    run.tell()
    yield from run.chat.tale.items()


def _arrival(value: dict[str, Any], receiver: str) -> bytes:
    """Deliveries do not say which sending they are of; the payload must."""
    return digest(str(value.get("sender")), receiver, fingerprint_of(value["payload"]))


ADAPTER = _AutoGenCoreLog()
