"""One trace while it is told: steps numbered on one count, every actor declared once, every copy told once an actor."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from earwitness.ingest.digests import Digests, digest_of
from earwitness.ingest.jsonout import encoder
from earwitness.ingest.naming import of_names
from earwitness.ingest.record import Context, Made, Place
from earwitness.schema.model import Actor, Delivery, Event, Loss, Sighting, Time, Trace
from earwitness.schema.words import ActorKind, Channel, Flag, Grade, LossKind, SightingKind

_ENCODE = encoder(ensure_ascii=False, separators=(",", ":"), default=str)
_NOBODY = ("", "unknown", "none", "null", "undefined")
_RECIPIENT_KINDS: dict[Channel, ActorKind] = {
    "C1": "user",
    "C2": "agent",
    "C3": "tool",
    "C4": "agent",
    "C5": "memory",
    "C6": "log",
    "C7": "artifact_store",
}
USER = "user"
# How many runs without id an import has had by now of each name: looking for the next free one again is quadratic.
_COUNTS: WeakKeyDictionary[Context, dict[str, int]] = WeakKeyDictionary()


@of_names
def name_of(value: str) -> str | None:
    """A name that names somebody, or None."""
    text = value.strip()
    return None if text.lower() in _NOBODY else text


def text_of(value: Any) -> str:
    """Content as text: text as it is, nothing as nothing, everything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return _ENCODE(value)


def base_name(source: str) -> str:
    """The last part of a path, or of the name of an archive's member: what a run is called that has no id."""
    return re.split(r"[/\\\\!]", source)[-1]


def run_name(context: Context, suffix: str = "") -> str:
    """An id for a run that has none: the name of its file, numbered where another file has the same."""
    name = base_name(context.name) + suffix
    counts = _COUNTS.setdefault(context, {})
    for n in count(counts.get(name, 0) + 1):
        counts[name] = n
        candidate = name if n == 1 else f"{name}#{n}"
        if context.claim("run without id", candidate):
            break
    return candidate


def folded(text: str) -> str:
    """Text without what copies change: case and spaces."""
    return " ".join(text.split()).casefold()


def _words(text: str) -> bytes:
    """The same in short: a chronicle remembers every text of its trace."""
    return digest_of(folded(text))


def undelivered(actor: str, grade: Grade = "declared") -> Delivery:
    """A recipient that was meant, and never got it."""
    return Delivery(actor, grade, delivered=False)


class Chronicle:
    """Makes the items of one trace.

    Args:
        trace: its id.
    """

    def __init__(self, trace: str) -> None:
        self.trace = trace
        self._n = 0
        self._actors: set[str] = set()
        # By actor, what was shown to it, and what it said: of a long trace there is much.
        self._shown: defaultdict[str | None, Digests] = defaultdict(Digests)
        self._said: defaultdict[str | None, Digests] = defaultdict(Digests)

    def head(self, place: Place, **fields: Any) -> Made:
        """The line of the trace itself."""
        return Made(Trace(id=self.trace, **fields), place)

    def actor(
        self, place: Place, name: str | None, kind: ActorKind = "agent", evidence: str = "declared", **more: Any
    ) -> Iterator[Made]:
        """Declare an actor, the first time it is named."""
        if not name or name in self._actors:
            return iter(())
        self._actors.add(name)
        return iter((Made(Actor(trace=self.trace, name=name, kind=kind, evidence=evidence, **more), place),))

    def event(
        self,
        place: Place,
        channel: Channel,
        content: str,
        *,
        sender: str | None = None,
        to: Iterable[str | Delivery] = (),
        id: str | None = None,
        time: Time | None = None,
        kind: str | None = None,
        flags: tuple[Flag, ...] = (),
        sender_kind: ActorKind = "agent",
        to_kind: ActorKind | None = None,
        evidence: str = "declared",
        attributes: dict[str, Any] | None = None,
    ) -> Iterator[Made]:
        """Something was produced; its parties are declared with it. Nothing is made of empty content."""
        if not content or content.isspace():
            return iter(())
        sender, told, recipients = sender or None, list[Made](), list[str | Delivery]()
        if sender and sender not in self._actors:
            told += self.actor(place, sender, sender_kind, evidence)
        for party in to:
            name = party if isinstance(party, str) else party.actor
            if not name:
                continue
            recipients.append(party)
            if name not in self._actors:
                told += self.actor(place, name, to_kind or _RECIPIENT_KINDS[channel], evidence)
        self._said[sender].add(_words(content))
        event = Event(
            trace=self.trace,
            channel=channel,
            content=content,
            id=id,
            seq=self._next(),
            time=time,
            kind=kind,
            sender=sender,
            to=tuple(recipients),
            flags=flags,
            attributes=attributes,
        )
        told.append(Made(event, place))
        return iter(told)

    def said(self, author: str | None, content: str) -> bool:
        """Whether an event told that this author said this."""
        return _words(content) in self._said[author]

    def shown(
        self,
        place: Place,
        actor: str | None,
        content: str,
        kind: SightingKind = "input",
        time: Time | None = None,
        event: str | None = None,
    ) -> Iterator[Made]:
        """A copy, told once an actor, of an event if ids say so; what an actor said itself is no news to it."""
        words = _words(content) if content and not content.isspace() else None
        if words is None or words in self._said[actor] or not self._shown[actor].add(words):
            return iter(())
        told = list(self.actor(place, actor))
        sighting = Sighting(
            trace=self.trace, content=content, actor=actor, kind=kind, seq=self._next(), time=time, event=event
        )
        told.append(Made(sighting, place))
        return iter(told)

    def loss(self, place: Place, kind: LossKind, channel: Channel | None, detail: str) -> Made:
        """What happened and is not in the record."""
        return Made(Loss(trace=self.trace, kind=kind, channel=channel, detail=detail), place)

    def _next(self) -> int:
        self._n += 1
        return self._n - 1
