"""One automaton over all values, every distinct content scanned once.

Contents come as Arrow string arrays; a batch is one buffer of UTF-8 bytes, lower-cased as a whole and
searched as a whole. Hits that straddle two contents are dropped; the search reports overlapping hits, so
nothing is lost by it. Spans are code points of the original text.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import ahocorasick_rs
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

_WORD = np.zeros(256, np.bool_)
_WORD[[c for c in range(128) if chr(c).isalnum()]] = True
_DIGIT = np.zeros(256, np.bool_)
_DIGIT[48:58] = True
_POINT = np.zeros(256, np.bool_)
_POINT[[ord("."), ord(",")]] = True


class Batch(NamedTuple):
    """Lower-cased contents, end to end: bytes, start of each content, and where each began in the original."""

    data: bytes
    bounds: Ints
    stretched: dict[int, str]


class Scanner:
    """Finds needles in contents.

    Args:
        needles: lower-cased, distinct.
        whole: drop hits inside a longer word or number.
    """

    def __init__(self, needles: list[str], *, whole: bool) -> None:
        raw = [n.encode("utf-8", "surrogatepass") for n in needles]
        self.whole = whole
        self._automaton = ahocorasick_rs.BytesAhoCorasick(raw) if raw else None
        self._first = np.array([r[0] for r in raw] or [0], np.uint8)
        self._last = np.array([r[-1] for r in raw] or [0], np.uint8)

    def scan(self, texts: pa.Array) -> pl.DataFrame:
        """Hits: `row` of the text, `pattern`, `start` and `stop` of the first hit in code points, `hits`."""
        return _collect(*self._hits(texts))

    def everywhere(self, texts: pa.Array) -> pl.DataFrame:
        """Every hit, not only the first of a pattern in a text: `row`, `pattern`, `start` and `stop`."""
        batch, rows, found = self._hits(texts)
        starts, stops = _code_points(batch, rows, found[:, 1], found[:, 2])
        return pl.DataFrame({"row": rows, "pattern": found[:, 0], "start": starts, "stop": stops})

    def _hits(self, texts: pa.Array) -> tuple[Batch, Ints, Ints]:
        batch = lower(texts)
        found = self._find(batch.data)
        rows = np.searchsorted(batch.bounds, found[:, 1], side="right") - 1
        inside = found[:, 2] <= batch.bounds[rows + 1]
        found, rows = found[inside], rows[inside]
        if self.whole and len(found):
            kept = self._whole(np.frombuffer(batch.data, np.uint8), batch.bounds, rows, found)
            found, rows = found[kept], rows[kept]
        return batch, rows, found

    def _find(self, data: bytes) -> Ints:
        if self._automaton is None or not data:
            return np.empty((0, 3), np.int64)
        found = self._automaton.find_matches_as_indexes(data, overlapping=True)
        return np.array(found, np.int64).reshape(-1, 3)

    def _whole(self, data: Bytes, bounds: Ints, rows: Ints, found: Ints) -> Bools:
        """A needle that begins with a letter or digit must not follow one; the same at its end."""
        pattern, start, stop = found.T
        left = _joined(data, start - 1, -1, bounds[rows], bounds[rows + 1], self._first[pattern])
        right = _joined(data, stop, 1, bounds[rows], bounds[rows + 1], self._last[pattern])
        return ~(left | right)


def _joined(data: Bytes, at: Ints, step: int, low: Ints, high: Ints, edge: Bytes) -> Bools:
    """Whether the needle's edge runs on into the neighbour at `at`: word to word, or digit, point, digit."""
    here, there = _byte(data, at, low, high), _byte(data, at + step, low, high)
    wordy = _WORD[edge] | (edge >= 0x80)
    joined = wordy & _WORD[here]
    joined |= _DIGIT[edge] & _POINT[here] & _DIGIT[there]
    foreign = np.flatnonzero(wordy & (here >= 0x80))
    for n in foreign:
        joined[n] = _character(data, int(at[n]), int(low[n]), int(high[n])).isalnum()
    return joined


def _byte(data: Bytes, at: Ints, low: Ints, high: Ints) -> Bytes:
    """Bytes at positions; 0 outside the content."""
    inside = (at >= low) & (at < high)
    return np.where(inside, data[np.clip(at, 0, len(data) - 1)], 0).astype(np.uint8)


def _character(data: Bytes, at: int, low: int, high: int) -> str:
    """The character that the byte at `at` belongs to."""
    start = at
    while start > low and data[start] & 0xC0 == 0x80:
        start -= 1
    return bytes(data[start : min(start + 4, high)]).decode("utf-8", "ignore")[:1]


