"""The items of one trace while it is read: drafts that later records may still correct, told at the end."""

from array import array
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from earwitness.ingest.langchain.book import Book
from earwitness.ingest.langchain.drafts import Draft, Seen, To
from earwitness.ingest.langchain.index import Index
from earwitness.ingest.langchain.messages import clean
from earwitness.ingest.record import Emit, Made, Place
from earwitness.ingest.shelf import Texts
from earwitness.ingest.spans.texts import flags_of
from earwitness.schema.model import Actor, Delivery, Event, Loss, Sighting, Trace
from earwitness.schema.times import as_time
from earwitness.schema.words import CHANNELS, ActorKind, Channel, Flag, LossKind, SightingKind

USER = "user"
_NEVER = -1, 0
_LOSSES: dict[Flag, tuple[LossKind, str]] = {
    "masked": ("masked", "hidden before it was recorded"),
    "truncated": ("truncated", "cut before it was recorded"),
    "reference": ("reference", "kept elsewhere"),
}
_RUNGS = ("declared", "attribute", "node", "structural")


class Ledger:
    """What was found in a trace so far.

    Attributes:
        drafts: events, by number.
        sightings: by number, too.
        aliases: other names of an actor, by name.
        texts: what was said and shown, on disk from the second MB on.
    """

    def __init__(self) -> None:
        self.drafts = Book(Draft)
        self.sightings = Book(Seen)
        self.actors: dict[str, tuple[ActorKind, str]] = {}
        self.aliases: dict[str, str] = {}
        self.texts = Texts()
        self.losses: Counter[tuple[LossKind, Channel | None, str]] = Counter()
        self._seq = 0
        self._ids = Index()
        self._hidden = array("q")  # drafts whose contents are not whole
        self._used: set[Channel] = set()
        self._named: Counter[str] = Counter()  # how many drafts name a sender or a recipient
        self._outcomes: dict[tuple[str, To, Channel | None, bool], int] = {}
        self._settled = array("q")  # drafts whose outcome shows at the end
        self._how = array("q")  # and the numbers of the outcomes

    def event(
        self,
        channel: Channel,
        content: str,
        *,
        kind: str,
        name: str,
        place: Place,
        kept: str | int | None = None,
        sender: str | None = None,
        to: To = (),
        time: Any = None,
        flags: tuple[Flag, ...] = (),
        attributes: dict[str, Any] | None = None,
    ) -> int:
        """Draft a production; `name` becomes its id, `kept` stands for a content that `texts` has."""
        kept = self.texts.keep(content) if kept is None else kept
        told = (self._id(name), channel, kept, kind, place, self._next(), sender, to, as_time(time), flags)
        number = self.drafts.append(Draft(*told, attributes=attributes))
        self._look_into(number, content)
        self._used.add(channel)
        if sender:
            self._named[sender] += 1
        self._name(to, 1)
        return number

    def _name(self, to: To, n: int) -> None:
        for actor, _ in to:
            self._named[actor] += n

    def _id(self, name: str) -> str:
        n = (self._ids.get(name) or 0) + 1
        self._ids.put(name, n)
        return name if n == 1 else f"{name}.{n}"

    def _look_into(self, number: int, content: str) -> None:
        """See whether something of a content was hidden or cut."""
        hidden = flags_of(content, None)
        if hidden:
            self._hidden.append(number)
            self.drafts[number].hidden = hidden

    def say_anew(self, number: int, content: str) -> None:
        """An event has another content than was thought."""
        draft = self.drafts[number]
        draft.kept, draft.hidden = self.texts.keep(content), ()
        self._look_into(number, content)

    def address(self, draft: Draft, kind: str, to: To) -> None:
        """An event went to others than was thought."""
        self._name(draft.to, -1)
        self._name(to, 1)
        draft.kind, draft.to = kind, to

    def sign(self, number: int, sender: str) -> None:
        """The sender of an event becomes known."""
        self._named[sender] += 1
        self.drafts[number].sender = sender

    def names(self, actor: str) -> bool:
        """Whether somebody of this name sends or gets any event."""
        return self._named[actor] > 0

    def is_same(self, one: str | None, other: str | None) -> bool:
        """Whether two names are of one actor."""
        return one is not None and other is not None and self.aliases.get(one, one) == self.aliases.get(other, other)

    def settle(self, number: int, kind: str, to: To, *, channel: Channel | None = None, delivered: bool = True) -> None:
        """What became of an event, seen at the end: noted, and entered when it is told."""
        outcome = kind, to, channel, delivered
        self._settled.append(number)
        self._how.append(self._outcomes.setdefault(outcome, len(self._outcomes)))

    def sighting(
        self,
        actor: str | None,
        kind: SightingKind,
        content: str,
        place: Place,
        *,
        time: Any = None,
        draft: int | None = None,
        kept: str | int | None = None,
    ) -> int | None:
        """`actor` was shown a text; `kept` stands for one that `texts` has. Nothing is no sighting."""
        seq = self._next()
        if not content.strip():
            return None
        kept = self.texts.keep(content) if kept is None else kept
        event = None if draft is None else self.drafts[draft].id
        return self.sightings.append(Seen(actor, kind, kept, place, seq, as_time(time), event))

    def shown(self) -> tuple[Channel, ...]:
        """Channels that could be seen: nothing records artifacts, and a store shows only where its use was an event."""
        return tuple(c for c in CHANNELS if c not in ("C5", "C7") or c in self._used)

    def forget(self, sighting: int) -> None:
        """A sighting that a better one stands for."""
        self.sightings[sighting].kept = ""

    def rest(self) -> None:
        """Put aside what was not looked at lately; nobody may hold a draft or a sighting now."""
        self.drafts.rest()
        self.sightings.rest()

    def actor(self, name: str | None, kind: ActorKind, evidence: str) -> None:
        """A party; what runs as an agent is one, and the strongest evidence stands."""
        if name is None:
            return
        known = self.actors.get(name)
        if known == (kind, evidence) or not clean(name):
            return
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
        for seq, row in enumerate(self._rows()):
            row.seq = seq
            told = self._event(trace.id, row) if isinstance(row, Draft) else self._sighting(trace.id, row)
            yield Made(told, row.place)

    def _rows(self) -> Iterator[Draft | Seen]:
        """What is told, in order."""
        sightings = (seen for seen in self.sightings if seen.kept != "")
        seen = next(sightings, None)
        for draft in self._events():
            while seen is not None and seen.seq < draft.seq:
                yield seen
                seen = next(sightings, None)
            yield draft
        if seen is not None:
            yield seen
        yield from sightings

    def _events(self) -> Iterator[Draft]:
        """The drafts, with what became of them."""
        order, outcomes = np.argsort(np.array(self._settled, np.int64), kind="stable"), list(self._outcomes)
        settled, how = (array("q", np.array(a, np.int64)[order].tobytes()) for a in (self._settled, self._how))
        late = zip(settled, how, strict=True)
        due, outcome = next(late, _NEVER)
        for number, draft in enumerate(self.drafts):
            while due == number:
                draft.kind, draft.to, channel, draft.delivered = outcomes[outcome]
                draft.channel = channel or draft.channel
                due, outcome = next(late, _NEVER)
            yield draft

    def _settle(self) -> None:
        """Count what is hidden in events, on the channels that they have in the end."""
        hidden, outcomes = set(self._hidden), list(self._outcomes)
        late = zip(self._settled, self._how, strict=True)
        channels = {number: outcomes[how][2] for number, how in late if number in hidden}
        for number in sorted(hidden):
            draft = self.drafts[number]
            for flag in draft.hidden:
                if flag in _LOSSES:
                    self.lose(_LOSSES[flag][0], channels.get(number) or draft.channel, _LOSSES[flag][1])
            self.rest()

    def _event(self, trace: str, draft: Draft) -> Event:
        to = [(self._real(name), grade) for name, grade in dict(draft.to).items() if clean(name)]
        declared = draft.delivered
        flags = tuple(dict.fromkeys((*draft.flags, *draft.hidden))) if draft.hidden else draft.flags
        return Event(
            trace=trace,
            id=draft.id,
            seq=draft.seq,
            time=draft.time,
            channel=draft.channel,
            kind=draft.kind,
            sender=self._real(draft.sender) if draft.sender and clean(draft.sender) else None,
            to=tuple(n if declared and g == "declared" else Delivery(n, g, draft.delivered) for n, g in to),
            content=self.texts.text(draft.kept),
            flags=flags if draft.delivered else (*flags, "not_delivered"),
            attributes=draft.attributes,
        )

    def _sighting(self, trace: str, seen: Seen) -> Sighting:
        return Sighting(
            trace=trace,
            actor=self._real(seen.actor) if seen.actor else None,
            kind=seen.kind,
            content=self.texts.text(seen.kept),
            seq=seen.seq,
            time=seen.time,
            event=seen.event,
        )

    def _real(self, name: str) -> str:
        return self.aliases.get(name, name)

    def _next(self) -> int:
        self._seq += 1
        return self._seq - 1
