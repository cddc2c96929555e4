"""How much of a value stands in a sentence, or in two that follow each other: its words by weight, as stems.

An inverted index over the values. A pair of window and value is only looked at where the window holds one of the
value's *telling* stems: those without which the rest could not reach the threshold. So common words, which stand in
every other sentence, bring up nothing, and nothing is lost by it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from earwitness.audit.semantic.entries import Entries
from earwitness.audit.semantic.found import Floats, Found, Held, best, join
from earwitness.audit.semantic.sentences import Bools, Sentences
from earwitness.audit.semantic.weights import stems_of
from earwitness.audit.semantic.words import Ints, distinct

# Pairs looked at in one go.
_BLOCK = 2_000_000
# One shared word is a coincidence.
FEWEST_SHARED = 2


class _Windows(NamedTuple):
    """Distinct (window, stem) pairs, sorted; windows are numbered 2n (a sentence) and 2n + 1 (it and the next)."""

    windows: Ints
    stems: Ints
    after: Ints


class Containment:
    """Finds entries in sentences by the words they share.

    Args:
        entries: what to look for.
        weight: of each stem of their vocabulary.
        threshold: least share of an entry's weight that a window must hold.
    """

    def __init__(self, entries: Entries, weight: Floats, threshold: float) -> None:
        self.entries, self.threshold = entries, threshold
        self._size = max(len(entries.vocabulary.stems), 1)
        told = weight[entries.stems]
        whole = np.bincount(entries.of_stem, told, minlength=len(entries.values))
        self._share = told / whole[entries.of_stem]
        self._begin = np.searchsorted(entries.of_stem, np.arange(len(entries.values) + 1))
        self._index_telling()

    def _index_telling(self) -> None:
        e = self.entries
        telling = _telling(e.of_stem, self._share, self.threshold)
        keys = e.groups[e.of_stem[telling]] * self._size + e.stems[telling]
        order = np.argsort(keys, kind="stable")
        self._keys, self._posted = keys[order], e.of_stem[telling][order]

    def find(self, read: Sentences, held: Held) -> Found:
        """Windows that hold enough of an entry."""
        windows = self._windows(read)
        parts = [self._score(windows, pairs, read) for pairs in self._candidates(windows, read, held)]
        return join(parts)

    def _windows(self, read: Sentences) -> _Windows:
        of_word, stems = stems_of(read, self.entries.vocabulary)
        after = _next_told(of_word, read.rows)
        follows = after >= 0
        before = np.full(len(after), -1, np.int64)
        before[after[follows]] = np.flatnonzero(follows)
        second = before[of_word] >= 0
        paired = follows[of_word]
        windows = np.concatenate([of_word * 2, of_word[paired] * 2 + 1, before[of_word[second]] * 2 + 1])
        codes = distinct(windows * self._size + np.concatenate([stems, stems[paired], stems[second]]))
        return _Windows(codes // self._size, codes % self._size, after)

    def _candidates(self, windows: _Windows, read: Sentences, held: Held) -> Iterator[Ints]:
        """Codes of (window, entry) pairs worth scoring, block by block."""
        rows = read.rows[windows.windows // 2]
        at, until = np.searchsorted(held.rows, rows), np.searchsorted(held.rows, rows, side="right")
        token, group = _expand(at, until)
        keys = held.groups[group] * self._size + windows.stems[token]
        at, until = np.searchsorted(self._keys, keys), np.searchsorted(self._keys, keys, side="right")
        for part in _blocks(until - at):
            source, posting = _expand(at[part], until[part])
            yield distinct(windows.windows[token[part][source]] * len(self.entries.values) + self._posted[posting])

    def _score(self, windows: _Windows, pairs: Ints, read: Sentences) -> Found:
        window, entry = pairs // len(self.entries.values), pairs % len(self.entries.values)
        source, member = _expand(self._begin[entry], self._begin[entry + 1])
        present = windows.windows * self._size + windows.stems
        wanted = window[source] * self._size + self.entries.stems[member]
        inside = np.minimum(np.searchsorted(present, wanted), max(len(present) - 1, 0))
        shared = present[inside] == wanted
        scores: Floats = np.bincount(source[shared], self._share[member[shared]], minlength=len(pairs)).astype(float)
        number = np.bincount(source[shared], minlength=len(pairs))
        kept = (scores >= self.threshold) & (number >= FEWEST_SHARED)
        return self._tell(windows, window[kept], entry[kept], scores[kept], read)

    def _tell(self, windows: _Windows, window: Ints, entry: Ints, scores: Floats, read: Sentences) -> Found:
        first = window // 2
        last = np.where(window % 2 == 1, windows.after[first], first)
        return best(Found(read.rows[first], self.entries.values[entry], np.minimum(scores, 1.0), first, last))


def _telling(of_stem: Ints, share: Floats, threshold: float) -> Bools:
    """The heaviest stems of each entry, so many that those left out stay below the threshold together."""
    order = np.lexsort((share, of_stem))
    summed = np.cumsum(share[order])
    begins = np.searchsorted(of_stem[order], of_stem[order])
    lighter = summed - np.where(begins > 0, summed[begins - 1], 0.0)
    telling = np.zeros(len(order), np.bool_)
    telling[order] = lighter >= threshold - 1e-9
    return telling


def _next_told(of_word: Ints, rows: Ints) -> Ints:
    """For each sentence with a known word, the next such sentence of the same text; -1 for none.

    Sentences without any are stepped over: in JSON they are the keys between two values.
    """
    after = np.full(len(rows), -1, np.int64)
    told = distinct(of_word)
    same = rows[told[1:]] == rows[told[:-1]]
    near = told[1:] - told[:-1] <= _REACH
    after[told[:-1][same & near]] = told[1:][same & near]
    return after


# Two sentences follow each other although so many keys and ids stand between them.
_REACH = 3


def _expand(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Every number of each range [begin, end), with the number of the range it is from."""
    sizes = end - begin
    source = np.repeat(np.arange(len(sizes)), sizes)
    offset = np.arange(len(source)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return source, begin[source] + offset


def _blocks(sizes: Ints) -> Iterator[slice]:
    """Ranges of positions whose sizes sum to about a block."""
    reached = np.cumsum(sizes)
    at = 0
    while at < len(sizes):
        base = reached[at - 1] if at else 0
        to = max(int(np.searchsorted(reached, base + _BLOCK, side="right")), at + 1)
        yield slice(at, to)
        at = to
