"""A conversation told step by step: what formats of messages, items and events without spans have in common.

An adapter says what happened (a request, words, a call, its result, a handoff); a `Dialogue` makes the items of one
trace of it, each production once. Words are held back until it is known whether more follows them: only the last of a
turn went to the user. Whoever takes over by a handoff sees what was said before: sightings, not messages. A tool that
turns out to be an agent was sent a request and gave an answer.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import PurePath

from earwitness.ingest.boundary import together
from earwitness.ingest.delegation import Delegation, as_delegation
from earwitness.ingest.opencalls import Call, Words
from earwitness.ingest.record import Context, Emit, Place
from earwitness.ingest.scopes import Scopes
from earwitness.ingest.spans.identity import clean_name, hands_off
from earwitness.ingest.steps import At, Steps
from earwitness.schema.model import Delivery, Trace
from earwitness.schema.words import ActorKind, Channel, Flag, Grade

__all__ = ["USER", "At", "Call", "Dialogue", "trace_of_file"]

USER = "user"


def trace_of_file(context: Context, kind: str) -> str:
    """An id for the trace of a file that names none: the file's own name, made unique within the import."""
    name = PurePath(context.name.rpartition("!")[2]).name
    base = f"{kind}:{name}"
    found, n = base, 1
    while not context.claim("trace-of-file", found):
        n += 1
        found = f"{base}~{n}"
    return found


