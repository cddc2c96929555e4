"""AutoGen's agentchat messages, as they stand in streams, task results, core logs and saved states.

A message names its source and hardly ever its hearers. What a tool call was (a tool, an agent, a handoff) shows only
from what came after it, so messages are kept until the end of the run and told then.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.agentmessages import (
    CHUNK,
    ROUTING,
    Call,
    Message,
    context_of,
    handed_over,
    is_spoken,
    is_unmade,
    one_hearer,
    parts_of,
    result_of,
    snake,
)
from earwitness.ingest.digests import digest_of
from earwitness.ingest.record import Place
from earwitness.ingest.refusals import is_refusal, to_nobody
from earwitness.ingest.shelf import Row
from earwitness.ingest.spans.identity import hands_off, in_tool_name
from earwitness.ingest.tale import USER, Draft, Tale, listed, named, said
from earwitness.schema.model import Delivery
from earwitness.schema.words import Grade

_MEMORY, _EXECUTOR = "memory", "code_executor"


Audience = Callable[[Message], tuple[str, ...]]


@dataclass
class Chat:
    """The messages of one run.

    Attributes:
        tale: what is told of it.
        audience: who heard a message that was said to a team, where the recording says so.
        grade: how well the recording knows the audience.
        messages: the messages kept so far; on disk, where a log may hold any number of runs.
        ids: their numbers by their ids.
        last: what was said last outside of calls; the answer to the user, if nothing follows.
        asides: what else is to be told before the message of a number.
        beside: tells what else was kept elsewhere, up to the message of a number.
        tasks: calls whose tasks messages hold that are recorded as the user's, by the ids of those.
    """

    tale: Tale
    audience: Audience = lambda _: ()
    grade: Grade = "broadcast"
    messages: list[tuple[Message, Place]] | Row = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    last: Draft | None = None
    asides: dict[int, list[Callable[[], None]]] = field(default_factory=dict)
    beside: Callable[[int], None] = lambda _: None
    tasks: dict[str, str] = field(default_factory=dict)
    _calls: dict[str, str] = field(default_factory=dict)
    _open: list[Call] = field(default_factory=list)
    _teams: dict[str, Call] = field(default_factory=dict)  # calls that may be of teams, by their tasks
    _done: set[str] = field(default_factory=set)
    _inside: set[str] = field(default_factory=set)  # calls of teams that are at work
    _agents: set[str] = field(default_factory=set)
    _handoffs: set[str] = field(default_factory=set)
    _requests: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)
    _missing: set[str] = field(default_factory=set)
    _ran: dict[str, str] = field(default_factory=dict)
    _said: dict[bytes, Draft] = field(default_factory=dict)

    def take(self, message: Message, place: Place) -> bool:
        """Keep a message; False says it is a copy."""
        key = str(message.get("id") or f"n{len(self.messages)}")
        if key in self.ids:
            return False
        self.ids[key] = len(self.messages)
        self.messages.append(({**message, "id": key}, place))
        return True

    def places(self) -> Iterator[Place]:
        """Where the messages stand."""
        messages = self.messages
        return iter(messages.places) if isinstance(messages, Row) else (place for _, place in messages)

    def aside(self, step: Callable[[], None]) -> None:
        """Keep something else of this point of the run that can only be told at its end."""
        self.asides.setdefault(len(self.messages), []).append(step)

    def tell(self) -> None:
        """Tell all messages, now that it is known who are agents and what came of each call."""
        self._survey()
        for n, (message, place) in enumerate(self.messages):
            self._tell_asides(n)
            self._one(message, place)
        self._tell_asides(len(self.messages))

    def close(self) -> None:
        """The run is over: what was said last is the answer to the user."""
        if self.last is not None and not self._open:
            self.last.channel = "C1"
            user = self.tale.actor(USER, "user", "structural") or USER
            if all(d.actor != user for d in self.last.to):
                self.last.to.insert(0, Delivery(user, "structural"))

    def _tell_asides(self, n: int) -> None:
        for step in self.asides.get(n, ()):
            step()
        self.beside(n)

    def _survey(self) -> None:
        results: dict[str, list[dict[str, Any]]] = {}
        code: dict[str, str] = {}
        for message, _ in self.messages:
            source, kind = named(message["source"]), message["type"]
            self._meet(source, kind)
            if kind == "ToolCallRequestEvent":
                self._requests[message["source"]] = parts_of(message)
            elif kind == "ToolCallExecutionEvent":
                results[message["source"]] = parts_of(message)
                self._note_failed(message)
            elif kind == "CodeExecutionEvent":
                self._ran[code.pop(message["source"], "")] = said(result_of(message).get("output")) or ""
            elif kind == "CodeGenerationEvent" and message.get("code_blocks"):
                code[message["source"]] = message["id"]
            elif kind == "HandoffMessage":
                self._handoffs |= handed_over(results.get(message["source"], []), message)

    def _meet(self, source: str | None, kind: str) -> None:
        if kind == "UserInputRequestedEvent":  # only agents that stand for people ask for it
            self.tale.actor(source, "user")
        elif source and source != USER and kind not in ROUTING:
            self._agents.add(source)

    def _note_failed(self, message: Message) -> None:
        """Calls that failed, and those of them that were not made at all."""
        asked = {str(part.get("id")): part.get("arguments") for part in self._requests.get(message["source"], ())}
        failed = {str(part.get("call_id")): part for part in parts_of(message) if part.get("is_error")}
        self._failed |= failed.keys()
        self._missing |= {call for call, part in failed.items() if is_unmade(part, asked.get(call))}

    def _one(self, message: Message, place: Place) -> None:
        tellers = {"MemoryQueryEvent": self._recall, CHUNK: self._unfinished}
        kind = message["type"]
        if is_spoken(kind):
            self._speak(message, place)
        elif kind in ("ToolCallRequestEvent", "ToolCallExecutionEvent"):
            step = self._ask if kind == "ToolCallRequestEvent" else self._answer
            for n, part in enumerate(parts_of(message)):
                step(part, message, place.at(f"/content/{n}"))
        elif kind not in ROUTING:
            tellers.get(kind, self._think)(message, place)

    def _speak(self, message: Message, place: Place) -> None:
        text, source = self._text(message, place), named(message["source"])
        if text is None:
            return
        if source == USER:
            self._asked(message, text, place)
            return
        spoken = self.tale.event(
            place.at("/content"),
            "C2",
            text,
            key=message["id"],
            kind="handoff" if message["type"] == "HandoffMessage" else "message",
            sender=self.tale.actor(source),
            time=message.get("created_at"),
        )
        if message["type"] == "HandoffMessage":
            self._hand_over(spoken, message, place)
        spoken.reach([self.tale.actor(name) or name for name in self.audience(message)], self.grade)
        self._pass_on(spoken, message, place)
        self._said[digest_of(text)] = spoken
        self.last = self.last if self._open or self._inside else spoken

    def _text(self, message: Message, place: Place) -> str | None:
        content = message.get("content")
        if isinstance(content, list) and message["type"] == "MultiModalMessage":
            if any(not isinstance(part, str) for part in content):
                self.tale.lose("reference", "C2", "picture in a message", place)
            content = "\n".join(part for part in content if isinstance(part, str))
        return said(content)

    def _asked(self, message: Message, text: str, place: Place) -> None:
        """The user's words; or those of an agent, which a child run records as the user's."""
        call = next((c for c in reversed(self._open) if not c.seen and c.task == text), None)
        time = message.get("created_at")
        if call:
            call.seen, self.tasks[message["id"]] = True, call.id
            self.tale.sighting(place.at("/content"), text, call.name, "input", time=time, event=call.id)
            return
        if text in self._teams and self._teams[text].id not in self._done:
            self._given(message, text, place)
            return
        self.close()  # the user goes on after an answer
        self.last = None
        hearers = self.audience(message) or self._next_speaker(message)
        for name in hearers or (None,):
            self.tale.sighting(place.at("/content"), text, self.tale.actor(name), "initial", time=time)

    def _given(self, message: Message, text: str, place: Place) -> None:
        """The words that a team which is used as a tool is given: what is said now stays inside of it."""
        call = self._teams[text]
        self._inside.add(call.id)
        self.tasks[message["id"]] = call.id
        for name in self.audience(message) or self._next_speaker(message):
            at, time = place.at("/content"), message.get("created_at")
            self.tale.sighting(at, text, self.tale.actor(name), "input", time=time, event=call.id)

    def _next_speaker(self, message: Message) -> tuple[str, ...]:
        """Who spoke first after the user did was given the words."""
        for n in range(self.ids[message["id"]] + 1, len(self.messages)):
            later, _ = self.messages[n]
            name = named(later["source"])
            if later["type"] not in ROUTING and name and name != USER:
                return (name,)
        return ()

    def _hand_over(self, spoken: Draft, message: Message, place: Place) -> None:
        target = named(message.get("target"))
        if target is None:
            return
        kind = USER if target == USER else "agent"
        spoken.reach([self.tale.actor(target, "user" if kind == USER else "agent") or target], "declared")

    def _pass_on(self, spoken: Draft, message: Message, place: Place) -> None:
        """What a handoff carries besides its text is put before every agent that gets it; a user is shown its text."""
        for n, text, key in context_of(message):
            of = key if key in self.tale.drafts else None
            for hearer in (d for d in spoken.to if d.actor != USER):
                at, when = place.at(f"/context/{n}"), message.get("created_at")
                self.tale.sighting(at, text, hearer.actor, "history", time=when, event=of)

    def _ask(self, part: dict[str, Any], message: Message, place: Place) -> None:
        call = Call(
            str(part.get("id") or f"{message['id']}:{part.get('name')}"),
            str(part.get("name")),
            named(message["source"]),
            said(part.get("arguments")) or "{}",
            place,
            message.get("created_at"),
        )
        self._calls[call.id] = call.name
        if call.id in self._handoffs:
            return
        agent = call.name in self._agents and call.name != call.caller
        if agent:
            self._open.append(call)
        elif isinstance(call.task, str):
            self._teams[call.task] = call
        idle = self._is_idle(call)
        to = one_hearer(self.tale.actor(call.name, "agent" if agent else "tool"), agent=agent)
        self.tale.event(
            place.at("/arguments"),
            "C2" if agent else "C3",
            call.arguments,
            key=call.id,
            kind="request" if agent else "tool_arguments",
            sender=self.tale.actor(call.caller),
            to=to_nobody(to) if idle else to,
            time=call.time,
            flags=("not_delivered",) if idle else (),
        )

    def _is_idle(self, call: Call) -> bool:
        """Whether nobody got a call: there is no such tool, or it asked for a handoff that did not take place, for it
        failed or control went elsewhere.
        """
        elsewhere = in_tool_name(call.name, self._agents) in self._agents - {call.caller}
        unmoved = hands_off(call.name) and (elsewhere or call.id in self._failed)
        return unmoved or call.id in self._missing

    def _answer(self, part: dict[str, Any], message: Message, place: Place) -> None:
        key, text, caller = str(part.get("call_id") or ""), said(part.get("content")), named(message["source"])
        if key in self._handoffs or text is None:
            return
        call = next((c for c in self._open if c.id == key), None)
        self._inside.discard(key)
        self._done.add(key)
        if call:
            self._open.remove(call)
            self._answer_caller(call, text, message, place)
            return
        tool = None if key in self._missing else named(part.get("name")) or self._name_of(key)
        self.tale.event(
            place.at("/content"),
            "C4",
            text,
            key=f"{key or message['id']}:result",
            kind="tool_result",
            sender=self.tale.actor(tool, "tool"),
            to=one_hearer(self.tale.actor(caller)),
            time=message.get("created_at"),
            flags=("failed",) if part.get("is_error") else (),
            parent=key or None,
        )

    def _name_of(self, key: str) -> str | None:
        return self._calls.get(key)

    def _answer_caller(self, call: Call, text: str, message: Message, place: Place) -> None:
        """What an agent used as a tool gave back: its own last words, or several messages in one text."""
        words = self._said.get(digest_of(text))
        if words is not None and words.sender == call.name:
            words.reach([call.caller] if call.caller else [], "structural")
            self.tale.sighting(place.at("/content"), text, call.caller, "result", event=words.id)
            return
        self.tale.event(
            place.at("/content"),
            "C2",
            text,
            key=f"{call.id}:result",
            kind="answer",
            sender=call.name,
            to=one_hearer(call.caller, agent=True),
            time=message.get("created_at"),
            parent=call.id,
        )

    def _recall(self, message: Message, place: Place) -> None:
        for n, found in enumerate(parts_of(message)):
            text = said(found.get("content"))
            if text is not None:
                self.tale.observe_too("C5")
                self.tale.event(
                    place.at(f"/content/{n}/content"),
                    "C5",
                    text,
                    key=f"{message['id']}:{n}",
                    kind="memory_read",
                    sender=self.tale.actor(_MEMORY, "memory", "channel"),
                    to=one_hearer(self.tale.actor(named(message["source"]))),
                    time=message.get("created_at"),
                )

    def _think(self, message: Message, place: Place) -> None:
        text, kind, source = said(message.get("content")), message["type"], self.tale.actor(named(message["source"]))
        if kind == "CodeExecutionEvent":
            text = said(result_of(message).get("output")) or text
            ran = not is_refusal(text or "")
            sender, to = self.tale.actor(_EXECUTOR, "tool", "channel") if ran else None, one_hearer(source)
        else:
            sender, to = source, ()
        if text is not None:
            channel = "C4" if kind == "CodeExecutionEvent" else "C6"
            self.tale.event(
                place.at("/content"),
                "C4" if channel == "C4" else "C6",
                text,
                key=message["id"],
                kind=snake(kind),
                sender=sender,
                to=to,
                time=message.get("created_at"),
            )
        if kind == "CodeGenerationEvent":
            self._run(message, source, place)

    def _run(self, message: Message, source: str | None, place: Place) -> None:
        """Code that was run goes to who runs it, unless somebody did not approve of it."""
        output = self._ran.get(message["id"])
        code = "\n".join(
            str(block.get("code")) for block in listed(message.get("code_blocks")) if isinstance(block, dict)
        )
        if output is None or not code.strip():
            return
        ran = not is_refusal(output)
        executor = self.tale.actor(_EXECUTOR, "tool", "channel") or _EXECUTOR
        self.tale.event(
            place.at("/code_blocks"),
            "C3",
            code,
            key=f"{message['id']}:code",
            kind="code",
            sender=source,
            to=(Delivery(executor, "structural", delivered=ran),),
            time=message.get("created_at"),
            flags=() if ran else ("not_delivered",),
        )

    def _unfinished(self, message: Message, place: Place) -> None:
        """Pieces of a message that never came in full; those of one that did are passed over."""
        whole, text = message.get("full_message_id"), message.get("content")
        if str(whole) in self.ids or not isinstance(text, str):
            return
        key = f"{whole or message['source']}:pieces"
        if key in self.tale.drafts:
            self.tale.drafts[key].content += text
            return
        source = self.tale.actor(named(message["source"]))
        self.tale.event(place, "C6", text, key=key, kind="pieces", sender=source, flags=("truncated",))
