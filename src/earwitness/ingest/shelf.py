"""Values put aside on disk until the run they belong to is told: what an import holds is not all in memory at once."""

import json
import marshal
import pickle
import tempfile
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from earwitness.ingest.record import Place

T = TypeVar("T")

_IN_MEMORY = 8 << 20
_NUMBERS = 6
# What a value takes in memory besides its text, and how much of a tape stays there.
_OBJECT, _BLOCK = 300, 1 << 20


class Key(NamedTuple):
    """Where a value lies on the shelf; the size is negative where it lies there as JSON."""

    offset: int
    size: int


class Shelf:
    """A file of decoded JSON values without a name, so that nothing of it stays; what it reads it wrote itself."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by `close`
        self._end = 0

    def put(self, value: Any) -> Key:
        """Put a value aside; gives the key to get it back."""
        raw, sign = _raw(value)
        return Key(self._write(raw), sign * len(raw))

    def _write(self, raw: bytes) -> int:
        self._file.seek(self._end)
        self._file.write(raw)
        self._end += len(raw)
        return self._end - len(raw)

    def get(self, key: tuple[int, int]) -> Any:
        """A value as it was."""
        self._file.seek(key[0])
        raw = self._file.read(abs(key[1]))
        return json.loads(raw) if key[1] < 0 else marshal.loads(raw)  # noqa: S302 - written by `put`, by nobody else

    def put_whole(self, value: object) -> Key:
        """Put an object of the program aside, with all that it holds."""
        raw = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        return Key(self._write(raw), len(raw))

    def get_whole(self, key: tuple[int, int]) -> Any:
        """An equal object."""
        self._file.seek(key[0])
        # Written by `put_whole` of this process, to a file without a name: no input comes near it.
        return pickle.loads(self._file.read(key[1]))  # noqa: S301

    def close(self) -> None:
        """Give the space back."""
        self._file.close()


class Row:
    """Values with their places, in order: the values lie on a shelf, for only one at a time is looked at."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._numbers = array("q")  # no objects, for there may be millions
        self._pointers: dict[int, str] = {}

    def append(self, pair: tuple[Any, Place]) -> None:
        """Put one more behind the others."""
        value, place = pair
        if place.pointer:
            self._pointers[len(self)] = place.pointer
        self._numbers.extend((*self._shelf.put(value), place.line, place.offset, place.length, place.source))

    def __len__(self) -> int:
        return len(self._numbers) // _NUMBERS

    def __getitem__(self, n: int) -> tuple[Any, Place]:
        if not 0 <= n < len(self):
            raise IndexError(n)
        start, size, line, offset, length, source = self._numbers[n * _NUMBERS : (n + 1) * _NUMBERS]
        return self._shelf.get((start, size)), Place(line, offset, length, self._pointers.get(n, ""), source)

    def __iter__(self) -> Iterator[tuple[Any, Place]]:
        return map(self.__getitem__, range(len(self)))


class Tape(Generic[T]):
    """Values in order, of which only the latest are in memory: the others lie on a shelf, in blocks of about 1 MB.

    Args:
        values: what it holds at first.
    """

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._latest = list(values)
        self._first, self._size = 0, 0
        self._starts, self._keys = array("q"), list[Key]()
        self._shelf: Shelf | None = None

    def append(self, value: T, length: int) -> None:
        """Put one more at the end; `length` is that of its text, in characters."""
        self._latest.append(value)
        self._size += length + _OBJECT
        if self._size >= _BLOCK:
            self._put_aside()

    def _put_aside(self) -> None:
        if self._shelf is None:
            self._shelf = Shelf()
            weakref.finalize(self, self._shelf.close)
        self._starts.append(self._first)
        self._keys.append(self._shelf.put_whole(self._latest))
        self._first += len(self._latest)
        self._latest, self._size = [], 0

    def __len__(self) -> int:
        return self._first + len(self._latest)

    def since(self, start: int) -> Iterator[T]:
        """The values from number `start` on, one block at a time."""
        if self._shelf and start < self._first:
            n = bisect_right(self._starts, start) - 1
            for begin, key in zip(self._starts[n:], self._keys[n:], strict=True):
                yield from self._shelf.get_whole(key)[max(0, start - begin) :]
        yield from self._latest[max(0, start - self._first) :]

    def __iter__(self) -> Iterator[T]:
        return self.since(0)

    def __reduce__(self) -> tuple[Any, ...]:
        """Whole, for it may lie on a shelf itself."""
        return type(self), (list(self),)


def _raw(value: Any) -> tuple[bytes, int]:
    """Bytes of a value, and -1 for JSON: what comes from tables may hold dates, which become text."""
    try:
        return marshal.dumps(value), 1
    except ValueError:
        return json.dumps(value, separators=(",", ":"), default=str).encode("ascii"), -1
