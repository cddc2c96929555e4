"""What a reader gathers of one trace before it can say who heard what: events, sightings, losses, in order.

Conversation logs name recipients, members and final answers late, so that events stay open until the end.
Contents and sightings beyond the first MB wait on disk.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from earwitness.ingest.digests import Digests, digest_of
from earwitness.ingest.naming import of_names
from earwitness.ingest.record import Made, Place
from earwitness.ingest.refusals import to_nobody
from earwitness.ingest.shelf import Aside, Tape, Texts
from earwitness.ingest.spans.texts import as_text, masked
from earwitness.schema.model import Actor, Delivery, Event, Loss, Sighting, Time, Trace
from earwitness.schema.times import as_time
from earwitness.schema.words import CHANNELS, ActorKind, Channel, Flag, Grade, LossKind, SightingKind

USER = "user"
_NOBODY = {"", "unknown", "none", "null"}
# A sighting with its place: content, actor, kind, number, time, event; line, offset, length, pointer, source.
_Seen = tuple[str, str | None, SightingKind, int, Time | None, str | None, int, int, int, str, int]


@of_names
def named(name: str) -> str | None:
    """A name, or None where a recorder had none to give."""
    return name if name.strip().lower() not in _NOBODY else None


def listed(value: Any) -> list[Any]:
    """A list, or an empty one where something else stands in its place."""
    return value if isinstance(value, list) else []


def said(content: Any) -> str | None:
    """A content as text, or None where nothing was said."""
    if content is None or content in ("", "None"):
        return None
    text = as_text(content)
    return text if text.strip() else None


@dataclass(slots=True)
class Draft(Aside):
    """An event that may still change: who heard it, and on which channel."""

    place: Place
    seq: int
    channel: Channel
    id: str
    kind: str
    sender: str | None
    to: list[Delivery]
    texts: Texts = field(compare=False, repr=False)
    kept: str | int
    time: Time | None = None
    flags: tuple[Flag, ...] = ()
    parent: str | None = None
    attributes: dict[str, Any] | None = None

    def refuse(self) -> None:
        """It reached nobody: there is no such tool, say, or somebody forbade the call."""
        if "not_delivered" not in self.flags:
            self.to = list(to_nobody(self.to))
            self.flags = (*self.flags, "not_delivered")

    def reach(self, names: Iterable[str], grade: Grade, *, delivered: bool = True) -> None:
        """Add recipients that are not yet there and are not the sender."""
        for name in names:
            if named(name) and name != self.sender and all(d.actor != name for d in self.to):
                self.to.append(Delivery(name, grade, delivered))


@dataclass
class Tale:
    """One trace while it is read.

    Attributes:
        trace: what its row says.
    """

    trace: Trace
    place: Place
    drafts: dict[str, Draft] = field(default_factory=dict)
    _actors: dict[str, tuple[Actor, Place]] = field(default_factory=dict)
    _sightings: Tape[_Seen] = field(default_factory=Tape)
    _shown: Digests = field(default_factory=Digests)
    _losses: dict[tuple[LossKind, Channel | None, str], tuple[int, Place]] = field(default_factory=dict)
    _texts: Texts = field(default_factory=Texts)
    _seq: int = 0

    def observe(self, *channels: Channel) -> None:
        """Say anew what such a recording can show."""
        self.trace = replace(self.trace, observable=channels)

    def observe_too(self, channel: Channel) -> None:
        """Say that this recording shows a channel that not every one of its kind does."""
        known = self.trace.observable
        if known is not None:
            self.observe(*(c for c in CHANNELS if c in known or c == channel))

    def next(self) -> int:
        """The next number of a step."""
        self._seq += 1
        return self._seq - 1

    def actor(self, name: str | None, kind: ActorKind = "agent", evidence: str = "declared") -> str | None:
        """Make a party known; gives its name."""
        name = named(name)
        if name is not None and name not in self._actors:
            self._actors[name] = Actor(trace=self.trace.id, name=name, kind=kind, evidence=evidence), self.place
        return name

    def event(
        self,
        place: Place,
        channel: Channel,
        content: str,
        *,
        key: str,
        kind: str,
        sender: str | None = None,
        to: Iterable[Delivery] = (),
        time: Time | None = None,
        flags: tuple[Flag, ...] = (),
        parent: str | None = None,
    ) -> Draft:
        """Tell an event, once for each key."""
        if key not in self.drafts:
            hidden: tuple[Flag, ...] = ("masked",) if masked(content) else ()
            hearers, kept = [d for d in to if named(d.actor)], self._texts.keep(content)
            told = (place, self.next(), channel, key, kind, named(sender), hearers, self._texts, kept)
            self.drafts[key] = Draft(*told, time, flags + hidden, parent)
        return self.drafts[key]

    def sighting(
        self,
        place: Place,
        content: str,
        actor: str | None,
        kind: SightingKind,
        *,
        time: Time | None = None,
        event: str | None = None,
    ) -> None:
        """Tell that an actor was shown a text; the first time is enough."""
        actor = named(actor)
        if self._shown.add(digest_of(f"{kind}:{len(actor) if actor else -1}:{actor}{content}")):
            self._sightings.append((content, actor, kind, self.next(), as_time(time), event, *place), len(content))

    def lose(self, kind: LossKind, channel: Channel | None, detail: str, place: Place) -> None:
        """Count something that the recording does not hold."""
        n, first = self._losses.get((kind, channel, detail), (0, place))
        self._losses[kind, channel, detail] = n + 1, first

    def items(self) -> Iterator[Made]:
        """Everything, once nothing is open any more."""
        yield Made(self.trace, self.place)
        yield from (Made(actor, place) for actor, place in self._actors.values())
        drafts = sorted(self.drafts.values(), key=lambda d: d.seq)
        events = ((draft.seq, self._event(draft)) for draft in drafts)
        sightings = ((seen[3], self._sighting(seen)) for seen in self._sightings)
        yield from (made for _, made in heapq.merge(events, sightings, key=lambda step: step[0]))
        for (kind, channel, detail), (n, place) in self._losses.items():
            yield Made(Loss(trace=self.trace.id, kind=kind, channel=channel, n=n, detail=detail), place)

    def _event(self, d: Draft) -> Made:
        told = Event(
            trace=self.trace.id,
            id=d.id,
            seq=d.seq,
            time=as_time(d.time),
            channel=d.channel,
            kind=d.kind,
            sender=d.sender,
            to=tuple(d.to),
            content=d.content,
            flags=d.flags,
            parent=d.parent,
            attributes=d.attributes,
        )
        return Made(told, d.place)

    def _sighting(self, seen: _Seen) -> Made:
        content, actor, kind, seq, time, event, *_ = seen
        shown = Sighting(trace=self.trace.id, content=content, actor=actor, kind=kind, seq=seq, time=time, event=event)
        return Made(shown, Place(*seen[6:]))
