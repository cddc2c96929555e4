"""Calls as a function filter of Semantic Kernel saw them: nested again, and placed among the messages of their run."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from earwitness.ingest.record import Place
from earwitness.ingest.spans.texts import as_text, fingerprint_of, loads
from earwitness.ingest.tale import USER, Tale, named, said
from earwitness.schema.model import Delivery

HANDOFF, DONE = "Handoff", "complete_task"
_KEYS = {"agent", "function", "arguments", "result", "is_streaming"}


@dataclass(eq=False)
class Call:
    """One call that ended.

    Attributes:
        caller: the agent whose kernel made it.
        tool: what was called; the name of an agent that is used as a plugin.
        agent: whether it is one.
        arguments: as text.
        result: as text, or None.
        place: of the record.
        summary: of a task that an agent completed; for the user.
        handoff: whether it passes the turn on, and nothing else.
        number: of the call in its run, in the order in which calls ended.
        inside: calls that ended inside of this one.
        twin: key of the same call in a message.
        answered: whether it gave the answer that the messages do not hold.
    """

    caller: str | None
    tool: str
    agent: bool
    arguments: str
    result: str | None
    place: Place
    summary: str | None = None
    handoff: bool = False
    number: int = 0
    inside: list["Call"] = field(default_factory=list)
    twin: str | None = None
    answered: bool = False

    @cached_property
    def likeness(self) -> tuple[str, bytes]:
        """The same for the records of one call in files of different kinds; where there is one file nobody asks."""
        return call_key(self.tool, self.arguments)


@dataclass(frozen=True)
class Asked:
    """A call as a message tells it."""

    key: str
    caller: str | None
    tool: str
    arguments: str
    agent: bool


def is_call(value: Any) -> bool:
    """Whether a value is a record of a function filter."""
    return isinstance(value, dict) and value.keys() >= _KEYS and isinstance(value["function"], str)


def call_of(value: dict[str, Any], place: Place) -> Call:
    """The call of a record. A function that is named like its plugin is an agent."""
    plugin, _, function = value["function"].partition("-")
    agent, arguments = plugin == function, as_text(value["arguments"])
    summary = summary_of(arguments) if (plugin, function) == (HANDOFF, DONE) else None
    return Call(
        caller=named(value["agent"]),
        tool=plugin if agent else value["function"],
        agent=agent,
        arguments=arguments,
        result=said(value["result"]),
        place=place,
        summary=summary,
        handoff=plugin == HANDOFF and summary is None,
    )


def is_handoff(value: dict[str, Any]) -> bool:
    """Whether the call of a record passes the turn on, and nothing else."""
    plugin, dash, function = value["function"].partition("-")
    if plugin != HANDOFF or not dash:
        return False
    return function != DONE or summary_of(as_text(value["arguments"])) is None


def summary_of(arguments: str) -> str | None:
    """What an agent says of a task that it completes."""
    given = loads(arguments)
    return said(given.get("task_summary")) if isinstance(given, dict) else None


def call_key(tool: str, arguments: str) -> tuple[str, bytes]:
    """The same for the records of one call in files of different kinds; filters add an override to the arguments."""
    given = loads(arguments)
    if isinstance(given, dict):
        given.pop("instructions_override", None)
    return tool, fingerprint_of(arguments if given is None else given)


def nested(calls: Iterable[Call]) -> list[Call]:
    """The outermost calls, with all others inside of them.

    A filter writes a call when it ends, so that a call to an agent comes after what the agent did in it. An agent that
    hands over is nobody's plugin.
    """
    flat: list[Call] = []
    loose: dict[str | None, list[Call]] = {}
    for call in calls:
        if call.handoff or call.summary:
            loose.pop(call.caller, None)
        if call.handoff:
            continue
        if call.agent and call.tool != call.caller:
            call.inside = loose.pop(call.tool, [])
        loose.setdefault(call.caller, []).append(call)
        flat.append(call)
    inner = {id(inside) for call in flat for inside in call.inside}
    return [call for call in flat if id(call) not in inner]


def _fits(call: Call, asked: Asked, agents: set[str | None], *, own: bool) -> bool:
    return call.caller == asked.caller if own else call.caller not in agents


class Calls:
    """Calls of a run, each told once: by a message where one tells it, else here, after what came before it.

    Args:
        tale: what is told of the run.
        calls: as they ended.
    """

    def __init__(self, tale: Tale, calls: list[Call]) -> None:
        self.tale, self.all = tale, [call for call in calls if not call.handoff]
        for number, call in enumerate(calls):
            call.number = number
        self._queue = deque(nested(calls))
        self._outer = {id(call) for call in self._queue}
        self._twins: dict[str, Call] = {}

    def match(self, asked: list[Asked], agents: set[str | None]) -> None:
        """Find the calls that messages tell: the same words to the same tool by the same agent.

        Args:
            asked: calls of messages, in order.
            agents: who speaks or is spoken to in them; a filter may have another name for an agent.
        """
        agents = agents | {call.tool for call in self.all if call.agent}
        waiting: dict[tuple[str, bytes], deque[Call]] = {}
        for call in self.all if asked else ():
            waiting.setdefault(call.likeness, deque()).append(call)
        for one in asked:
            same = waiting.get(call_key(one.tool, one.arguments), deque())
            fits = (c for own in (True, False) for c in same if _fits(c, one, agents, own=own))
            if one.key not in self._twins and (twin := next(fits, None)):
                twin.twin, self._twins[one.key] = one.key, twin
                same.remove(twin)
        for alone in (call for call in self.all if not call.twin):
            self.tale.actor(alone.caller)  # before its name is only that of a plugin

    def begin(self, key: str) -> Call | None:
        """A message told a call: tell what ended before it, and what happened inside of it; gives the call."""
        call = self._twins.get(key)
        if call is None:
            return None
        while id(call) in self._outer:
            self._tell([self._pop()])
        self._tell(call.inside, key)
        return call

    def catch_up(self, wanted: Callable[[Call], bool]) -> None:
        """Tell the next calls, as long as they are wanted and no message tells them."""
        while self._queue and not self._queue[0].twin and wanted(self._queue[0]):
            self._tell([self._pop()])

    def rest(self) -> None:
        """Tell all that is left."""
        while self._queue:
            self._tell([self._pop()])

    def told_by_messages(self) -> list[Call]:
        """Calls of which the filter had nothing to say that was not said."""
        return [call for call in self.all if call.twin and not call.answered]

    def answer(self, call: Call, key: str, caller: str | None) -> None:
        """What a call gave back."""
        if call.result is None or call.summary:
            return
        call.answered = True
        if not call.agent:
            self.tale.lose(
                "truncated", "C4", "a filter's result may hold only the last value", call.place.at("/result")
            )
        self.tale.event(
            call.place.at("/result"),
            "C2" if call.agent else "C4",
            call.result,
            key=f"{key}:result",
            kind="answer" if call.agent else "tool_result",
            sender=call.tool,
            to=(Delivery(caller, "structural" if call.agent else "declared"),) if caller else (),
            parent=key,
        )

    def _pop(self) -> Call:
        call = self._queue.popleft()
        self._outer.discard(id(call))
        return call

    def _tell(self, calls: list[Call], parent: str | None = None) -> None:
        """Calls with what is inside of them, before their answers; without recursion, for files may nest anything."""
        steps = [(call, parent, False) for call in reversed(calls)]
        while steps:
            call, parent, over = steps.pop()
            key = f"f{call.number}"
            if call.twin:
                continue
            if over:
                self.answer(call, key, call.caller)
            else:
                self._ask(call, key, parent)
                steps.append((call, parent, True))
                steps += [(inner, key, False) for inner in reversed(call.inside)]

    def _ask(self, call: Call, key: str, parent: str | None) -> None:
        caller, place = self.tale.actor(call.caller), call.place.at("/arguments")
        if call.summary:
            to = (Delivery(self.tale.actor(USER, "user", "structural") or USER, "structural"),)
            self.tale.event(place, "C1", call.summary, key=key, kind="message", sender=caller, to=to)
            return
        self.tale.actor(call.tool, "agent" if call.agent else "tool", "name-pattern" if call.agent else "declared")
        self.tale.event(
            place,
            "C2" if call.agent else "C3",
            call.arguments,
            key=key,
            kind="request" if call.agent else "tool_arguments",
            sender=caller,
            to=(Delivery(call.tool, "structural" if call.agent else "declared"),),
            parent=parent,
        )
