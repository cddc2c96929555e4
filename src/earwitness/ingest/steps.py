"""The steps of one trace: items numbered in the order they are told, parties declared once."""

import re
from typing import Any, NamedTuple

from earwitness.ingest.digests import Counts
from earwitness.ingest.record import Emit, Made, Place, make
from earwitness.ingest.shelf import Tape
from earwitness.ingest.spans.identity import clean_name
from earwitness.ingest.spans.texts import masked
from earwitness.schema.model import Actor, Delivery, Event, Loss, Sighting, Trace
from earwitness.schema.times import as_time
from earwitness.schema.words import ActorKind, Channel, Flag, LossKind, SightingKind

_CUT = re.compile(r"(?:\.\.\.|…) ?\[?truncated\]?\s*\Z", re.IGNORECASE)
_LOST: dict[Flag, tuple[LossKind, str]] = {
    "masked": ("masked", "hidden before it was recorded"),
    "truncated": ("truncated", "cut by the recorder"),
    "reference": ("reference", "kept elsewhere"),
}


class At(NamedTuple):
    """Where and when a step was recorded, and the number of its turn."""

    place: Place
    time: Any = None
    turn: int | None = None


class Steps:
    """The items of one trace.

    Args:
        trace: its row.
        at: where it begins.
        first: number of the first step, for a record that continues another.
    """

    def __init__(self, trace: Trace, at: At, first: int = 0) -> None:
        self.trace = trace.id
        # What was said, by whom, in which event: those who come later are shown it.
        self.history: Tape[tuple[str | None, str, str | None]] = Tape()
        self._out: list[Emit] = [Made(trace, at.place)]
        self._seq = first
        self._names = Counts()
        self._actors: dict[str, ActorKind] = {}

    def drain(self) -> list[Emit]:
        """What was made since the last time."""
        out, self._out = self._out, []
        return out

    def amend(self, trace: Trace, place: Place) -> None:
        """Say more of the trace itself."""
        self._out.append(Made(trace, place))

    def known_agent(self, name: str | None) -> bool:
        """Whether somebody of this name has acted as an agent."""
        return self._actors.get(name or "") == "agent"

    def actor(self, name: str | None, kind: ActorKind, evidence: str, place: Place) -> None:
        """Declare a party; whoever acts as an agent is one."""
        name = clean_name(name)
        if name and self._actors.get(name) not in (kind, "agent"):
            self._actors[name] = kind
            self._out.append(make((Actor(trace=self.trace, name=name, kind=kind, evidence=evidence), place)))

    # -- what adapters say ---------------------------------------------------------------------------------------

    def event(
        self,
        channel: Channel,
        content: str,
        at: At,
        *,
        kind: str,
        sender: str | None = None,
        to: tuple[str | Delivery, ...] = (),
        id: str | None = None,
        flags: tuple[Flag, ...] = (),
        seq: int | None = None,
        attributes: dict[str, Any] | None = None,
        remember: bool = True,
    ) -> str:
        """Tell a production; `remember` it for those who are shown the conversation later."""
        place, time, turn = at
        found = marks(content)
        if flags or found:
            flags = tuple(dict.fromkeys((*flags, *found)))
            for kind_of_loss, detail in (_LOST[flag] for flag in flags if flag in _LOST):
                self.lose(kind_of_loss, channel, detail, place)
        if seq is None:
            seq = self.next()
        name = self._names.distinct(id or f"e{seq}")
        event = Event(
            trace=self.trace,
            id=name,
            seq=seq,
            time=as_time(time),
            turn=turn,
            channel=channel,
            kind=kind,
            sender=clean_name(sender),
            to=to,
            content=content,
            flags=flags,
            attributes=attributes,
        )
        self._out.append(make((event, place)))
        if remember and content:
            self.history.append((sender, content, name), len(content))
        return name

    def sighting(self, agent: str | None, content: str, kind: SightingKind, at: At, event: str | None = None) -> None:
        """Tell that somebody was shown a text."""
        if content:
            self.sight(agent, content, kind, at, event, self.next())

    def lose(self, kind: LossKind, channel: Channel | None, detail: str, place: Place, n: int = 1) -> None:
        """Something happened that the record does not hold."""
        self._out.append(Made(Loss(trace=self.trace, kind=kind, channel=channel, n=n, detail=detail), place))

    def sight(self, agent: str | None, content: str, kind: SightingKind, at: At, event: str | None, seq: int) -> None:
        """Tell a sighting under a number that was taken before."""
        sighting = Sighting(
            trace=self.trace,
            actor=clean_name(agent),
            kind=kind,
            content=content,
            seq=seq,
            time=as_time(at.time),
            event=event,
        )
        self._out.append(make((sighting, at.place)))

    def next(self) -> int:
        """The number of the next step."""
        self._seq += 1
        return self._seq - 1


def marks(content: str) -> tuple[Flag, ...]:
    """The flags that a text shows by itself: masked, truncated."""
    end = content[-40:]
    cut = "truncated" in end.lower() and _CUT.search(end)
    if masked(content):
        return ("masked", "truncated") if cut else ("masked",)
    return ("truncated",) if cut else ()
