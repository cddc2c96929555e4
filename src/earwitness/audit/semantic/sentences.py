"""Sentences of contents: where they begin and end, which words they hold, and where that is in the original.

A content may be prose, JSON or prose inside JSON: a sentence ends at a full stop, at the end of a line (written out
or as `\\n` inside a string) and at the border of a JSON string. Nothing is parsed, so spans need no way back.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from earwitness.audit.semantic.words import Bytes, Ints, Words, split

Bools = npt.NDArray[np.bool_]

# More words than this in one sentence are no sentence: it is cut.
MOST_WORDS = 50
_QUOTE, _SLASH, _SPACE = ord('"'), ord("\\"), ord(" ")
_STOPS = np.zeros(256, np.bool_)
_STOPS[[ord(c) for c in ".!?;"]] = True
_BLANK = np.zeros(256, np.bool_)
_BLANK[[ord(c) for c in " \t\r\n\"')]}\\*"]] = True
_OPENS = np.zeros(256, np.bool_)
_OPENS[[ord(c) for c in "{[:,"]] = True
_CLOSES = np.zeros(256, np.bool_)
_CLOSES[[ord(c) for c in "}]:,"]] = True
_UPPER = np.zeros(256, np.bool_)
_UPPER[65:91] = True
# "Dr." and "No." end no sentence: capitalised words of so few letters before a full stop.
_ABBREVIATION = 3


class Sentences(NamedTuple):
    """Sentences of a batch of texts.

    Attributes:
        data: the texts, end to end.
        bounds: where each text begins in `data`.
        words: the words of all texts.
        of_word: the sentence of each word.
        rows: the text of each sentence.
        first: its first word.
        last: its last word.
    """

    data: Bytes
    bounds: Ints
    words: Words
    of_word: Ints
    rows: Ints
    first: Ints
    last: Ints

    def text(self, number: int) -> str:
        """A sentence as it stands in its text, from its first to its last word."""
        start, stop = self.words.starts[self.first[number]], self.words.stops[self.last[number]]
        return self.data[start:stop].tobytes().decode("utf-8", "replace")

    def spans(self, firsts: Ints, lasts: Ints) -> tuple[Ints, Ints]:
        """Code points, inside their text, at which sentences begin, and at which others end."""
        inner = np.flatnonzero(self.data.view(np.int8) < -64)
        base = self.bounds[self.rows[firsts]]
        skipped = np.searchsorted(inner, base)
        starts = self.words.starts[self.first[firsts]]
        stops = self.words.stops[self.last[lasts]]
        low = starts - base - (np.searchsorted(inner, starts) - skipped)
        high = stops - base - (np.searchsorted(inner, stops) - skipped)
        return low, high


def read(texts: pa.Array) -> Sentences:
    """The sentences of texts, an Arrow array of large strings."""
    data, bounds = _buffer(texts)
    words = split(data, bounds)
    rows = np.searchsorted(bounds, words.starts, side="right") - 1
    new = _begins(data, bounds, words, rows)
    of_word = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(new))[: len(first)] - 1
    return Sentences(data, bounds, words, of_word, rows[first], first, last)


def _buffer(texts: pa.Array) -> tuple[Bytes, Ints]:
    bounds = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    raw = texts.buffers()[2]
    whole = np.frombuffer(raw, np.uint8) if raw is not None else np.zeros(0, np.uint8)
    return whole[bounds[0] : bounds[-1]], (bounds[:-1] - bounds[0]).astype(np.int64)


def _begins(data: Bytes, bounds: Ints, words: Words, rows: Ints) -> Bools:
    """For each word, whether a sentence begins with it."""
    if not len(rows):
        return np.zeros(0, np.bool_)
    borders = np.concatenate([_full_stops(data), _lines(data), _strings(data, bounds)])
    borders.sort()
    passed = np.searchsorted(borders, words.starts, side="right")
    new = (np.diff(passed, prepend=-1) != 0) | (np.diff(rows, prepend=-1) != 0)
    return _cut(new)


def _cut(new: Bools) -> Bools:
    numbers = np.arange(len(new))
    begun = np.maximum.accumulate(np.where(new, numbers, 0))
    cut: Bools = new | ((numbers - begun) % MOST_WORDS == 0)
    return cut


def _full_stops(data: Bytes) -> Ints:
    at = np.flatnonzero(_STOPS[data[:-1]])
    at = at[_BLANK[data[at + 1]]]
    short = np.zeros(len(at), np.bool_)
    small = np.ones(len(at), np.bool_)
    for step in range(1, _ABBREVIATION + 1):
        before = data[np.maximum(at - step, 0)]
        alone = (at - step <= 0) | ~_letters(data[np.maximum(at - step - 1, 0)])
        short |= small & _UPPER[before] & alone
        small &= (before >= 97) & (before <= 122)
    full: Ints = at[~(short & (data[at] == ord(".")))]
    return full


def _letters(codes: Bytes) -> Bools:
    lowered = codes | 32
    return (lowered >= 97) & (lowered <= 122)


def _lines(data: Bytes) -> Ints:
    plain = np.flatnonzero(data == 10)
    slashes = np.flatnonzero(data[:-1] == _SLASH)
    return np.concatenate([plain, slashes[data[slashes + 1] == ord("n")] + 1])


def _strings(data: Bytes, bounds: Ints) -> Ints:
    """Quotation marks that open or close a string, in texts that look like JSON."""
    quotes = np.flatnonzero(data == _QUOTE)
    if not len(quotes):
        return quotes
    after = data[np.minimum(quotes + 1, len(data) - 1)]
    before = data[np.maximum(quotes - 1, 0)]
    earlier = data[np.maximum(quotes - 2, 0)]
    row = np.searchsorted(bounds, quotes, side="right")
    keyed = np.zeros(len(bounds) + 1, np.bool_)
    keyed[row[after == ord(":")]] = True
    opens = _OPENS[before] | ((before == _SPACE) & _OPENS[earlier]) | (before == 10)
    borders: Ints = quotes[keyed[row] & (opens | _CLOSES[after]) & (before != _SLASH)]
    return borders
