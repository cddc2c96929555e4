"""Which of the records that a reader was fed it has told of: kept small, for there may be millions.

A row of a trace or of an actor alone says nothing of what a record holds.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np

from earwitness.ingest.record import Emit, Made, Place, Sent, Skip
from earwitness.ingest.shelf import Integers, Tape
from earwitness.schema.model import Actor, Trace

_FIELDS = 5
_ROWS = (Trace, Actor)
_ITEMS = (Made, Sent)


class Accounts:
    """The records of one reader of which nothing was told when they were fed, and what was told later.

    Attributes:
        readers: adapters and numbers of sources whose records were fed, in order.
    """

    def __init__(self) -> None:
        self.readers: dict[tuple[str, int], int] = {}
        self._waiting = Integers()
        self._waits = 0
        self._pointers = Tape[tuple[int, str]]()
        self._pointed = False
        self._told = Integers()
        self._latest: Place | None = None
        self._keys: tuple[int, ...] = ()
        self._entered: tuple[str, int, int] = ("", -1, -1)

    def enter(self, adapter: str, place: Place, emits: Iterable[Emit]) -> None:
        """Enter a record with what was told when it was fed, of itself or of earlier ones."""
        known = False
        line, offset, _, pointer, source = place
        for emit in emits:
            at = emit.place  # of the record or a part of it; not by a function, for every item is asked
            if at is place or (at[1] == offset and at[0] == line and at[4] == source and at[3].startswith(pointer)):
                known = known or _tells(emit)
            else:
                self.told(emit)
        reader = self._number(adapter, source)
        if not known:
            if pointer:
                self._pointers.append((self._waits, pointer), len(pointer))
                self._pointed = True
            self._waiting.extend((source, line, offset, place.length, reader))
            self._waits += 1

    def _number(self, adapter: str, source: int) -> int:
        """The number of a reader; mostly the one before asked, too."""
        name, of, number = self._entered
        if source != of or adapter != name:
            number = self.readers.setdefault((adapter, source), len(self.readers))
            self._entered = adapter, source, number
        return number

    def told(self, emit: Emit) -> None:
        """Something was told of a record that was fed before."""
        place = emit.place
        if place == self._latest or not _tells(emit):
            return
        self._latest = place
        key = hash((place[4], place[0], place[1]))
        # The record may be a part of an envelope, and the item of a part of it.
        keys = (key, *[key ^ mark for mark in _marks(place[3])]) if self._pointed and place[3] else (key,)
        if keys != self._keys:
            self._keys = keys
            self._told.extend(keys)

    def untold(self) -> Iterator[tuple[str, Place]]:
        """The records of which nothing was told, with their adapters."""
        names, told = [name for name, _ in self.readers], np.concatenate([np.array(b) for b in self._told.blocks()])
        for places, readers in self._waiting_blocks():
            keys = np.array([_key(place, place.pointer) for place in places], np.int64)
            for n in np.flatnonzero(~np.isin(keys, told)).tolist():
                yield names[readers[n]], places[n]

    def _waiting_blocks(self) -> Iterator[tuple[list[Place], list[int]]]:
        first, pointers = 0, iter(self._pointers)
        at, pointer = next(pointers, (-1, ""))
        for block in self._waiting.blocks():
            rows, places = np.array(block).reshape(-1, _FIELDS).tolist(), list[Place]()
            for n, (source, line, offset, length, _) in enumerate(rows, first):
                places.append(Place(line, offset, length, pointer if at == n else "", source))
                if at == n:
                    at, pointer = next(pointers, (-1, ""))
            yield places, [row[-1] for row in rows]
            first += len(rows)


def pointers(place: Place) -> Iterator[str]:
    """The pointer of a place, and those above it, up to the record itself."""
    yield from _upwards(place.pointer)
    yield ""


def _tells(emit: Emit) -> bool:
    kind = type(emit)  # those of runs that could not be told say nothing
    return kind is Skip or (kind in _ITEMS and type(emit[0]) not in _ROWS)


def _upwards(pointer: str) -> Iterator[str]:
    """A pointer and those above it."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]


@lru_cache(maxsize=4096)
def _marks(pointer: str) -> tuple[int, ...]:
    """What tells a pointer and those above it from others: they are the same for many records."""
    return tuple(map(hash, _upwards(pointer)))


def _key(place: Place, pointer: str) -> int:
    return hash((place[4], place[0], place[1])) ^ hash(pointer)