def lower(texts: pa.Array) -> Batch:
    """Contents lower-cased as Python does it, at the speed of one pass over bytes.

    Contents without cased letters beyond ASCII need no more than ASCII folding; the others are done one by one.
    """
    texts = texts.cast(pa.large_string())
    bounds = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    raw = bytes(memoryview(texts.buffers()[2] or b"")[bounds[0] : bounds[-1]])
    bounds = bounds - bounds[0]
    if raw.isascii():
        return Batch(raw.lower(), bounds, {})
    rows = _cased_rows(np.frombuffer(raw, np.uint8), bounds)
    return _lower_rows(raw, bounds, rows) if len(rows) else Batch(raw.lower(), bounds, {})


def _cased_rows(data: Bytes, bounds: Ints) -> Ints:
    """Contents that hold a character beyond ASCII which may have another lower case."""
    leads = np.flatnonzero(data >= 0xC0)
    # A lead byte is never the last of a content, so the byte behind it is of the same character.
    at = leads[_cased_pairs()[data[leads], data[np.minimum(leads + 1, len(data) - 1)]]]
    return np.unique(np.searchsorted(bounds, at, side="right") - 1)


@cache
def _cased_pairs() -> npt.NDArray[np.bool_]:
    """By the first two bytes of a character: whether some character that begins so changes in lower case."""
    pairs = np.zeros((256, 256), np.bool_)
    for code in range(128, _CASED):
        char = chr(code)
        if char.lower() != char:
            raw = char.encode()
            pairs[raw[0], raw[1]] = True
    return pairs


# No character above the supplementary cased alphabets has a lower case.
_CASED = 0x20000


def _lower_rows(raw: bytes, bounds: Ints, rows: Ints) -> Batch:
    """The given contents one by one, what lies between them as it is."""
    pieces, stretched, at = [], {}, 0
    lengths = np.diff(bounds)
    for row in rows.tolist():
        text = raw[bounds[row] : bounds[row + 1]].decode()
        low = text.lower()
        piece = low.encode()
        pieces += [raw[at : bounds[row]].lower(), piece]
        at = bounds[row + 1]
        if len(low) != len(text):
            stretched[row] = text
        lengths[row] = len(piece)
    return Batch(b"".join([*pieces, raw[at:].lower()]), np.concatenate([[0], np.cumsum(lengths)]), stretched)


def _collect(batch: Batch, rows: Ints, found: Ints) -> pl.DataFrame:
    """One row a content and pattern: the first hit and the number of hits."""
    frame = pl.DataFrame({"row": rows, "pattern": found[:, 0], "start": found[:, 1], "stop": found[:, 2]})
    first = frame.group_by("row", "pattern").agg(
        pl.col("start").min(), pl.col("stop").get(pl.col("start").arg_min()), pl.len().cast(pl.Int64).alias("hits")
    )
    starts, stops = _code_points(batch, first["row"].to_numpy(), first["start"].to_numpy(), first["stop"].to_numpy())
    return first.with_columns(pl.Series("start", starts), pl.Series("stop", stops))


def _code_points(batch: Batch, rows: Ints, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """Byte positions in the batch as code points of the original contents."""
    base = batch.bounds[rows]
    if batch.data.isascii():
        return starts - base, stops - base
    # Bytes that continue a character, as signed numbers the lowest.
    inner = np.flatnonzero(np.frombuffer(batch.data, np.int8) < -64)
    skipped = np.searchsorted(inner, base)
    low = starts - base - (np.searchsorted(inner, starts) - skipped)
    high = stops - base - (np.searchsorted(inner, stops) - skipped)
    for n in [n for n, row in enumerate(rows) if int(row) in batch.stretched]:
        low[n], high[n] = _unstretch(batch.stretched[int(rows[n])], int(low[n]), int(high[n]))
    return low, high


def _unstretch(text: str, start: int, stop: int) -> tuple[int, int]:
    """Positions in `text.lower()` as positions in `text`."""
    origin = [n for n, char in enumerate(text) for _ in char.lower()]
    return origin[start], origin[stop - 1] + 1


def batches(reader: pa.RecordBatchReader, size: int) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Ids and texts in pieces of about `size` bytes of text."""
    for batch in reader:
        texts = batch.column(1).cast(pa.large_string())
        bounds = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
        at = 0
        while at < len(texts):
            to = max(int(np.searchsorted(bounds, bounds[at] + size, side="right")) - 1, at + 1)
            yield batch.column(0).slice(at, to - at), texts.slice(at, to - at)
            at = to
