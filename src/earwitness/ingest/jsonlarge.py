"""Large JSON values taken out of a stream, whether they stand in a line of their own or over several lines.

What cannot be read in pieces, and is not over the limit, is left to be decoded as a whole, as if nobody had looked.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import closing
from typing import Any, NamedTuple

from earwitness.ingest.jsonpieces import Large, Parts, Spill
from earwitness.ingest.jsonscan import Scan
from earwitness.ingest.jsontext import DecodeError
from earwitness.ingest.jsonwindow import Window
from earwitness.ingest.limits import CURE, Limits
from earwitness.ingest.record import Place, Skip
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

    def __init__(self, spill: Spill, beyond: bytes, stream: Readable) -> None:
        # What was put aside of earlier values has been read by now.
        self._stream: Readable = stream._stream if isinstance(stream, _Again) else stream
        self._spill, self._beyond, self._at = spill, beyond, 0

    def read(self, size: int = -1, /) -> bytes:
        if self._at < self._spill.size:
            data = self._spill.read(self._at, min(self._at + size, self._spill.size))
            self._at += len(data)
            if self._at == self._spill.size:
                self._spill.close()
            return data
        if self._beyond:
            data, self._beyond = self._beyond[:size], self._beyond[size:]
            return data
        return self._stream.read(size)


def refused(what: str, size: int, limit: int, why: str = "") -> str:
    """The reason for which a value over the limit is not taken, and what its owner can do."""
    return f"{what} of {size} bytes, over the limit of {limit}{why and f', and {why}'}{CURE}"


def _large(spill: Spill, scan: Scan, place: Place, limits: Limits, cuts: Cuts, *, document: bool) -> Large:
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
    parts = Parts(spill, root, document=document)
    if parts.largest > limits.line:
        raise UncutError(f"a part of it that cannot be cut is over the limit of {limits.line} bytes")
    large = Large(place, spill, parts, parts.sample(), document)
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
    spill, scan = Spill(), Scan(paths, limits.piece)
    lines, beyond = _put_aside(window, spill, scan, min(_BLOCK, limits.block))
    place = Place(window.line, window.offset, spill.size)
    try:
        found = _large(spill, scan, place, limits, cuts, document=True)
    except (DecodeError, UncutError) as error:
        window.again(_Again(spill, beyond, window.stream), spill.size + len(beyond))
        return None if spill.size <= limits.line else window.give_up(*_why(error, "value", place, limits))
    window.step_over(spill.size, lines, _indent(spill) if lines else None, beyond)
    return found


def _put_aside(window: Window, spill: Spill, scan: Scan, block: int) -> tuple[int, bytes]:
    """Put the value at the cursor aside; gives the number of line ends in it, and what was read beyond it."""
    data, lines = window.rest(), 0
    while data:
        end = scan.feed(data)
        try:
            spill.write(data[:end])
        except OSError:
            scan.stopped = _NO_ROOM
            return lines, data
        lines += data.count(b"\n", 0, end)
        if end is not None or scan.stopped:
            return lines, b"" if end is None else data[end:]
        data = window.read(block)
    return lines, b""


def _indent(spill: Spill) -> int:
    """Characters behind the last line end."""
    start, tail = spill.size, b""
    while start and b"\n" not in tail:
        start = max(0, start - _BLOCK)
        tail = spill.read(start, start + _BLOCK)
    return len(spill.read(start + tail.rfind(b"\n") + 1, spill.size).decode("utf-8", "surrogateescape"))


class LongLine:
    """A line that is larger than what is decoded at once, put aside while it is read.

    Args:
        limits: the largest that is decoded as a whole.
        cuts: the arrays that may be cut.
    """

    def __init__(self, limits: Limits, cuts: Cuts) -> None:
        self.limits, self.size = limits, 0
        self._cuts, self._spill, self._scan = cuts, Spill(), Scan(cuts.paths(), limits.piece)
        self._why: DecodeError | UncutError | None = None

    def add(self, chunk: bytes) -> None:
        """More of the line."""
        if self._why is None:
            self._look(chunk)
        self.size += len(chunk)
        if self._why is None or (self.size <= self.limits.line and not self._lost):
            try:
                self._spill.write(chunk)
            except OSError:
                self._why = UncutError(_NO_ROOM)
        else:
            self._spill.close()

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
            with closing(self._spill):
                if self.size <= self.limits.line and not self._lost:
                    return self._spill.read(0, self.size)
            return Skip(*_why(error, "line", place, self.limits), place)

    def _closed(self, place: Place) -> Large:
        if self._why is not None:
            raise self._why
        root = self._scan.root
        if root is not None and self._spill.read(0, root.start - 1).strip(_BEFORE):
            raise DecodeError("not JSON: expecting value", 0)
        length = self.size - self._spill.read(self.size - 1, self.size).count(b"\n")
        place = place._replace(length=length)
        return _large(self._spill, self._scan, place, self.limits, self._cuts, document=False)
