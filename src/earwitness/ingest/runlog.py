"""What is read of many runs, put aside until each is told: on disk, with an index by run in memory."""

import struct
from array import array
from collections.abc import Callable, Iterator
from itertools import chain
from operator import sub
from typing import Any

from earwitness.ingest.ahead import Ahead
from earwitness.ingest.frames import Told
from earwitness.ingest.record import Emit, Place, Record
from earwitness.ingest.shelf import Shelf, packed, unpacked
from earwitness.ingest.workers import jobs_for, tell_all

# Line, offset, length and source of a place, then the bytes of its pointer and those of the value; see `Key`.
_HEAD = struct.Struct("<6q")
# Of so many bytes a record that ends among them is read with what follows.
_ROOM = 4 << 10


class Chains:
    """Numbers by name, each name's in the order in which they came: two numbers in memory for each of them."""

    def __init__(self) -> None:
        # The latest of each name; of each the number, and which one of its name came before.
        self._latest: dict[str, int] = {}
        self._numbers, self._before = array("q"), array("q")

    def add(self, name: str, number: int) -> None:
        """Put a number behind those of a name."""
        self._before.append(self._latest.get(name, -1))
        self._latest[name] = len(self._numbers)
        self._numbers.append(number)

    def __contains__(self, name: str) -> bool:
        return name in self._latest

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._latest)

    def names(self) -> Iterator[str]:
        """In order of appearance."""
        return iter(self._latest)

    def of(self, name: str) -> "array[int]":
        """The numbers of a name."""
        found, at = array("q"), self._latest.get(name, -1)
        while at >= 0:
            found.append(self._numbers[at])
            at = self._before[at]
        found.reverse()
        return found

    def clear(self) -> None:
        """Forget all."""
        self._latest.clear()
        self._numbers, self._before = array("q"), array("q")


class RunLog:
    """Records by run; what the log holds of one is read when it is asked for, record by record."""

    def __init__(self) -> None:
        self._shelf = Shelf()
        self._chains = Chains()

    def __contains__(self, run: str) -> bool:
        return run in self._chains

    def __len__(self) -> int:
        """How many runs there are."""
        return len(self._chains)

    @property
    def size(self) -> int:
        """Bytes that were put aside."""
        return self._shelf.size

    def add(self, run: str, value: Any, place: Place) -> int:
        """Put a record behind the others of its run; gives where it lies.

        Raises:
            RecursionError: it is nested too deep to be written.
        """
        return self.add_packed(run, packed(value), place)

    def add_packed(self, run: str, raw: tuple[bytes, int], place: Place) -> int:
        """The same for what `packed` gave."""
        line, offset, length, pointer, source = place
        where, (data, sign) = pointer.encode("utf-8", "surrogatepass"), raw
        head = _HEAD.pack(line, offset, length, source, len(where), sign * len(data))
        at = self._shelf.put_bytes(head + where + data)
        self.share(run, at)
        return at

    def share(self, run: str, at: int) -> None:
        """Put what lies there behind the records of another run, too."""
        self._chains.add(run, at)

    def names(self) -> Iterator[str]:
        """The runs, in order of appearance."""
        return self._chains.names()

    def of(self, run: str) -> Iterator[Record]:
        """The records of a run, in order."""
        numbers = self.numbers(run)
        # A record ends where the next one begins, or before: mostly it is read at once.
        return map(self._record, numbers, map(sub, chain(numbers[1:], (self.size,)), numbers))

    def numbers(self, run: str) -> "array[int]":
        """Where its records lie, in order."""
        return self._chains.of(run)

    def record(self, at: int) -> Record:
        """The record that lies there."""
        return self._record(at, 0)

    def _record(self, at: int, room: int) -> Record:
        """The record of which the bytes are among so many; if that says nothing they are counted."""
        if not _HEAD.size <= room <= _ROOM:
            *_, pointed, size = _HEAD.unpack(self._shelf.get_bytes(at, _HEAD.size))
            room = _HEAD.size + pointed + abs(size)
        raw = self._shelf.get_bytes(at, room)
        line, offset, length, source, pointed, size = _HEAD.unpack_from(raw)
        start = _HEAD.size + pointed
        pointer = raw[_HEAD.size : start].decode("utf-8", "surrogatepass") if pointed else ""
        place = tuple.__new__(Place, (line, offset, length, pointer, source))  # there are many of them
        return tuple.__new__(Record, (unpacked(raw[start : start + abs(size)], size), place))

    def places(self, run: str) -> Iterator[Place]:
        """Where they stand."""
        return (record.place for record in self.of(run))

    def close(self) -> None:
        """Let them go."""
        self._shelf.close()
        self._chains.clear()


class ToldLog(RunLog):
    """Records by run, and what is told of them.

    Args:
        tell: says what there is to say of a run, by its name; it raises nothing and changes nothing outside.
        jobs: the most processes that may tell runs.
    """

    def __init__(self, tell: Callable[[str], Told], jobs: int) -> None:
        super().__init__()
        self._tell, self._jobs = tell, jobs
        self._ahead = Ahead(tell, jobs)

    def share(self, run: str, at: int) -> None:
        """Put what lies there behind the records of a run; what was told of it is void."""
        super().share(run, at)
        self._ahead.touch(run, self.size)

    def told(self) -> Iterator[Emit]:
        """What is told of all runs, in order of appearance; then they are gone."""
        jobs = jobs_for(len(self), self.size, self._jobs, self._ahead)
        for _, told in tell_all(self.names(), self._tell, jobs, self._ahead):
            yield from told.emits
        self.close()
