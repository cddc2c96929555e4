"""What a copy of this process tells of a run, on its way to where it is stored: through a pipe, or by a file."""

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import IO, NamedTuple

import msgspec

from earwitness.ingest.record import Cut, Emit, Lost, Made, Place, Sent, Skip
from earwitness.schema.model import Item
from earwitness.schema.words import Outcome

# What is said of a run goes in parts of about this many bytes, of which an emit takes some whatever it says.
_PART, _LEAST = 1 << 20, 100
# The length of a frame, 0 where there is no form for it, and whether more of the same run follows.
_HEAD = struct.Struct(">q?")
# Of an item that was decoded the types are right.
_MADE, _CUT, _SKIP, _LOST = range(4)
_CODES: dict[type[Emit], int] = {Made: _MADE, Cut: _CUT, Skip: _SKIP, Lost: _LOST}
_sent = partial(tuple.__new__, Sent)  # without a call of Python: there are many of them


class Told(NamedTuple):
    """What is told of a run, and what its reader keeps of it: keys, with the places where they were met first.

    The keys are there when the last emit was taken.
    """

    emits: Iterable[Emit]
    keys: dict[str, Place]


class _Frame(NamedTuple):
    """A part of it on its way: of each emit its kind and place, and in order the items and the words of skips."""

    kinds: bytes
    places: list[Place]
    items: list[Item]
    words: list[tuple[Outcome, str]]
    keys: dict[str, Place]


_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(_Frame).decode


def send(out: IO[bytes], told: Told) -> None:
    """Write what is told of a run; nothing of it that comes behind a part for which there is no form."""
    for emits, more in _parts(told.emits):
        data = _packed(emits, {} if more else told.keys)
        more = more and data != b""
        out.write(_HEAD.pack(len(data), more))
        out.write(data)
        if not more:
            return


class Inbox:
    """Where it arrives, run by run.

    Args:
        file: a pipe, or a file.
        gone: nothing arrives: there was no process.
    """

    def __init__(self, file: IO[bytes], *, gone: bool = False) -> None:
        self.file = file
        self._gone = gone

    def told(self, tell: Callable[[], Told], keys: dict[str, Place]) -> Iterator[Emit]:
        """What is told of the next run; what does not get here is told here.

        Args:
            tell: says the same.
            keys: takes the keys.
        """
        known, more = 0, True
        while more:
            frame, more = self._next()
            if frame is None:
                yield from self._rest(tell(), known, keys, more=more)
                return
            yield from _unpacked(frame)
            keys.update(frame.keys)
            known += len(frame.kinds)

    def _rest(self, told: Told, known: int, keys: dict[str, Place], *, more: bool) -> Iterator[Emit]:
        """All but the first `known` emits; what is still sent of the run is left aside."""
        yield from islice(told.emits, known, None)
        keys.update(told.keys)
        while more:
            _, more = self._next()

    def _next(self) -> tuple[_Frame | None, bool]:
        """The next frame, if it gets here, and whether there are more of the same run."""
        head = b"" if self._gone else self.file.read(_HEAD.size)
        size, more = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, False)
        data = self.file.read(size)
        self._gone = self._gone or len(head) < _HEAD.size or len(data) < size
        if self._gone or not data:
            return None, False
        try:
            return _DECODE(data), more
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None, more  # an item that is not of its types: who tells it here sees why


def _parts(emits: Iterable[Emit]) -> Iterator[tuple[list[Emit], bool]]:
    """Parts that are held at once, each with whether another one follows: the last one may be empty."""
    part, size = list[Emit](), 0
    for emit in emits:
        part.append(emit)
        size += _LEAST + len(getattr(emit[0], "content", ""))
        if size >= _PART:
            yield part, True
            part, size = [], 0
    yield part, False


def _packed(emits: list[Emit], keys: dict[str, Place]) -> bytes:
    """Empty where there is no form for something, such as a lone surrogate or an integer above 64 bits."""
    kinds = bytes(_CODES[type(e)] for e in emits)
    items = [e.item for e in emits if isinstance(e, Made)]
    words = [(e.outcome, e.reason) for e in emits if isinstance(e, Skip)]
    try:
        return _ENCODE(_Frame(kinds, [e.place for e in emits], items, words, keys))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return b""


def _unpacked(frame: _Frame) -> Iterator[Emit]:
    if not any(frame.kinds):
        yield from map(_sent, zip(frame.items, frame.places, strict=True))
        return
    items, words = iter(frame.items), iter(frame.words)
    for code, place in zip(frame.kinds, frame.places, strict=True):
        if code in (_MADE, _CUT):
            yield Cut(next(items), place) if code == _CUT else _sent((next(items), place))
        else:
            yield Lost(*next(words), place) if code == _LOST else Skip(*next(words), place)
