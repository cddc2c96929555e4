"""Large JSON values taken out of a stream, whether they stand in a line of their own or over several lines.

What cannot be read in pieces, and is not over the limit, is left to be decoded as a whole, as if nobody had looked.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import closing
from typing import Any, NamedTuple

from earwitness.ingest.jsonpieces import Large, Parts
from earwitness.ingest.jsonscan import Scan
from earwitness.ingest.jsontext import DecodeError
from earwitness.ingest.jsonwindow import Window
from earwitness.ingest.limits import CURE, Limits
from earwitness.ingest.record import Place, Skip
from earwitness.ingest.shelf import Shelf
from earwitness.ingest.stream import Readable
from earwitness.schema.words import Outcome

_BLOCK = 1 << 20
_BLANK = b" \t\r\n"
# What may stand before a value in a line.
_BEFORE = _BLANK + "\ufeff".encode()
_NO_ROOM = "there is no room on disk to put it aside"


class UncutError(Exception):
    """A value that cannot be read in pieces, though it may be valid; the message says why."""


class Cuts(NamedTuple):
    """What arrays may be cut; asked only when there is a large value.

    Attributes:
        paths: of any format.
        of: of the format of a value.
    """

    paths: Callable[[], AbstractSet[str]]
    of: Callable[[Any], AbstractSet[str]]


NO_CUTS = Cuts(frozenset, lambda value: frozenset())


class _Again:
    """A stream from where a value began: what was put aside, what was read beyond it, and the rest."""

    def __init__(self, shelf: Shelf, beyond: bytes, stream: Readable) -> None:
        # What was put aside of earlier values has been read by now.
        self._stream: Readable = stream._stream if isinstance(stream, _Again) else stream
        self._shelf, self._beyond, self._at = shelf, beyond, 0

    def read(self, size: int = -1, /) -> bytes:
        if self._at < self._shelf.size:
            data = self._shelf.get_bytes(self._at, min(size, self._shelf.size - self._at))
            self._at += len(data)
            if self._at == self._shelf.size:
                self._shelf.close()
            return data
        if self._beyond:
            data, self._beyond = self._beyond[:size], self._beyond[size:]
            return data
        return self._stream.read(size)


def refused(what: str, size: int, limit: int, why: str = "") -> str:
    """The reason for which a value over the limit is not taken, and what its owner can do."""
    return f"{what} of {size} bytes, over the limit of {limit}{why and f', and {why}'}{CURE}"


def _large(shelf: Shelf, scan: Scan, place: Place, limits: Limits, cuts: Cuts, *, document: bool) -> Large:
    """A value that was scanned, checked.

    Raises:
        DecodeError: it is not valid.
        UncutError: it may be valid, but cannot be read in pieces.
    """
    root = scan.root
    if scan.stopped:
        raise UncutError(scan.stopped)
    if root is None:
        raise DecodeError("not JSON: the data is cut off")
    if not root.inner:
        raise UncutError("it has no array that can be read in pieces")
    parts = Parts(shelf, root, document=document)
    if parts.largest > limits.line:
        raise UncutError(f"a part of it that cannot be cut is over the limit of {limits.line} bytes")
    large = Large(place, shelf, parts, parts.sample(), document)
    if not parts.paths <= cuts.of(large.sample):
        raise UncutError("its format is not read in pieces")
    parts.check()
    return large


def _why(error: DecodeError | UncutError, what: str, place: Place, limits: Limits) -> tuple[Outcome, str]:
    """Outcome and reason of a value over the limit."""
    if isinstance(error, UncutError):
        return "oversized", refused(what, place.length, limits.line, str(error))
    return "unparseable", error.what if error.at is None else f"{error.what}, behind byte {place.offset + error.at}"


def take_document(window: Window, limits: Limits, cuts: Cuts) -> Large | Skip | None:
    """Take the value at the cursor of a window, which is larger than what is decoded at once.

    Returns:
        The value; or why there is none, if it is over the limit; or None, for it to be decoded as a whole: the window
        is where it was.
    """
    paths = cuts.paths()
    if not paths:
        return None
    shelf, scan = Shelf(), Scan(paths, limits.piece)
    lines, beyond = _put_aside(window, shelf, scan, min(_BLOCK, limits.block))
    place = Place(window.line, window.offset, shelf.size)
    try:
        found = _large(shelf, scan, place, limits, cuts, document=True)
    except (DecodeError, UncutError) as error:
        window.again(_Again(shelf, beyond, window.stream), shelf.size + len(beyond))
        return None if shelf.size <= limits.line else window.give_up(*_why(error, "value", place, limits))
    window.step_over(shelf.size, lines, _indent(shelf) if lines else None, beyond)
    return found


def _put_aside(window: Window, shelf: Shelf, scan: Scan, block: int) -> tuple[int, bytes]:
    """Put the value at the cursor aside; gives the number of line ends in it, and what was read beyond it."""
    data, lines = window.rest(), 0
    while data:
        end = scan.feed(data)
        try:
            shelf.put_bytes(data[:end])
        except OSError:
            scan.stopped = _NO_ROOM
            return lines, data
        lines += data.count(b"\n", 0, end)
        if end is not None or scan.stopped:
            return lines, b"" if end is None else data[end:]
        data = window.read(block)
    return lines, b""


def _indent(shelf: Shelf) -> int:
    """Characters behind the last line end."""
    start, tail = shelf.size, b""
    while start and b"\n" not in tail:
        start = max(0, start - _BLOCK)
        tail = shelf.get_bytes(start, _BLOCK)
    start += tail.rfind(b"\n") + 1
    return len(shelf.get_bytes(start, shelf.size - start).decode("utf-8", "surrogateescape"))


class LongLine:
    """A line that is larger than what is decoded at once, put aside while it is read.

    Args:
        limits: the largest that is decoded as a whole.
        cuts: the arrays that may be cut.
    """

    def __init__(self, limits: Limits, cuts: Cuts) -> None:
        self.limits, self.size = limits, 0
        self._cuts, self._shelf, self._scan = cuts, Shelf(), Scan(cuts.paths(), limits.piece)
        self._why: DecodeError | UncutError | None = None

    def add(self, chunk: bytes) -> None:
        """More of the line."""
        if self._why is None:
            self._look(chunk)
        self.size += len(chunk)
        if self._why is None or (self.size <= self.limits.line and not self._lost):
            try:
                self._shelf.put_bytes(chunk)
            except OSError:
                self._why = UncutError(_NO_ROOM)
        else:
            self._shelf.close()

    @property
    def _lost(self) -> bool:
        return str(self._why) == _NO_ROOM

    def _look(self, chunk: bytes) -> None:
        ended = self._scan.root is not None
        end = 0 if ended else self._scan.feed(chunk)
        if self._scan.stopped:
            self._why = UncutError(self._scan.stopped)
        elif end is not None and chunk[end:].strip(_BLANK):
            self._why = DecodeError("not JSON: extra data", self.size + end)

    def close(self, place: Place) -> Large | Skip | bytes:
        """The line when it has ended, as bytes if it is to be decoded as a whole.

        Args:
            place: where it begins.
        """
        try:
            return self._closed(place)
        except (DecodeError, UncutError) as error:
            place = place._replace(length=self.size)
            with closing(self._shelf):
                if self.size <= self.limits.line and not self._lost:
                    return self._shelf.get_bytes(0, self.size)
            return Skip(*_why(error, "line", place, self.limits), place)

    def _closed(self, place: Place) -> Large:
        if self._why is not None:
            raise self._why
        root = self._scan.root
        if root is not None and self._shelf.get_bytes(0, root.start - 1).strip(_BEFORE):
            raise DecodeError("not JSON: expecting value", 0)
        length = self.size - self._shelf.get_bytes(self.size - 1, 1).count(b"\n")
        place = place._replace(length=length)
        return _large(self._shelf, self._scan, place, self.limits, self._cuts, document=False)
