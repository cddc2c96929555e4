"""Where the large arrays of a JSON value stand, found without decoding it: quotes and brackets are enough.

Of text that is no JSON this finds something or other: who decodes the parts finds out.
"""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

# Deeper values are decoded as a whole, for the decoder to say whether it can.
_DEEPEST = 256
_QUOTE, _SLASH, _LIST = ord('"'), ord("\\"), ord("[")
# A key of a path, before its colon; the longest of them with white space is shorter than this.
_KEY, _KEY_LENGTH = re.compile(rb'(?<!\\)"(\w+)"\s*:\s*\Z'), 256

Ints = npt.NDArray[np.int64]


def _marked(characters: bytes) -> bytes:
    return bytes(n in characters for n in range(256))


_MARKS = _marked(b'"[]{}')
_OPENS = np.frombuffer(_marked(b"[{"), np.bool_)


@dataclass(slots=True, eq=False)
class Array:
    """A large array, or what may turn out to be one. Offsets count bytes from the beginning of the value.

    Attributes:
        start: behind its bracket.
        path: where it stands, as a JSON pointer with `*` for the number of an element.
        is_list: or else an object.
        end: its closing bracket.
        cuts: ends of some of its elements, in order.
        inner: large arrays in its elements.
    """

    start: int
    path: str
    is_list: bool
    end: int = -1
    cuts: list[int] = field(default_factory=list)
    inner: list["Array"] = field(default_factory=list)


class Scan:
    """Reads a value block by block. Memory grows with the number of blocks, by some bytes each.

    Args:
        paths: the arrays that are looked for.
        piece: bytes looked at together; a smaller array is not large.

    Attributes:
        size: bytes read.
        root: of the value, with the arrays that were found, when the value has ended.
        stopped: why it is not scanned any further; empty if it is.
    """

    def __init__(self, paths: AbstractSet[str], piece: int) -> None:
        self.paths, self.piece = paths, piece
        self.size, self.stopped = 0, ""
        self.root: Array | None = None
        self._open: list[Array] = []
        self._quoted, self._slashes, self._before = 0, 0, b""

    def feed(self, block: bytes) -> int | None:
        """Read on; gives where in the block the value ends, if it does."""
        for start in range(0, len(block), self.piece):
            piece = block[start : start + self.piece]
            end = self._feed(piece)
            if end is not None or self.stopped:
                return None if end is None else start + end
            self._before = (self._before + piece)[-_KEY_LENGTH:]
            self.size += len(piece)
        return None

    def _feed(self, block: bytes) -> int | None:
        at, opens = self._brackets(block)
        if not len(at):
            return None
        depth = len(self._open) + np.cumsum(np.where(opens, 1, -1))
        ended = np.flatnonzero(depth == 0)[:1]
        if len(ended):
            last = int(ended[0]) + 1
            at, opens, depth = at[:last], opens[:last], depth[:last]
        if int(depth.max()) > _DEEPEST:
            self.stopped = "nested too deep to be read in pieces"
            return None
        self._follow(block, at, opens, depth)
        if not len(ended):
            return None
        self.root = self.root or Array(int(at[0]) + 1, "", block[at[0]] == _LIST, int(at[-1]))
        return int(at[-1]) + 1

    def _follow(self, block: bytes, at: Ints, opens: npt.NDArray[np.bool_], depth: Ints) -> None:
        """What was open before and closes here, what opens here and stays open, and where elements end."""
        lowest = min(len(self._open), int(depth.min()))
        for level in range(len(self._open), lowest, -1):
            self._close(self.size + int(at[np.argmax(depth == level - 1)]))
        for level in range(lowest + 1, int(depth[-1]) + 1):
            last = len(at) - 1 - int(np.argmax((opens & (depth == level))[::-1]))
            self._begin(block, int(at[last]))
        for level, array in enumerate(self._open, 1):
            if array.is_list and array.path in self.paths:
                ends = at[~opens & (depth == level)]
                if len(ends) and self.size + int(ends[-1]) >= array.start:
                    array.cuts.append(self.size + int(ends[-1]) + 1)

    def _begin(self, block: bytes, at: int) -> None:
        path = self._open[-1].path + self._step(block, at) if self._open else ""
        self._open.append(Array(self.size + at + 1, path, block[at] == _LIST))

    def _step(self, block: bytes, at: int) -> str:
        if self._open[-1].is_list:
            return "/*"
        near = block[max(0, at - _KEY_LENGTH) : at]
        key = _KEY.search((self._before + near)[-_KEY_LENGTH:])
        return f"/{key[1].decode('ascii', 'replace')}" if key else "/"

    def _close(self, end: int) -> None:
        array = self._open.pop()
        array.end = end
        if not self._open:
            self.root = array
        elif array.is_list and array.path in self.paths and end - array.start >= self.piece:
            self._open[-1].inner.append(array)
        else:
            self._open[-1].inner += array.inner

    def _brackets(self, block: bytes) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Positions of the brackets outside of texts, and which of them open."""
        data = np.frombuffer(block, np.uint8)
        marks = np.flatnonzero(np.frombuffer(block.translate(_MARKS), np.bool_))
        found = data[marks]
        quotes = found == _QUOTE
        ends_text = quotes.copy()
        if self._slashes or b"\\" in block:
            ends_text[quotes] = ~self._escaped(data, marks[quotes])
        before = np.cumsum(ends_text) + self._quoted
        if len(before):
            self._quoted = int(before[-1]) & 1
        outside = ~quotes & (before & 1 == 0)
        return marks[outside], _OPENS[found[outside]]

    def _escaped(self, data: npt.NDArray[np.uint8], quotes: Ints) -> npt.NDArray[np.bool_]:
        """Which quotes stand behind an odd number of backslashes."""
        slashes = np.flatnonzero(data == _SLASH)
        length = _run_lengths(slashes)
        if self._slashes and len(slashes) and slashes[0] == 0:
            length[: int(np.argmax(np.append(np.diff(slashes) != 1, True))) + 1] += self._slashes
        out = np.zeros(len(quotes), np.bool_)
        behind = np.flatnonzero((quotes > 0) & (data[quotes - 1] == _SLASH))
        out[behind] = length[np.searchsorted(slashes, quotes[behind] - 1)] & 1
        if len(quotes) and quotes[0] == 0:
            out[0] = self._slashes & 1
        self._slashes = int(length[-1]) & 1 if len(slashes) and slashes[-1] == len(data) - 1 else 0
        return out


def _run_lengths(at: Ints) -> Ints:
    """For each position, how many stand in a row up to it."""
    steps = np.arange(len(at))
    begins = np.append(True, np.diff(at) != 1)[: len(at)]
    return steps - np.maximum.accumulate(np.where(begins, steps, 0)) + 1
