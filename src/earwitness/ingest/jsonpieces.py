"""JSON values too large to be decoded at once: their large arrays are walked, a MB of elements at a time.

The bytes of such a value are put aside on disk. A look at its quotes and brackets says where its large arrays are and
where they may be cut (`jsonscan`). Then every part is decoded once, to know that the whole is JSON and repeats no key;
after that an adapter gets the value with an `Elements` in the place of each of these arrays, which decodes them again
while it is walked. A value that cannot be taken so is decoded as a whole, or refused, like any other.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from secrets import token_hex
from types import TracebackType
from typing import Any, NamedTuple, Self

from earwitness.ingest.jsonscan import Array
from earwitness.ingest.jsontext import (
    ODD,
    DecodeError,
    decode_document,
    decode_known,
    decode_plainly,
    decode_tolerantly,
)
from earwitness.ingest.record import Adapter, Elements, Place
from earwitness.ingest.shelf import Shelf

_BLANK = b" \t\r\n"
# At least so many elements tell what is in an array.
_SAMPLE = 20
# Stands for a large array where the rest is decoded: nobody who wrote the value can have known it.
_MARK = token_hex(16) + ":"


@dataclass(slots=True)
class _Part:
    """What is decoded at once: a stretch of bytes but for the large arrays in it."""

    start: int
    end: int
    path: str
    holes: list[Array]
    follows: bool = False  # upon elements of the same array
    plain: bool | None = None  # the fast decoder is enough; None before it was tried
    count: int = 0  # of elements

    @property
    def size(self) -> int:
        """Bytes that are decoded."""
        return self.end - self.start - sum(hole.end - hole.start for hole in self.holes)


class _Made(NamedTuple):
    path: str
    value: Any


class Parts:
    """The parts of a value, decoded as they are asked for.

    Args:
        shelf: its bytes.
        root: what was found in it.
        document: a control character in a text may say that it was cut off: the value is no line of its own.

    Attributes:
        paths: of the large arrays.
    """

    def __init__(self, shelf: Shelf, root: Array, *, document: bool) -> None:
        self._shelf, self._decode = shelf, decode_document if document else decode_tolerantly
        self._root = _Part(root.start - 1, root.end + 1, "", root.inner)
        self._of: dict[int, list[_Part]] = {}
        self._parts, self.paths = [self._root], set[str]()
        for part in self._parts:  # which grows
            for array in part.holes:
                self.paths.add(array.path)
                self._of[array.start] = found = self._cut(array)
                self._parts += found

    @property
    def largest(self) -> int:
        """Bytes of the largest part."""
        return max(part.size for part in self._parts)

    def check(self) -> None:
        """Decode every part.

        Raises:
            DecodeError: the value is no JSON, or repeats a key.
        """
        for part in self._parts:
            self._check(part)

    def _check(self, part: _Part) -> None:
        try:
            value = self._try(part)
        except DecodeError as error:
            raise DecodeError(error.what, part.start) from None
        part.count = len(value)
        if part.holes and not self._fill(value, part, lambda array: None):
            raise DecodeError("not JSON: an array stands where none can be", part.start)
        if part.follows and not part.count:
            raise DecodeError("not JSON: expecting value", part.end)

    def _cut(self, array: Array) -> list[_Part]:
        """Parts of some elements each; what stands behind the last comma is none where it is blank."""
        ends = [n for n in array.cuts if n < array.end]
        if ends and not self._shelf.get_bytes(ends[-1], array.end - ends[-1]).strip(_BLANK):
            ends.pop()
        edges = [array.start, *ends, array.end]
        out = [_Part(a, b, array.path, [], a > array.start) for a, b in pairwise(edges)]
        number = 0
        for inner in array.inner:
            while inner.start > out[number].end:
                number += 1
            out[number].holes.append(inner)
        return out

    def _raw(self, part: _Part) -> bytes:
        pieces, at = list[bytes](), part.start
        for hole in part.holes:
            pieces += (self._shelf.get_bytes(at, hole.start - 1 - at), b'"%b%d"' % (_MARK.encode(), hole.start))
            at = hole.end + 1
        text = b"".join((*pieces, self._shelf.get_bytes(at, part.end - at)))
        if part is self._root:
            return text
        if not part.follows:
            return b"[" + text + b"]"
        bare = text.lstrip(_BLANK)
        if not bare.startswith(b","):
            raise DecodeError("not JSON: expecting ',' delimiter", part.start)
        return b"[" + bare[1:] + b"]"

    def _decoded(self, part: _Part, make: Callable[[Array], Any]) -> Any:
        value = decode_known(self._raw(part)) if part.plain else self._try(part)
        if part.holes:
            self._fill(value, part, make)
        return value

    def _try(self, part: _Part) -> Any:
        raw = self._raw(part)
        value = ODD if part.plain is False else decode_plainly(raw)
        part.plain = value is not ODD
        return value if part.plain else self._decode(raw)

    def _fill(self, value: Any, part: _Part, make: Callable[[Array], Any]) -> bool:
        """Put what is made of the large arrays where they stand; False if one does not stand where it should."""
        made = {f"{_MARK}{hole.start}": _Made(hole.path, make(hole)) for hole in part.holes}
        waiting, placed = [(value, part.path)], 0
        while waiting:
            owner, path = waiting.pop()
            named = type(owner) is dict
            for key, inner in list(owner.items()) if named else enumerate(owner):
                if type(inner) is dict or type(inner) is list:
                    waiting.append((inner, f"{path}/{key if named else '*'}"))
                elif type(inner) is str and inner in made:
                    placed += made[inner].path == f"{path}/{key if named else '*'}"
                    owner[key] = made[inner].value
        return placed == len(made)

    def value(self) -> Any:
        """The value, with an `Elements` for each large array."""
        return self._decoded(self._root, self._elements)

    def _elements(self, array: Array) -> "_Walked":
        return _Walked(self, self._of[array.start])

    def sample(self) -> Any:
        """The value with no more than the first elements of each large array."""
        return self._decoded(self._root, self._first)

    def _first(self, array: Array) -> Any:
        out = list[Any]()
        for part in self._of[array.start]:
            if len(out) < _SAMPLE:
                out += self._decoded(part, self._first)
        return out

    def walk(self, parts: list[_Part]) -> Iterator[Any]:
        """The elements of an array, one part at a time."""
        for part in parts:
            yield from self._decoded(part, self._elements)


class _Walked(Elements):
    """The elements of a large array of a value."""

    def __init__(self, owner: Parts, parts: list[_Part]) -> None:
        self._owner, self._parts = owner, parts

    def __iter__(self) -> Iterator[Any]:
        return self._owner.walk(self._parts)

    def __len__(self) -> int:
        return sum(part.count for part in self._parts)


@dataclass
class Large:
    """A large value that was found to be valid.

    Attributes:
        place: of the whole.
        shelf: its bytes.
        parts: its parts.
        sample: the value with no more than the first elements of each large array: enough to know the format.
        document: it is no line of its own.
    """

    place: Place
    shelf: Shelf
    parts: Parts
    sample: Any
    document: bool

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.shelf.close()

    def suits(self, adapter: Adapter) -> bool:
        """Whether an adapter takes all of the arrays that were cut one element at a time."""
        return self.parts.paths <= set(getattr(adapter, "PIECES", ()))

    def value(self) -> Any:
        """The value, with an `Elements` for each large array."""
        return self.parts.value()

    def raw(self) -> bytes:
        """All of its bytes."""
        return self.shelf.get_bytes(0, self.shelf.size)

    def at(self, pointer: str) -> "Large":
        """The same value as a part of another."""
        return replace(self, place=self.place.at(pointer))
