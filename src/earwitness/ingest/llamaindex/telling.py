"""What all LlamaIndex recordings tell in the same way: inputs, calls, handoffs."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from earwitness.ingest.boundary import together
from earwitness.ingest.chronicle import USER, Chronicle, name_of, text_of, undelivered
from earwitness.ingest.llamaindex.messages import ToolUse, answered, text, tool_uses
from earwitness.ingest.record import Emit, Made, Place
from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.toolkinds import tool_kind
from earwitness.schema.model import Delivery, Event, Time
from earwitness.schema.words import Channel, Flag, SightingKind

# State that tools write through the context is not in the stream; neither are files.
OBSERVABLE: tuple[Channel, ...] = ("C1", "C2", "C3", "C4", "C6")
_KINDS: dict[str, SightingKind] = {"system": "initial", "user": "initial"}


class Handoff:
    """An agent asked for another one to go on."""

    def __init__(self, use: ToolUse, sender: str | None, place: Place) -> None:
        given = use.arguments if isinstance(use.arguments, dict) else {}
        self.id, self.sender, self.place = use.id, sender, place
        self.target = name_of(given.get("to_agent"))
        self.reason = text_of(given.get("reason"))


class Story:
    """One run.

    Args:
        trace: its id.
    """

    def __init__(self, trace: str) -> None:
        self.book = Chronicle(trace)
        self.callers: dict[str, tuple[str | None, str]] = {}
        self.asked: list[Handoff] = []
        self.calls: dict[str, Made] = {}
        self.waiting: tuple[str | None, str, Place, Time | None] | None = None

    def head(self, place: Place, started_at: Time | None = None) -> Made:
        """The line of the run."""
        return self.book.head(place, framework="llamaindex", started_at=started_at, observable=OBSERVABLE)

    def shown(
        self, agent: str | None, messages: list[dict[str, Any]], place: Place, time: Time | None
    ) -> Iterator[Made]:
        """What an agent was given. The whole history is in it, with what other agents gave their tools."""
        for n, message in enumerate(messages):
            at, kind = place.at(f"/{n}"), _KINDS.get(str(message.get("role")), "history")
            yield from self.book.shown(at, agent, text(message), kind, time, self._answer(message))
            for use in tool_uses(message):
                known = use.id if use.id in self.callers else None
                yield from self.book.shown(at, agent, text_of(use.arguments), "history", time, known)

    def _answer(self, message: dict[str, Any]) -> str | None:
        """The event that a tool message repeats; results of handoffs are none."""
        call = answered(message)
        known = call in self.callers and self.callers[call][1] != "handoff"
        return f"{call}/result" if known else None

    def turn(self, agent: str | None, time: Time | None = None) -> Iterator[Made]:
        """An agent begins: a handoff to it took effect, and what was said before was not the end."""
        yield from self._settle(agent, time)
        yield from self._not_the_end()

    def _not_the_end(self) -> Iterator[Made]:
        if self.waiting:
            sender, said, place, when = self.waiting
            self.waiting = None
            yield from self.book.event(place, "C6", said, sender=sender, time=when, kind="message")

    def ended(self) -> Iterator[Emit]:
        """The same as `end`; what fails here costs no other run."""
        return together(self.end(), self.held(), self.book.trace)

    def held(self) -> Iterator[Place]:
        """Where all stands that was not told when it was met."""
        yield from (handoff.place for handoff in self.asked)
        yield from (made.place for made in self.calls.values())
        yield from (self.waiting[2],) if self.waiting else ()

    def break_off(self) -> Iterator[Made]:
        """The run failed: what was said last was given to nobody."""
        yield from self._settle(None, None)
        yield from self.calls.values()
        self.calls.clear()
        yield from self._not_the_end()

    def only_open(self) -> str | None:
        """The tool that runs, if there is just one: what happens now happens inside of it."""
        tools = [self.callers[call][1] for call in self.calls if call in self.callers]
        return tools[0] if len(tools) == len(self.calls) == 1 else None

    def end(self, time: Time | None = None) -> Iterator[Made]:
        """The run is over: what was said last is the answer."""
        yield from self._settle(None, time)
        yield from self.calls.values()
        self.calls.clear()
        if self.waiting:
            sender, said, place, when = self.waiting
            self.waiting = None
            yield from self.book.event(place, "C1", said, sender=sender, to=(USER,), time=when, kind="result")

    def said(
        self, agent: str | None, message: dict[str, Any], place: Place, time: Time | None = None, *, more: bool = False
    ) -> Iterator[Made]:
        """A model's answer. Without a tool call it may be the last."""
        yield from self.book.event(place, "C6", text(message, "thinking"), sender=agent, time=time, kind="reasoning")
        if more or tool_uses(message):
            yield from self.book.event(place, "C6", text(message), sender=agent, time=time, kind="message")
        elif text(message):
            self.waiting = (agent, text(message), place, time)

    def call(self, agent: str | None, use: ToolUse, place: Place, time: Time | None = None) -> Iterator[Made]:
        """A tool call waits for its result, which may say that there is no such tool; a handoff, for its effect."""
        if use.tool == "handoff" and isinstance(use.arguments, dict) and "to_agent" in use.arguments:
            self.asked.append(Handoff(use, agent, place))
            return
        kind = tool_kind(use.tool)
        yield from self.book.actor(place, use.tool, kind.kind, kind.evidence)
        told = self.book.event(
            place,
            kind.arguments,
            text_of(use.arguments),
            sender=agent,
            to=(use.tool,),
            id=use.id,
            time=time,
            kind="tool_call",
        )
        for made in told:
            if isinstance(made.item, Event):
                self.calls[use.id] = made
            else:
                yield made

    def result(
        self, call: str, tool: str, content: str, place: Place, time: Time | None = None, flags: tuple[Flag, ...] = ()
    ) -> Iterator[Made]:
        """What a tool gave back to the agent that called it."""
        agent, kind = self.callers.get(call, (None, tool))[0], tool_kind(tool)
        missing = is_refusal(content.strip())
        asked = self.calls.pop(call, None)
        if asked:
            yield _unmade(asked, tool) if missing else asked
        if "failed" in flags:
            yield self.book.loss(place, "failed_call", kind.result, "a tool call failed")
        if "truncated" in flags:
            yield self.book.loss(place, "truncated", kind.result, "a tool result is only there as a cut repr")
        yield from self.book.event(
            place,
            kind.result,
            content,
            sender=None if missing else tool,
            to=(agent,) if agent else (),
            id=f"{call}/result",
            time=time,
            kind="tool_result",
            flags=flags,
            sender_kind=kind.kind,
            to_kind="agent",
        )

    def _settle(self, agent: str | None, time: Time | None) -> Iterator[Made]:
        """Handoffs asked for: the one to the agent that runs now took effect, others did not."""
        asked, self.asked = self.asked, []
        for handoff in asked:
            if handoff.target:
                took = handoff.target == agent
                to = Delivery(handoff.target) if took else undelivered(handoff.target)
                yield from self._hand_over(handoff, (to,), time)

    def left(self, last: str | None) -> Iterator[Made]:
        """Handoffs of which only the end of the run is known: one to whoever spoke last took effect, of others nobody
        can say, for one that was refused looks the same.
        """
        asked, self.asked = self.asked, []
        for handoff in asked:
            if handoff.target:
                yield from self._hand_over(handoff, (Delivery(handoff.target),) if handoff.target == last else (), None)

    def _hand_over(self, handoff: Handoff, to: tuple[Delivery, ...], time: Time | None) -> Iterator[Made]:
        yield from self.book.event(
            handoff.place,
            "C2",
            handoff.reason or "handoff",
            sender=handoff.sender,
            to=to,
            id=handoff.id,
            time=time,
            kind="handoff",
            flags=() if all(d.delivered for d in to) else ("not_delivered",),
            attributes=None if to else {"asked_for": handoff.target},
        )


def _unmade(made: Made, tool: str) -> Made:
    """A call of a tool that is not there."""
    assert isinstance(made.item, Event)
    call = replace(made.item, to=(undelivered(tool),), flags=(*made.item.flags, "not_delivered"))
    return Made(call, made.place)
