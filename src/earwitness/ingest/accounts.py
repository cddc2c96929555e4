"""Which of the records that a reader was fed it has told of: kept small, for there may be millions.

A row of a trace or of an actor alone says nothing of what a record holds.
"""

from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from earwitness.ingest.record import Emit, Place, Skip
from earwitness.ingest.shelf import Integers, Tape
from earwitness.schema.model import Actor, Trace

_FIELDS = 5
_ROWS = (Trace, Actor)


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
        self._told = Integers()
        self._latest: Place | None = None

    def enter(self, adapter: str, place: Place, emits: Iterable[Emit]) -> None:
        """Enter a record with what was told when it was fed, of itself or of earlier ones."""
        reader = self.readers.setdefault((adapter, place.source), len(self.readers))
        known = False
        for emit in emits:
            if emit.place is place or _of(emit.place, place):
                known = known or _tells(emit)
            else:
                self.told(emit)
        if not known:
            if place.pointer:
                self._pointers.append((self._waits, place.pointer), len(place.pointer))
            self._waiting.extend((place.source, place.line, place.offset, place.length, reader))
            self._waits += 1

    def told(self, emit: Emit) -> None:
        """Something was told of a record that was fed before."""
        place = emit.place
        if place is self._latest or not _tells(emit):
            return
        self._latest = place
        pointer, key = place.pointer if len(self._pointers) else "", _key(place, "")
        if not pointer:
            if self._told.latest[-1:] != array("q", (key,)):
                self._told.extend((key,))
            return
        keys = [key]
        while pointer:  # the record may be a part of an envelope, and the item of a part of the record
            keys.append(_key(place, pointer))
            pointer = pointer.rpartition("/")[0]
        if self._told.latest[-len(keys) :].tolist() != keys:
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


def _tells(emit: Emit) -> bool:
    return type(emit) is Skip or type(emit[0]) not in _ROWS


def _of(part: Place, record: Place) -> bool:
    same = part.offset == record.offset and part.line == record.line and part.source == record.source
    return same and part.pointer.startswith(record.pointer)


def _key(place: Place, pointer: str) -> int:
    return hash((place[4], place[0], place[1], pointer))
