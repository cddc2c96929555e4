"""Contents as they are searched: their skeletons end to end, and of these the letters and digits alone.

ASCII contents, the most, are folded by one pass over bytes; where a few other characters stand among them these are
replaced one by one; contents in other scripts are folded as code points.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from earwitness.audit.forms.skeleton import Ints, fold_char, skeleton

Bytes = npt.NDArray[np.uint8]

KEPT = np.array([c > 127 or chr(c).isalnum() for c in range(256)])
_DROPPED = bytes(c for c in range(128) if not chr(c).isalnum())
# One character beyond ASCII in so many bytes makes a content one in another script.
_SPARSE = 20
# So many bytes in other scripts are worth the tables that fold them at once, which take half a second to make.
_WORTH_TABLES = 2 << 20
_WIDTHS = np.array([4 if c >= 0xF0 else 3 if c >= 0xE0 else 2 for c in range(256)])


class Origin(NamedTuple):
    """Where bytes of skeletons come from: the few places where they are not as far from the start as their origin.

    Attributes:
        start: where the skeleton of each such character begins, and
        stop: where it ends.
        point: the code point it came from, counted over all contents.
    """

    start: Ints
    stop: Ints
    point: Ints

    def points(self, at: Ints) -> Ints:
        """Code points that bytes came from."""
        near = np.searchsorted(self.start, at, side="right") - 1
        last = np.maximum(near, 0)
        behind = self.point[last] + 1 + at - self.stop[last]
        return np.where(near < 0, at, np.where(at < self.stop[last], self.point[last], behind))


@dataclass(frozen=True)
class View:
    """Some contents of a batch.

    Attributes:
        rows: which rows of the batch they are.
        data: their skeletons as UTF-8, end to end.
        bounds: where each begins in `data`, and where the last ends.
        compact: the letters and digits of `data`.
        kept: where each byte of `compact` stands in `data`.
        origin: code points that bytes of `data` came from; None where each byte is one.
        points: the first code point of each content.
    """

    rows: Ints
    data: Bytes
    bounds: Ints
    compact: bytes
    kept: npt.NDArray[np.int32]
    origin: "Origin | Ints | None"
    points: Ints

    def span(self, rows: Ints, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
        """Byte positions in `data` as code points of the contents `rows` (indexes into `bounds`)."""
        return self._point(starts) - self.points[rows], self._point(stops - 1) + 1 - self.points[rows]

    @cached_property
    def words(self) -> tuple[Ints, Ints]:
        """Where words begin and end in `data`; no word goes over the end of its content."""
        kept = self.kept
        if not len(kept):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        first = np.empty(len(kept) + 1, np.bool_)
        np.greater(kept[1:] - kept[:-1], 1, out=first[1:-1])
        first[np.searchsorted(kept, self.bounds)] = True
        first[[0, -1]] = True
        at = np.flatnonzero(first)
        return kept[at[:-1]].astype(np.int64), kept[at[1:] - 1].astype(np.int64) + 1

    def _point(self, at: Ints) -> Ints:
        if self.origin is None:
            return at
        return self.origin.points(at) if isinstance(self.origin, Origin) else self.origin[at]


def views(texts: pa.Array) -> Iterator[View]:
    """The contents of a batch as up to three views, each content in one of them."""
    texts = texts.cast(pa.large_string())
    raw, bounds = _buffer(texts)
    high = np.flatnonzero(raw >= 0xC0)
    if not len(high):
        yield _plain(np.arange(len(texts)), raw, bounds)
        return
    counts = np.bincount(np.searchsorted(bounds, high, side="right") - 1, minlength=len(texts))
    sizes = np.diff(bounds)
    dense = counts * _SPARSE > sizes
    if sizes[dense].sum() < _WORTH_TABLES:
        dense[:] = False
    kinds = np.where(counts == 0, 0, np.where(dense, 2, 1))
    for kind, make in enumerate((_plain, _sparse, _dense)):
        rows = np.flatnonzero(kinds == kind)
        if len(rows):
            yield make(rows, *_buffer(texts.take(pa.array(rows))))


def _buffer(texts: pa.Array) -> tuple[Bytes, Ints]:
    """The bytes of texts end to end, and where each begins."""
    bounds = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    raw = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]]
    return raw, bounds - bounds[0]


def _plain(rows: Ints, raw: Bytes, bounds: Ints) -> View:
    return _view(rows, raw.tobytes().lower(), bounds, None, bounds)


def _sparse(rows: Ints, raw: Bytes, bounds: Ints) -> View:
    """ASCII with a few other characters."""
    leads = np.flatnonzero(raw >= 0xC0)
    widths = _WIDTHS[raw[leads]]
    data, folded = _spliced(raw.tobytes(), leads.tolist(), widths.tolist())
    shift = np.cumsum(folded - widths)
    stop = leads + widths + shift
    extra = np.concatenate([[0], np.cumsum(widths - 1)])
    origin = Origin(stop - folded, stop, leads - extra[:-1])
    before = np.searchsorted(leads, bounds)
    return _view(rows, data, bounds + np.concatenate([[0], shift])[before], origin, bounds - extra[before])


def _spliced(raw: bytes, leads: list[int], widths: list[int]) -> tuple[bytes, Ints]:
    """Bytes with the characters that begin at `leads` folded, and how many bytes each has become."""
    low, known = raw.lower(), dict[bytes, bytes]()
    pieces: list[bytes] = []
    lengths: list[int] = []
    at = 0
    for lead, width in zip(leads, widths, strict=True):
        char = raw[lead : lead + width]
        folded = known.get(char)
        if folded is None:
            folded = known[char] = fold_char(char.decode()).encode()
        pieces += (low[at:lead], folded)
        lengths.append(len(folded))
        at = lead + width
    return b"".join([*pieces, low[at:]]), np.array(lengths, np.int64)


def _dense(rows: Ints, raw: Bytes, bounds: Ints) -> View:
    """Other scripts."""
    codes = np.frombuffer(raw.tobytes().decode().encode("utf-32-le"), np.uint32)
    begun = np.concatenate([[0], np.cumsum((raw & 0xC0) != 0x80)])
    points = begun[bounds]
    folded = skeleton(codes)
    data = folded.codes.tobytes().decode("utf-32-le").encode()
    widths = 1 + (folded.codes > 0x7F).astype(np.int64) + (folded.codes > 0x7FF) + (folded.codes > 0xFFFF)
    stops = np.concatenate([[0], np.cumsum(widths)])
    return _view(rows, data, stops[np.searchsorted(folded.origin, points)], np.repeat(folded.origin, widths), points)


def _view(rows: Ints, data: bytes, bounds: Ints, origin: Origin | Ints | None, points: Ints) -> View:
    raw = np.frombuffer(data, np.uint8)
    kept = np.flatnonzero(KEPT[raw]).astype(np.int32)
    return View(rows, raw, bounds, data.translate(None, _DROPPED), kept, origin, points)
