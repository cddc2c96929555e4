"""What a reader gathers of one trace before it can say who heard what: events, sightings, losses, in order.

Conversation logs name recipients, members and final answers late, so that events stay open until the end.
A text is held once however often it is repeated.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from earwitness.ingest.record import Made, Place
from earwitness.ingest.spans.texts import as_text, masked
from earwitness.schema.model import Actor, Delivery, Event, Item, Loss, Sighting, Time, Trace
from earwitness.schema.words import CHANNELS, ActorKind, Channel, Flag, Grade, LossKind, SightingKind

USER = "user"
_NOBODY = {"", "unknown", "none", "null"}


def named(name: Any) -> str | None:
    """A name, or None where a recorder had none to give."""
    return name if isinstance(name, str) and name.strip().lower() not in _NOBODY else None


def listed(value: Any) -> list[Any]:
    """A list, or an empty one where something else stands in its place."""
    return value if isinstance(value, list) else []


def timed(value: Any) -> Time | None:
    """A time as the schema takes it, or None where something else stands in its place."""
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else None


def said(content: Any) -> str | None:
    """A content as text, or None where nothing was said."""
    if content is None or content in ("", "None"):
        return None
    text = as_text(content)
    return text if text.strip() else None


@dataclass
class Draft:
    """An event that may still change: who heard it, and on which channel."""

    place: Place
    seq: int
    channel: Channel
    content: str
    id: str
    kind: str
    sender: str | None = None
    to: list[Delivery] = field(default_factory=list)
    time: Time | None = None
    flags: tuple[Flag, ...] = ()
    parent: str | None = None
    attributes: dict[str, Any] | None = None

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
    _sightings: dict[tuple[str | None, str, str], tuple[Sighting, Place]] = field(default_factory=dict)
    _losses: dict[tuple[LossKind, Channel | None, str], tuple[int, Place]] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)
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
            content = self._texts.setdefault(content, content)
            hidden: tuple[Flag, ...] = ("masked",) if masked(content) else ()
            hearers = [d for d in to if named(d.actor)]
            self.drafts[key] = Draft(
                place, self.next(), channel, content, key, kind, named(sender), hearers, time, flags + hidden, parent
            )
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
        if (actor, kind, content) in self._sightings:
            return
        content = self._texts.setdefault(content, content)
        self._sightings[actor, kind, content] = (
            Sighting(
                trace=self.trace.id,
                content=content,
                actor=actor,
                kind=kind,
                seq=self.next(),
                time=timed(time),
                event=event,
            ),
            place,
        )

    def lose(self, kind: LossKind, channel: Channel | None, detail: str, place: Place) -> None:
        """Count something that the recording does not hold."""
        n, first = self._losses.get((kind, channel, detail), (0, place))
        self._losses[kind, channel, detail] = n + 1, first

    def items(self) -> Iterator[Made]:
        """Everything, once nothing is open any more."""
        yield Made(self.trace, self.place)
        yield from (Made(actor, place) for actor, place in self._actors.values())
        steps: list[tuple[int, Item, Place]] = [(d.seq, self._event(d), d.place) for d in self.drafts.values()]
        steps += [(s.seq or 0, s, place) for s, place in self._sightings.values()]
        yield from (Made(item, place) for _, item, place in sorted(steps, key=lambda step: step[0]))
        for (kind, channel, detail), (n, place) in self._losses.items():
            yield Made(Loss(trace=self.trace.id, kind=kind, channel=channel, n=n, detail=detail), place)

    def _event(self, d: Draft) -> Event:
        return Event(
            trace=self.trace.id,
            id=d.id,
            seq=d.seq,
            time=timed(d.time),
            channel=d.channel,
            kind=d.kind,
            sender=d.sender,
            to=tuple(d.to),
            content=d.content,
            flags=d.flags,
            parent=d.parent,
            attributes=d.attributes,
        )
