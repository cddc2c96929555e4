"""What the functions of a Semantic Kernel log say: calls of tools, handoffs, and agents that are used as plugins."""

from collections import deque
from dataclasses import dataclass, field

from earwitness.ingest.record import Place
from earwitness.ingest.spans.texts import as_text, fingerprint, loads, says_nothing
from earwitness.ingest.tale import USER, Draft, Tale, said
from earwitness.schema.model import Delivery, Time

_HANDOFF, _TRANSFER, _DONE = "Handoff", "transfer_to_", "complete_task"
_CUT = "a logged result may hold only the last value"


@dataclass
class Call:
    """A function that an agent asked for, or that a program called.

    Attributes:
        name: `<plugin>-<function>`.
        caller: the agent.
        target: the agent or tool that does it.
        agent: whether it is an agent.
        request: its event; None for a handoff that passes no words, and at the end of a task.
        answer: the event of what came back.
        whole: whether the answer is known in full.
    """

    key: str
    name: str
    caller: str | None
    target: str
    agent: bool
    handoff: bool
    request: Draft | None = None
    answer: Draft | None = None
    whole: bool = False


@dataclass
class Calls:
    """The calls of a log, from what a model asked to what came back.

    Attributes:
        tale: what is told of the log.
        known: the calls of each id, for some models number them anew in every answer.
        every: all calls.
        running: calls that have begun and not ended, the innermost last.
        turn: a handoff that was asked for, until its target takes the turn.
    """

    tale: Tale
    known: dict[str, list[Call]] = field(default_factory=dict)
    every: list[Call] = field(default_factory=list)
    running: list[Call] = field(default_factory=list)
    turn: tuple[str, Draft] | None = None
    _asked: dict[tuple[str, str], deque[Call]] = field(default_factory=dict)
    _called: dict[str, deque[Call]] = field(default_factory=dict)
    _returned: Call | None = None
    _began: bool = False

    def inside(self) -> Call | None:
        """The innermost agent used as a plugin that is at work."""
        return next((call for call in reversed(self.running) if call.agent), None)

    def ask(self, key: str, name: str, given: str, caller: str | None, place: Place, time: Time | None = None) -> None:
        """A call that was asked for."""
        plugin, _, function = name.partition("-")
        agent = plugin == function
        own = f"{key}#{len(self.every)}" if key in self.known else key
        call = Call(own, name, caller, plugin if agent else name, agent, plugin == _HANDOFF)
        self.known.setdefault(key, []).append(call)
        self.every.append(call)
        self._asked.setdefault((name, _plain(given)), deque()).append(call)
        if call.handoff:
            self._hand_over(call, function, given, place, time)
            return
        self.tale.actor(call.target, "agent" if agent else "tool", "name-pattern" if agent else "declared")
        call.request = self.tale.event(
            place,
            "C2" if agent else "C3",
            given,
            key=own,
            kind="request" if agent else "tool_arguments",
            sender=self.tale.actor(caller),
            to=(Delivery(call.target, "structural" if agent else "declared"),),
            time=time,
        )

    def of(self, key: str, text: str) -> Call | None:
        """The call of an id that a text answers: the one that it is known to answer, or the first without an answer."""
        calls = self.known.get(key, [])
        told = (c for c in calls if c.whole and c.answer and c.answer.content == text)
        return next(told, None) or next((c for c in calls if not c.whole), calls[-1] if calls else None)

    def _hand_over(self, call: Call, function: str, given: str, place: Place, time: Time | None) -> None:
        """A handoff passes no words; the end of a task passes its summary to the user."""
        values, sender = loads(given), self.tale.actor(call.caller)
        summary = said(values.get("task_summary")) if isinstance(values, dict) else None
        if function == _DONE and summary is not None:
            self.finish(summary, call.caller, place, time)
        elif function.startswith(_TRANSFER):
            target = function.removeprefix(_TRANSFER)
            text = function if says_nothing(given) else given
            self.turn = (
                target,
                self.tale.event(place, "C2", text, key=call.key, kind="handoff", sender=sender, time=time),
            )

    def finish(self, text: str, sender: str | None, place: Place, time: Time | None) -> None:
        """What the user gets in the end."""
        user = self.tale.actor(USER, "user", "structural") or USER
        name, to = self.tale.actor(sender), (Delivery(user, "structural"),)
        self.tale.event(
            place, "C1", text, key=f"final:{fingerprint(text).hex()[:12]}", kind="final", sender=name, to=to, time=time
        )

    def takes_turn(self, name: str) -> None:
        """An agent was asked to go on: the effect of a handoff to it."""
        if self.turn and self.turn[0] == name:
            self.turn[1].reach([self.tale.actor(name) or name], "structural")
            self.turn = None

    def called(self, name: str, given: str, caller: str | None, place: Place, time: Time | None) -> None:
        """The kernel calls a function; without messages of models this is where a call shows first."""
        waiting = self._asked.get((name, _plain(given)))
        if not waiting:
            self.ask(f"call{len(self.every)}", name, given, caller, place, time)
            waiting = self._asked[name, _plain(given)]
        self._called.setdefault(name, deque()).append(waiting.popleft())

    def begins(self, name: str, caller: str | None) -> None:
        """A function begins; one that no model asked for was called by the program."""
        self._began = True
        waiting = self._called.get(name)
        if waiting:
            self.running.append(waiting.popleft())
            return
        self.running.append(Call(f"program:{len(self.every)}", name, caller, name, agent=False, handoff=False))
        self.every.append(self.running[-1])

    def given(self, given: str, place: Place, time: Time | None) -> None:
        """The arguments of the function that began last."""
        call = self.running[-1] if self.running else None
        if call and call.request is None and not call.handoff and not says_nothing(given):
            self.tale.actor(call.target, "tool")
            sender, to = self.tale.actor(call.caller), (Delivery(call.target, "declared"),)
            call.request = self.tale.event(
                place, "C3", given, key=call.key, kind="tool_arguments", sender=sender, to=to, time=time
            )

    def returns(self, name: str) -> None:
        """A function is done; its result stands in the next line."""
        self._returned = next((call for call in reversed(self.running) if call.name == name), None)

    def ends(self) -> None:
        """The function that returned last is over."""
        if self._returned in self.running:
            self.running.remove(self._returned)
        self._returned = None

    def result(self, text: str, place: Place, time: Time | None) -> None:
        """What the function that returned last gave, of which only the last value may be there."""
        if self._returned and said(text) is not None:
            self.answer(self._returned, text, place, time)

    def failed(self, text: str, place: Place, time: Time | None) -> None:
        """An error, of the innermost function that runs."""
        self._returned = self.running[-1] if self.running else None
        self.tale.lose("failed_call", None, "a function that failed", place)
        if self._returned:
            self.answer(self._returned, text, place, time, whole=True)
        if self._returned and self._returned.answer:
            self._returned.answer.flags += ("failed",)

    def answer(self, call: Call, text: str, place: Place, time: Time | None, *, whole: bool = False) -> None:
        """What came back of a call; a later and whole text takes the place of a cut one."""
        if call.handoff or call.whole:
            return
        call.whole = whole or call.agent
        if call.answer is not None:
            call.answer.content, call.answer.place = text, place
            return
        to = (Delivery(call.caller, "structural" if call.agent else "declared"),) if call.caller else ()
        self.tale.actor(call.target, "agent" if call.agent else "tool", "name-pattern" if call.agent else "declared")
        call.answer = self.tale.event(
            place,
            "C2" if call.agent else "C4",
            text,
            key=f"{call.key}:result",
            kind="answer" if call.agent else "tool_result",
            sender=call.target,
            to=to,
            time=time,
            parent=call.key if call.request else None,
        )

    def close(self) -> None:
        """The end of the log: results that no message gave in full, and calls that a filter kept from being made."""
        for call in [call for waiting in self._called.values() for call in waiting] if self._began else []:
            if call.request and not call.handoff:
                call.request.refuse()
        for call in self.every:
            if call.answer and not call.whole:
                self.tale.lose("truncated", "C4", _CUT, call.answer.place)


def _plain(given: str) -> str:
    """Arguments without their layout; calls of agents may be given an override of instructions."""
    values = loads(given)
    if not isinstance(values, dict):
        return given
    return as_text({k: values[k] for k in sorted(values) if k != "instructions_override"})
