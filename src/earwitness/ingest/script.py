"""The script of one run: items in order of telling, for formats of which one record holds a whole run."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from earwitness.ingest.jsonout import encoder
from earwitness.ingest.record import Context, Emit, Made, Place, Record, Skip
from earwitness.ingest.soundness import is_sound
from earwitness.schema.model import Actor, Delivery, Event, Item, Loss, Sighting, Time, Trace
from earwitness.schema.words import ActorKind, Channel, Flag, LossKind, SightingKind

# What a record that is not as known makes an adapter raise.
MALFORMED = (
    KeyError,
    TypeError,
    AttributeError,
    ValueError,
    IndexError,
    OverflowError,
    RecursionError,
    msgspec.ValidationError,
)
_JSON = encoder(ensure_ascii=False, default=json.JSONEncoder().default, separators=(",", ":"))
_NO_NAMES = frozenset({"", "none", "null", "unknown", "undefined"})


def text(value: Any) -> str:
    """A content as text: strings as they are, nothing as nothing, everything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else _JSON(value)


def digest(value: Any) -> str:
    """A short mark of what a record says, for runs that have no name of their own."""
    return hashlib.sha256(text(value).encode("utf-8", "surrogatepass")).hexdigest()[:10]


def is_name(name: Any) -> bool:
    """Whether a record really names somebody."""
    return isinstance(name, str) and name.strip().lower() not in _NO_NAMES


def made(item: Item, place: Place) -> Made:
    """An item whose fields are of the types they must have, so that a strange record cannot break the store.

    Raises:
        msgspec.ValidationError: a name is no text, say.
    """
    if not is_sound(item):
        raise msgspec.ValidationError("a field is not of its type")
    return Made(item, place)


@dataclass
class Script:
    """Collects what is told of one trace; events and sightings share one count.

    Attributes:
        trace: id of the run.
        place: where the record stands; pointers lead on from there.
    """

    trace: str
    place: Place
    made: list[Emit] = field(default_factory=list)
    seq: int = 0
    _actors: set[str] = field(default_factory=set)

    def put(self, item: Item, pointer: str = "") -> None:
        """Any item."""
        self.made.append(made(item, self.place.at(pointer) if pointer else self.place))

    def head(self, framework: str | None, **known: Any) -> None:
        """The trace itself."""
        self.put(Trace(id=self.trace, framework=framework, **known))

    def actor(self, name: Any, kind: ActorKind = "agent", evidence: str = "declared", **known: Any) -> None:
        """A party, the first time it is named."""
        if is_name(name) and name not in self._actors:
            self._actors.add(name)
            self.put(Actor(trace=self.trace, name=name, kind=kind, evidence=evidence, **known))

    def event(
        self,
        channel: Channel,
        content: Any,
        pointer: str = "",
        *,
        sender: str | None = None,
        to: Sequence[str | Delivery] = (),
        id: str | None = None,
        kind: str | None = None,
        time: Time | None = None,
        parent: str | None = None,
        turn: int | None = None,
        flags: tuple[Flag, ...] = (),
    ) -> str:
        """A content that was produced; gives the id of its event."""
        name = id or f"e{self.seq}"
        event = Event(
            trace=self.trace,
            channel=channel,
            content=text(content),
            id=name,
            seq=self.seq,
            time=time,
            kind=kind,
            sender=sender if is_name(sender) else None,
            to=tuple(d for d in to if is_name(d.actor if isinstance(d, Delivery) else d)),
            parent=parent,
            turn=turn,
            flags=flags,
        )
        self.put(event, pointer)
        self.seq += 1
        return name

    def sighting(
        self,
        content: Any,
        pointer: str = "",
        *,
        actor: str | None,
        kind: SightingKind = "initial",
        time: Time | None = None,
        event: str | None = None,
    ) -> None:
        """A content that was shown to somebody; nothing where there is no text."""
        if shown := text(content):
            told = Sighting(
                trace=self.trace, content=shown, actor=actor, kind=kind, seq=self.seq, time=time, event=event
            )
            self.put(told, pointer)
            self.seq += 1

    def loss(self, kind: LossKind, detail: str, channel: Channel | None = None, n: int = 1) -> None:
        """Something that happened and is not in the record."""
        self.put(Loss(trace=self.trace, kind=kind, channel=channel, n=n, detail=detail))


@dataclass
class Scripts:
    """The scripts of all traces of a source whose records come one by one; each goes on where it was."""

    known: dict[str, Script] = field(default_factory=dict)
    _open: dict[str, Script] = field(default_factory=dict)

    def of(self, trace: str, place: Place | None = None) -> Script:
        """The script of a trace, at the place of the record that is told now (None: of the last one)."""
        script = self.known.get(trace) or Script(trace, place or Place(0, 0, 0))
        self.known[trace] = script
        script.place = place or script.place
        self._open[trace] = script
        return script

    def told(self) -> list[Emit]:
        """What was said since the last time."""
        said = [emit for script in self._open.values() for emit in script.made]
        for script in self._open.values():
            script.made.clear()
        self._open.clear()
        return said


Tell = Callable[[Any, Place, str], Script]


class WholeRuns:
    """A reader of a format of which one record is one run.

    Args:
        context: of the import.
        title: what the format is called in reasons.
        tell: the script of a record, from its value, its place and the name of the file.
    """

    def __init__(self, context: Context, title: str, tell: Tell) -> None:
        self.context, self.title, self.tell = context, title, tell

    def feed(self, record: Record) -> Iterable[Emit]:
        """All items of the run at once."""
        try:
            script = self.tell(record.value, record.place, self.context.name)
        except MALFORMED as error:
            return [Skip("unparseable", f"not {self.title} as known: {type(error).__name__}", record.place)]
        if not self.context.claim(self.title, script.trace):
            return [Skip("duplicate", "the same run was read before", record.place)]
        return script.made

    def finish(self) -> Iterable[Emit]:
        """Nothing is kept."""
        return ()
