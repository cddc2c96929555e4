"""Values put aside on disk until the run they belong to is told: what an import holds is not all in memory at once."""

import json
import marshal
import os
import pickle
import tempfile
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import IO, Any, Generic, NamedTuple, TypeVar, cast

from earwitness.ingest.record import Place

T = TypeVar("T")

_NUMBERS = 4
# What a value takes in memory besides its text, and how much of a tape stays there.
_OBJECT, _BLOCK, _BLOCK_NUMBERS = 300, 1 << 20, 1 << 17
# Texts that take no more than the number by which they would be found; bits for the length of a text in such a number,
# which has 64 of them as long as the texts take less than 4 GB.
_SHORT, _SIZE_BITS = 24, 32
_SIZE = (1 << _SIZE_BITS) - 1
# So much is read at once: of values in order, and of one that stands elsewhere.
_AHEAD, _NEAR = 64 << 10, 4 << 10


class Key(NamedTuple):
    """Where a value lies on the shelf; the size is negative where it lies there as JSON."""

    offset: int
    size: int


class Shelf:
    """A file of decoded JSON values without a name, so that nothing of it stays; what it reads it wrote itself."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None  # made when there is something to write
        self._latest = bytearray()
        self._written = 0
        self._seen, self._seen_at = b"", 0

    def put(self, value: Any) -> Key:
        """Put a value aside; gives the key to get it back."""
        return self.put_packed(*_raw(value))

    def put_packed(self, raw: bytes, sign: int) -> Key:
        """Put aside what `packed` gave."""
        return Key(self.put_bytes(raw), sign * len(raw))

    @property
    def size(self) -> int:
        """Bytes that were put aside, also when it is closed."""
        return self._written + len(self._latest)

    def put_bytes(self, raw: bytes) -> int:
        """Put bytes aside; gives where they lie. Those that could not be written are not there.

        Raises:
            OSError: there is no room.
        """
        at = self.size
        self._latest += raw
        if len(self._latest) >= _BLOCK:
            try:
                self._flush()
            except OSError:
                del self._latest[at - self._written :]
                raise
        return at

    def _flush(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with the shelf
            weakref.finalize(self, self._file.close)
        self._file.seek(self._written)
        with memoryview(self._latest) as rest:
            done = 0
            while done < len(rest):
                done += self._file.write(rest[done:])
        self._written += len(self._latest)
        self._latest = bytearray()

    def get_bytes(self, at: int, size: int) -> bytes:
        """Bytes that were put aside; what follows them is mostly read next."""
        if at + size > self._written or self._file is None:
            start = max(at, self._written)
            there = self._read(at, start - at) if at < start else b""
            return there + self._latest[start - self._written : at + size - self._written]
        if size > _AHEAD:
            return self._read(at, size)
        start = at - self._seen_at
        if start < 0 or start + size > len(self._seen):
            follows = 0 <= start < len(self._seen) + _AHEAD  # where the last part ended within it, too
            self._seen, self._seen_at, start = self._read(at, max(size, _AHEAD if follows else _NEAR)), at, 0
        return self._seen[start : start + size]

    def _read(self, at: int, size: int) -> bytes:
        """Bytes of the file; fewer, where it ends before."""
        file = cast("IO[bytes]", self._file)
        parts = [_read_at(file, at, size)]
        while (rest := size - sum(map(len, parts))) and (part := _read_at(file, at + size - rest, rest)):
            parts.append(part)  # some 2 GB are read at once
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def get(self, key: tuple[int, int]) -> Any:
        """A value as it was."""
        return unpacked(self.get_bytes(key[0], abs(key[1])), key[1])

    def put_whole(self, value: object) -> Key:
        """Put an object of the program aside, with all that it holds."""
        raw = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        return Key(self.put_bytes(raw), len(raw))

    def get_whole(self, key: tuple[int, int]) -> Any:
        """An equal object."""
        # Written by `put_whole` of this process, to a file without a name: no input comes near it.
        return pickle.loads(self.get_bytes(*key))  # noqa: S301

    def close(self) -> None:
        """Give the space back."""
        if self._file is not None:
            self._file.close()
        self._written = self.size
        self._latest, self._seen = bytearray(), b""


class Integers:
    """Numbers of 64 bits in order, of which only the latest are in memory."""

    def __init__(self) -> None:
        self.latest = array("q")
        self._keys: list[Key] = []
        self._shelf: Shelf | None = None

    def extend(self, numbers: Iterable[int]) -> None:
        """Put some more at the end; these stay together in one block."""
        self.latest.extend(numbers)
        if len(self.latest) >= _BLOCK_NUMBERS:
            self._put_aside()

    def _put_aside(self) -> None:
        if self._shelf is None:
            self._shelf = Shelf()
        self._keys.append(self._shelf.put(self.latest.tobytes()))
        self.latest = array("q")

    def blocks(self) -> Iterator["array[int]"]:
        """All, a block at a time."""
        for key in self._keys if self._shelf else ():
            block = array("q")
            block.frombytes(self._shelf.get(key) if self._shelf else b"")
            yield block
        yield self.latest


def _read_at(file: IO[bytes], at: int, size: int) -> bytes:
    """Bytes of a file, where its position is no matter: copies of this process share it."""
    if hasattr(os, "pread"):
        return os.pread(file.fileno(), size, at)
    file.seek(at)
    return file.read(size)


class Texts:
    """Texts in any number: the first MB stays in memory, the others lie on a shelf, but for short ones."""

    def __init__(self) -> None:
        self._size = 0
        self._shelf: Shelf | None = None

    def keep(self, text: str) -> str | int:
        """Take a text; gives it, or the number by which it is found."""
        self._size += len(text)
        if self._size < _BLOCK or len(text) < _SHORT:
            return text
        if self._shelf is None:
            self._shelf = Shelf()
        raw = text.encode("utf-8", "surrogatepass")
        return self._shelf.put_bytes(raw) << _SIZE_BITS | len(raw)

    def text(self, kept: str | int) -> str:
        """The text of what `keep` gave."""
        if isinstance(kept, str) or self._shelf is None:
            return str(kept)
        return self._shelf.get_bytes(kept >> _SIZE_BITS, kept & _SIZE).decode("utf-8", "surrogatepass")


class Aside:
    """Something with a text that may lie among `texts`; `kept` is what they gave for it."""

    __slots__ = ("kept", "texts")
    texts: Texts
    kept: str | int

    @property
    def content(self) -> str:
        """What was said; it may lie on disk."""
        return self.texts.text(self.kept)

    @content.setter
    def content(self, text: str) -> None:
        self.kept = self.texts.keep(text)


class Whereabouts:
    """Places in order: numbers and no objects, for there may be millions."""

    def __init__(self) -> None:
        self._numbers = array("q")
        self._pointers: dict[int, str] = {}

    def append(self, place: Place) -> None:
        """Put one more behind the others."""
        line, offset, length, pointer, source = place
        if pointer:
            self._pointers[len(self)] = pointer
        self._numbers.extend((line, offset, length, source))

    def __len__(self) -> int:
        return len(self._numbers) // _NUMBERS

    def __getitem__(self, n: int) -> Place:
        line, offset, length, source = self._numbers[n * _NUMBERS : (n + 1) * _NUMBERS]
        return Place(line, offset, length, self._pointers.get(n, ""), source)

    def __iter__(self) -> Iterator[Place]:
        return map(self.__getitem__, range(len(self)))


class Row:
    """Values with their places, in order: the values lie on a shelf, for only one at a time is looked at."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._keys = array("q")
        self.places = Whereabouts()

    def append(self, pair: tuple[Any, Place]) -> None:
        """Put one more behind the others."""
        value, place = pair
        self._keys.extend(self._shelf.put(value))
        self.places.append(place)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, n: int) -> tuple[Any, Place]:
        if not 0 <= n < len(self):
            raise IndexError(n)
        start, size = self._keys[2 * n : 2 * n + 2]
        return self._shelf.get((start, size)), self.places[n]

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
        self._shelf: Shelf | None = None
        self._starts: array[int]  # of what lies there
        self._keys: list[Key]

    def append(self, value: T, length: int) -> None:
        """Put one more at the end; `length` is that of its text, in characters."""
        self._latest.append(value)
        self._size += length + _OBJECT
        if self._size >= _BLOCK:
            self._put_aside()

    def _put_aside(self) -> None:
        if self._shelf is None:
            self._shelf, self._starts, self._keys = Shelf(), array("q"), []
        self._starts.append(self._first)
        self._keys.append(self._shelf.put_whole(self._pack(self._latest)))
        self._first += len(self._latest)
        self._latest, self._size = [], 0

    def _pack(self, values: list[T]) -> Any:
        """A block as it is put aside; some kinds of values have a form that is made faster."""
        return values

    def _unpack(self, packed: Any) -> list[T]:
        """What was packed."""
        return cast("list[T]", packed)

    def __len__(self) -> int:
        return self._first + len(self._latest)

    def since(self, start: int) -> Iterator[T]:
        """The values from number `start` on, one block at a time."""
        if self._shelf and start < self._first:
            n = bisect_right(self._starts, start) - 1
            for begin, key in zip(self._starts[n:], self._keys[n:], strict=True):
                yield from self._unpack(self._shelf.get_whole(key))[max(0, start - begin) :]
        yield from self._latest[max(0, start - self._first) :]

    def __iter__(self) -> Iterator[T]:
        return self.since(0)

    def __reduce__(self) -> tuple[Any, ...]:
        """Whole, for it may lie on a shelf itself."""
        return type(self), (list(self),)


def packed(value: Any) -> tuple[bytes, int]:
    """The same for equal values, which it is not where some of their parts are shared in memory."""
    return _raw(value, 2)


def unpacked(raw: bytes, sign: int) -> Any:
    """The value of what `packed` gave; only the sign counts of the number."""
    return json.loads(raw) if sign < 0 else marshal.loads(raw)  # noqa: S302 - written by `put`, by nobody else


def _raw(value: Any, version: int = marshal.version) -> tuple[bytes, int]:
    """Bytes of a value, and -1 for JSON: what comes from tables may hold dates, which become text."""
    try:
        return marshal.dumps(value, version), 1
    except ValueError:
        return json.dumps(value, separators=(",", ":"), default=str).encode("ascii"), -1
