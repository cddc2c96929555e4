"""The items of one trace while it is read: drafts that later records may still correct, told at the end."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.langchain.messages import clean
from earwitness.ingest.record import Emit, Made, Place
from earwitness.ingest.shelf import Aside, Texts
from earwitness.ingest.spans.texts import flags_of
from earwitness.schema.model import Actor, Delivery, Event, Loss, Sighting, Trace
from earwitness.schema.words import CHANNELS, ActorKind, Channel, Flag, Grade, LossKind, SightingKind

USER = "user"
_LOSSES: dict[Flag, tuple[LossKind, str]] = {
    "masked": ("masked", "hidden before it was recorded"),
    "truncated": ("truncated", "cut before it was recorded"),
    "reference": ("reference", "kept elsewhere"),
}
_RUNGS = ("declared", "attribute", "node", "structural")


@dataclass(eq=False, slots=True)
class Draft(Aside):
    """An event that is not told yet."""

    channel: Channel
    texts: Texts
    kept: str | int
    kind: str
    name: str
    place: Place
    seq: int
    sender: str | None = None
    to: tuple[tuple[str, Grade], ...] = ()
    time: Any = None
    flags: tuple[Flag, ...] = ()
    attributes: dict[str, Any] | None = None
    delivered: bool = True
    id: str = ""


@dataclass(eq=False, slots=True)
class Seen:
    """A sighting that is not told yet."""

    actor: str | None
    kind: SightingKind
    kept: str | int
    place: Place
    seq: int
    time: Any = None
    draft: Draft | None = None


@dataclass
class Ledger:
    """What was found in a trace so far.

    Attributes:
        aliases: other names of an actor, by name.
        texts: what was said and shown, on disk from the second MB on.
    """

    drafts: list[Draft] = field(default_factory=list)
    sightings: list[Seen] = field(default_factory=list)
    actors: dict[str, tuple[ActorKind, str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    texts: Texts = field(default_factory=Texts)
    losses: Counter[tuple[LossKind, Channel | None, str]] = field(default_factory=Counter)
    _seq: int = 0

    def event(
        self,
        channel: Channel,
        content: str,
        *,
        kind: str,
        name: str,
        place: Place,
        kept: str | int | None = None,
        **rest: Any,
    ) -> Draft:
        """Draft a production; `name` becomes its id, `kept` stands for a content that `texts` has."""
        kept = self.texts.keep(content) if kept is None else kept
        draft = Draft(channel, self.texts, kept, kind, name, place, self._next(), **rest)
        self.drafts.append(draft)
        return draft

    def sighting(
        self,
        actor: str | None,
        kind: SightingKind,
        content: str,
        place: Place,
        *,
        time: Any = None,
        draft: Draft | None = None,
        kept: str | int | None = None,
    ) -> Seen:
        """`actor` was shown a text; `kept` stands for one that `texts` has."""
        told = bool(content.strip())
        kept = self.texts.keep(content) if told and kept is None else kept
        seen = Seen(actor, kind, kept if told and kept is not None else "", place, self._next(), time, draft)
        if told:
            self.sightings.append(seen)
        return seen

    def shown(self) -> tuple[Channel, ...]:
        """Channels that could be seen: nothing records artifacts, and a store shows only where its use was an event."""
        used = {d.channel for d in self.drafts}
        return tuple(c for c in CHANNELS if c not in ("C5", "C7") or c in used)

    def forget(self, seen: Seen | None) -> None:
        """A sighting that a better one stands for."""
        if seen:
            seen.kept = ""

    def actor(self, name: str | None, kind: ActorKind, evidence: str) -> None:
        """A party; what runs as an agent is one, and the strongest evidence stands."""
        if name is None or not clean(name):
            return
        known = self.actors.get(name)
        promoted = known is not None and kind == "agent" != known[0]
        stronger = known is not None and kind == known[0] and _RUNGS.index(evidence) < _RUNGS.index(known[1])
        if known is None or promoted or stronger:
            self.actors[name] = (kind, evidence)

    @property
    def agents(self) -> list[str]:
        """The agents known so far."""
        return [name for name, (kind, _) in self.actors.items() if kind == "agent"]

    def lose(self, kind: LossKind, channel: Channel | None, detail: str, n: int = 1) -> None:
        """Something happened that the record does not hold."""
        self.losses[(kind, channel, detail)] += n

    def tell(self, trace: Trace, place: Place) -> Iterator[Emit]:
        """All items of the trace."""
        self._settle()
        yield Made(trace, place)
        for name in dict.fromkeys(map(self._real, self.actors)):
            kind, evidence = self.actors.get(name) or ("agent", "node")
            aliases = tuple(sorted(a for a, real in self.aliases.items() if real == name))
            yield Made(Actor(trace=trace.id, name=name, kind=kind, evidence=evidence, aliases=aliases), place)
        for (kind_, channel, detail), n in self.losses.items():
            yield Made(Loss(trace=trace.id, kind=kind_, channel=channel, detail=detail, n=n), place)
        items: list[Draft | Seen] = [*self.drafts, *(s for s in self.sightings if s.kept != "")]
        items.sort(key=lambda i: i.seq)
        for seq, item in enumerate(items):
            item.seq = seq
            told = self._event(trace.id, item) if isinstance(item, Draft) else self._sighting(trace.id, item)
            yield Made(told, item.place)

    def _settle(self) -> None:
        """Name the events, and count what is hidden in them."""
        names: Counter[str] = Counter()
        for draft in self.drafts:
            names[draft.name] += 1
            draft.id = draft.name if names[draft.name] == 1 else f"{draft.name}.{names[draft.name]}"
            draft.flags = tuple(dict.fromkeys((*draft.flags, *flags_of(draft.content, None))))
            for flag in draft.flags:
                if flag in _LOSSES:
                    self.lose(_LOSSES[flag][0], draft.channel, _LOSSES[flag][1])

    def _event(self, trace: str, draft: Draft) -> Event:
        to = [(self._real(name), grade) for name, grade in dict(draft.to).items() if clean(name)]
        declared = draft.delivered
        return Event(
            trace=trace,
            id=draft.id,
            seq=draft.seq,
            time=_moment(draft.time),
            channel=draft.channel,
            kind=draft.kind,
            sender=self._real(draft.sender) if draft.sender and clean(draft.sender) else None,
            to=tuple(n if declared and g == "declared" else Delivery(n, g, draft.delivered) for n, g in to),
            content=draft.content,
            flags=draft.flags if draft.delivered else (*draft.flags, "not_delivered"),
            attributes=draft.attributes,
        )

    def _sighting(self, trace: str, seen: Seen) -> Sighting:
        return Sighting(
            trace=trace,
            actor=self._real(seen.actor) if seen.actor else None,
            kind=seen.kind,
            content=self.texts.text(seen.kept),
            seq=seen.seq,
            time=_moment(seen.time),
            event=seen.draft.id if seen.draft else None,
        )

    def _real(self, name: str) -> str:
        return self.aliases.get(name, name)

    def _next(self) -> int:
        self._seq += 1
        return self._seq - 1


def _moment(value: Any) -> str | int | float | None:
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None
