"""What passes between the stages of ingest: sources, records, and what adapters make of records."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeGuard

from earwitness.schema.model import Item
from earwitness.schema.words import Outcome

_SCALARS = (str, int, float)


class Place(NamedTuple):
    """Where a record stands: line from 1, byte offset, bytes, JSON pointer, number of the source (-1: the current)."""

    line: int
    offset: int
    length: int
    pointer: str = ""
    source: int = -1

    def at(self, pointer: str) -> "Place":
        """The same place, one step deeper."""
        line, offset, length, above, source = self
        return tuple.__new__(Place, (line, offset, length, above + pointer, source))  # there are many of them

    def of(self, source: int) -> "Place":
        """The same place, in a source."""
        line, offset, length, pointer, _ = self
        return tuple.__new__(Place, (line, offset, length, pointer, source))


class Record(NamedTuple):
    """A decoded record."""

    value: Any
    place: Place

    def at(self, pointer: str) -> "Record":
        """The same record as a part of another."""
        value, place = self
        return tuple.__new__(Record, (value, place.at(pointer)))


def some(parts: Iterator[Record], place: Place, why: str) -> Iterator[Record]:
    """The parts of an envelope one by one; of an empty one a record that is ignored, and why."""
    empty = True
    for part in parts:
        empty = False
        yield part
    if empty:
        yield Record(Skip("ignored", why, place), place)


class Elements(ABC):
    """The elements of an array that is too large to be held: they are decoded while it is walked, every time."""

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """The elements in order."""

    @abstractmethod
    def __len__(self) -> int:
        """How many there are."""


def is_array(value: Any) -> TypeGuard[list[Any] | Elements]:
    """Whether a decoded value is an array, held or walked."""
    return type(value) is list or (value is not None and isinstance(value, Elements))


def first_scalar(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The first of these fields that is a text or a number; None if there is none."""
    for key in keys:  # a plain loop over known types: every record is asked
        found = value.get(key)
        if found is not None and isinstance(found, _SCALARS):
            return found
    return None


class Skip(NamedTuple):
    """A record (or part of one) that was not mapped, and why. Reasons never quote content."""

    outcome: Outcome
    reason: str
    place: Place


class Lost(Skip):
    """A record of a run that could not be told: it is skipped unless something else is told of it, now or later."""


class Made(NamedTuple):
    """A canonical item and where it came from."""

    item: Item
    place: Place


# What `Made` does, without a call of Python: there are many of them.
make: Callable[[tuple[Item, Place]], Made] = partial(tuple.__new__, Made)


class Sent(Made):
    """An item of which the types of its fields are known to be right."""


class Cut(Made):
    """What is said of a run that could not be told to its end; no record says it."""


Emit = Made | Skip


class Reader(Protocol):
    """One adapter at work on one source, or on all of them."""

    def feed(self, record: Record) -> Iterable[Emit]:
        """What can be said at once of a record; a record for which no `Skip` comes counts as mapped."""
        ...

    def finish(self) -> Iterable[Emit]:
        """What could only be said at the end."""
        ...


class Context(Protocol):
    """What an adapter may ask of the import."""

    @property
    def name(self) -> str:
        """Name of the source that is read now."""
        ...

    @property
    def stem(self) -> str:
        """Its name without endings, and without folders where no other folder of the import holds that name."""
        ...

    @property
    def jobs(self) -> int:
        """How many processes may tell runs."""
        ...

    def claim(self, *key: str | bytes) -> bool:
        """True the first time `key` is claimed in this import; False says it is a duplicate."""
        ...


class Adapter(Protocol):
    """A module of `earwitness.ingest.adapters`.

    Attributes:
        NAME: the dialect, as `inspect` prints it.
        TITLE: what users call the format.
        PRIORITY: lower is asked first (default 50).
        READER: adapters that name the same reader share it for the whole import, and it finishes after the last
            source: a trace may be spread over files. Without it each source has a reader of its own.
        split: takes an envelope apart, `split(record) -> Iterable[Record]`; its parts are the records then.
        PIECES: arrays of the envelope, as JSON pointers with `*` for the number of an element, that `split` walks once
            and one element at a time: in a large value they are `Elements`, and `split` must give its parts one by one.
            `sniff` is given the first elements of each, in a list.
        sniff_text: whether text that is no JSON is of this format, told from its first 256 KiB; all of its lines then
            come to it as records `{"_line": text}`, with `"_above": [blank lines]` where some stand above.
    """

    NAME: str
    TITLE: str

    def sniff(self, value: Any) -> bool:
        """Whether a decoded record is of this dialect; must be cheap and never raise."""
        ...

    def open(self, context: Context) -> Reader:
        """A reader for one source."""
        ...


@dataclass
class Source:
    """One file, or one member of an archive, while it is read."""

    name: str
    number: int = 0
    parent: int | None = None
    container: str = ""
    dialects: dict[str, int] = field(default_factory=dict)
    records: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    problem: str | None = None
    sha256: str = ""
    bytes: int = 0

    def skipped(self, outcome: Outcome, n: int = 1) -> None:
        """Count records that were not mapped."""
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + n

    def settle(self) -> None:
        """Conservation: what was not otherwise accounted for was mapped."""
        others = sum(n for outcome, n in self.outcomes.items() if outcome != "mapped")
        self.outcomes["mapped"] = self.records - others