class Dialogue(Steps):
    """The items of one trace.

    Args:
        trace: its row.
        at: where it begins.
        first: number of the first step, for a record that continues another.
        stand_in: the name given to an agent that the record does not name.

    Attributes:
        scopes: what of the history is not shown to whoever takes over.
    """

    def __init__(self, trace: Trace, at: At, *, first: int = 0, stand_in: str | None = None) -> None:
        super().__init__(trace, at, first)
        self._stand_in = stand_in
        self._calls: dict[str, Call] = {}
        self._words: Words | None = None
        self._requests: list[tuple[str, At, int]] = []
        self._given: set[str | None] = set()
        self._met: set[str | None] = set()  # agents that acted, by whose names nothing is held
        self._seen: dict[str, int] = {}
        self._delegation = Delegation()
        self.scopes: Scopes | None = None
        self._summed: list[tuple[str, At]] = []

    def actor(self, name: str | None, kind: ActorKind, evidence: str, place: Place) -> None:
        """Declare a party; what was called by the name of an agent was no tool."""
        super().actor(name, kind, evidence, place)
        if kind == "agent" and name != self._stand_in:
            self.knows(name)

    def knows(self, agent: str | None) -> None:
        """The record names an agent of the run."""
        if name := clean_name(agent):
            self._out += self._delegation.meet(name)

    def request(self, text: str, at: At) -> None:
        """The user's words; the agent that acts next was given them."""
        self.settle(final=True)
        if self._given:
            self._requests, self._given = [], set()
        if text:
            self.actor(USER, "user", "declared", at.place)
            self._requests.append((text, at, self.next()))

    def instructions(self, agent: str | None, text: str, at: At) -> None:
        """A system prompt."""
        if text:
            self.sighting(agent, text, "initial", at)

    def acts(self, agent: str | None, place: Place) -> None:
        """An agent acts: it has seen what the user asked."""
        if agent not in self._met:
            self.actor(agent, "agent", "channel" if agent == self._stand_in else "declared", place)
            self._met.add(agent)
        if agent not in self._given:
            for text, at, seq in self._requests:
                self.sight(agent, text, "initial", at, None, self.next() if self._given else seq)
                if not self._given:
                    self.history.append((USER, text, None), len(text))
            self._given.add(agent)
        if agent:
            self._seen[agent] = len(self.history)

    def excuse(self, agent: str | None) -> None:
        """An agent that was not given the user's words of this turn."""
        self._given.add(agent)

    def say(self, agent: str | None, text: str, at: At, *, id: str | None = None, flags: tuple[Flag, ...] = ()) -> None:
        """Words of an agent; to whom they went shows in what follows."""
        self.settle(final=False, next_agent=agent)
        self.acts(agent, at.place)
        if text.strip():
            self._words = Words(agent, text, at, self.next(), id, flags)

    def settle(self, *, final: bool, next_agent: str | None = None) -> None:
        """What was held back is now known to be the last of its turn, or not."""
        words, self._words = self._words, None
        if words is None:
            return
        if final:
            self.actor(USER, "user", "structural", words.at.place)
            self._tell(words, "C1", "final", (Delivery(USER, "structural"),))
        elif next_agent is not None and next_agent != words.agent:
            self._tell(words, "C2", "answer", ())
        else:
            self._tell(words, "C6", "intermediate", ())

    def beside(self, agent: str | None) -> None:
        """What comes stands beside the words of an agent and is no step of its own: words of others are settled."""
        if self._words and self._words.agent != agent:
            self.settle(final=False, next_agent=agent)

    def think(self, agent: str | None, text: str, at: At, *, kind: str = "reasoning", id: str | None = None) -> None:
        """Visible reasoning, a log, an error."""
        if not text.strip():
            return
        self.settle(final=False, next_agent=agent)
        if agent:
            self.acts(agent, at.place)
        self.event("C6", text, at, kind=kind, sender=agent, id=id, remember=False)

    def call(
        self,
        agent: str | None,
        tool: str | None,
        arguments: str,
        at: At,
        call_id: str | None,
        *,
        hold: bool = False,
        caller: str | None = None,
    ) -> None:
        """A tool call; `hold` waits for the result to say whether it was a handoff.

        Args:
            agent: who made it, or wrote the program that did.
            tool: its name.
            arguments: as text.
            at: where and when.
            call_id: its id.
            hold: whether to wait.
            caller: the call that runs the program, where no model made this one.
        """
        self.settle(final=False, next_agent=agent)
        self.acts(agent, at.place)
        tool, call_id = clean_name(tool), call_id if isinstance(call_id, str) else None
        program = self._program(caller) if caller else None
        call = Call(agent, tool, arguments, at, self.next(), told=not hold, program=program)
        if call_id:
            self._calls[call_id] = call
        if not hold or not call_id:
            self._tell_call(call, call_id)

    def _program(self, caller: str) -> str:
        """The tool that runs a program; of one that is not recorded, its kind."""
        call = self.open_call(caller)
        return (call.tool if call else None) or "program"

    def open_call(self, call_id: str | None) -> Call | None:
        """A call without a result."""
        return self._calls.get(call_id or "")

    def delegate(self, call_id: str | None, agent: str, grade: Grade, place: Place) -> None:
        """A call that has no result yet is one of an agent, who was not given the user's words."""
        call = self.open_call(call_id)
        if call and call_id:
            self._calls[call_id] = call._replace(callee=Delivery(agent, grade))
            self.actor(agent, "agent", "declared", place)
            self.excuse(agent)

    def pause(self, call_id: str | None) -> None:
        """A call waits for approval: without a result it was not made."""
        call = self.open_call(call_id)
        if call and call_id:
            self._calls[call_id] = call._replace(paused=True)

    def is_paused(self) -> bool:
        """Whether any call waits for approval."""
        return any(call.paused for call in self._calls.values())

    def withdraw(self, call_id: str) -> None:
        """A call that waited is told by another record."""
        self._calls.pop(call_id, None)

    def open_calls(self, agent: str | None) -> list[tuple[str, Call]]:
        """The calls of an agent that have no result yet, in order."""
        return [(call_id, call) for call_id, call in self._calls.items() if call.agent == agent]

    def asking(self, agent: str | None, fits: Callable[[str], bool]) -> str | None:
        """The id of the latest open call of an agent whose tool fits."""
        open_calls = reversed(self._calls.items())
        return next((i for i, c in open_calls if c.agent == agent and c.tool and fits(c.tool)), None)

    def result(
        self,
        call_id: str | None,
        text: str,
        at: At,
        *,
        agent: str | None = None,
        tool: str | None = None,
        flags: tuple[Flag, ...] = (),
        denied: bool = False,
    ) -> None:
        """What a tool gave back."""
        call_id = call_id if isinstance(call_id, str) else None
        call = self._calls.pop(call_id or "", None)
        said = self._answered(call, text)
        self.settle(final=False, next_agent=agent)
        if call and not call.told:
            self._tell_call(call, call_id, denied=denied)
        agent = agent or (call.agent if call else None)
        tool = clean_name(tool) or (call.tool if call else None)
        getter = call.program if call and call.program else agent
        to = (Delivery(getter, "declared"),) if getter else ()
        sender = None if denied else tool
        at, seq = (said.at, said.seq) if said else (at, None)
        name, start = f"{call_id}:result" if call_id else None, len(self._out)
        self.actor(sender, "tool", "declared", at.place)
        if text or not denied:
            self.event(
                "C4",
                text,
                at,
                kind="tool_result",
                sender=sender,
                to=to,
                id=name,
                flags=flags,
                seq=seq,
                remember=getter == agent,
            )
        self._assign(start, tool, agent, call.callee if call else None)
        self.acts(agent, at.place)

    def _answered(self, call: Call | None, text: str) -> Words | None:
        """The words of a called agent that its call gives back: they are said once."""
        words = self._words
        if call is None or call.callee is None or words is None or words.agent != call.callee.actor:
            return None
        if words.text.strip() != text.strip():
            return None
        self._words = None
        return words

    def _assign(self, start: int, tool: str | None, caller: str | None, callee: Delivery | None) -> None:
        """What was told from `start` on is of an agent, if the tool is one, else waits until it is known."""
        told = self._out[start:]
        del self._out[start:]
        agent = callee.actor if callee else self._delegation.agent(tool, caller)
        if agent:
            self._out += as_delegation(told, agent, callee.grade if callee else "structural")
        elif tool:
            if self._delegation.hold(tool, told):
                self._met.clear()
        else:
            self._out += told

    def handoff(
        self,
        call_id: str | None,
        target: str | None,
        at: At,
        *,
        agent: str | None = None,
        words: str | None = None,
        history: bool = True,
        grade: Grade = "declared",
    ) -> None:
        """Control went to another agent, with the arguments of the call or with words."""
        call = self._calls.pop(call_id or "", None)
        self.settle(final=False, next_agent=agent)
        sender = agent or (call.agent if call else None)
        content = words or (call.arguments if call else "")
        seq = call.seq if call else None
        to = (Delivery(target, grade),) if target else ()
        self.acts(sender, at.place)
        self.actor(target, "agent", "declared", at.place)
        name = f"{call_id}:call" if call_id else None
        where = call.at if call else at
        told = self.event("C2", content, where, kind="handoff", sender=sender, to=to, id=name, seq=seq)
        if target and history:
            self.catch_up(target, at, but=told)

    def catch_up(self, agent: str, at: At, *, but: str | None = None) -> None:
        """An agent that takes over is shown what others said and heard since it last acted, `but` what it was told."""
        start, self._seen[agent] = self._seen.get(agent, 0), len(self.history)
        self._given.add(agent)
        for step, (author, text, event) in enumerate(self.history.since(start), start):
            hidden = self.scopes is not None and self.scopes.hides(step, shared=event is None)
            if author != agent and (event is None or event != but) and not hidden:
                self.sighting(agent, text, "history", at, event)

    def summed_up(self, text: str, at: At) -> None:
        """A summary of what was said, put in its place for an agent that is named later: nobody's words."""
        self._summed.append((text, at))

    def give_summary(self, agent: str | None) -> None:
        """The agent that was given it."""
        summed, self._summed = self._summed, []
        for text, at in summed:
            self.sighting(agent, text, "history", at)

    def ended(self) -> Iterator[Emit]:
        """The same as `finish`, for a reader of several dialogues: what fails here costs no other."""
        return together(self._finished(), self.held(), self.trace)

    def _finished(self) -> Iterator[Emit]:
        yield from self.finish()

    def held(self) -> Iterator[Place]:
        """Where all stands that was not told when it was met."""
        yield from (emit.place for emit in self._out)
        yield from (self._words.at.place,) if self._words else ()
        yield from (call.at.place for call in self._calls.values() if not call.told)
        yield from (at.place for _, at, _ in self._requests)
        yield from (at.place for _, at in self._summed)
        yield from self._delegation.held()

    def finish(self) -> Iterator[Emit]:
        """The end of the record."""
        self.settle(final=True)
        self.give_summary(None)
        for call_id, call in self._calls.items():
            if not call.told:
                self._tell_call(call, call_id, denied=call.paused or hands_off(call.tool))
        for text, at, seq in [] if self._given else self._requests:
            self.sight(None, text, "initial", at, None, seq)
        return chain(self.drain(), self._delegation.rest())

    def _tell(self, words: Words, channel: Channel, kind: str, to: tuple[Delivery, ...]) -> None:
        self.event(
            channel,
            words.text,
            words.at,
            kind=kind,
            sender=words.agent,
            to=to,
            id=words.id,
            flags=words.flags,
            seq=words.seq,
        )

    def _tell_call(self, call: Call, call_id: str | None, *, denied: bool = False) -> None:
        start = len(self._out)
        for tool in (call.program, call.tool):
            self.actor(tool, "tool", "declared", call.at.place)
        to = (Delivery(call.tool, "declared", delivered=not denied),) if call.tool else ()
        self.event(
            "C3",
            call.arguments,
            call.at,
            kind="tool_arguments",
            sender=call.program or call.agent,
            to=to,
            id=f"{call_id}:call" if call_id else None,
            flags=("not_delivered",) if denied else (),
            seq=call.seq,
        )
        self._assign(start, call.tool, call.agent, call.callee)
