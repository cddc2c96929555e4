"""Needles of a few characters, which an automaton would meet inside every other word: looked up as whole words."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from earwitness.audit.forms.skeleton import Ints
from earwitness.audit.forms.views import View

LONGEST = 8
Codes = npt.NDArray[np.uint64]


class Tokens:
    """Looks up short ASCII keys among the words of skeletons.

    Args:
        keys: by number of the pattern; only some are looked for.
        patterns: which.
    """

    def __init__(self, keys: list[bytes], patterns: list[int]) -> None:
        codes = np.array([int.from_bytes(keys[p], "big") for p in patterns], np.uint64)
        order = np.argsort(codes)
        self._codes: Codes = codes[order]
        self._patterns: Ints = np.array(patterns, np.int64)[order]
        self._longest = max((len(keys[p]) for p in patterns), default=0)

    def find(self, view: View) -> tuple[Ints, Ints, Ints]:
        """Pattern, start and stop of each word of the skeletons that is a key."""
        starts, stops = _words(view, self._longest)
        codes = _codes(view, starts, stops, self._longest)
        at = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        known = self._codes[at] == codes
        return self._patterns[at[known]], starts[known], stops[known]


def _codes(view: View, starts: Ints, stops: Ints, longest: int) -> Codes:
    """The first bytes of words, at most so many, as numbers."""
    codes = np.zeros(len(starts), np.uint64)
    for step in range(longest):
        inside = starts + step < stops
        codes[inside] = (codes[inside] << np.uint64(8)) | view.data[starts[inside] + step]
    return codes


def _words(view: View, longest: int) -> tuple[Ints, Ints]:
    """Where words of at most so many bytes begin and end."""
    starts, stops = view.words
    short = stops - starts <= longest
    return starts[short], stops[short]


class Pieces:
    """Finds words with a digit among them that are pieces of something.

    Args:
        pieces: ASCII, in lower case.
    """

    def __init__(self, pieces: pl.Series) -> None:
        lengths = pieces.str.len_bytes().to_numpy()
        self._shortest, self._longest = int(lengths.min(initial=LONGEST)), int(lengths.max(initial=0))
        # There may be millions: as numbers they take a tenth of the room. Whoever joins the words has the texts.
        self._hashes: Ints = np.unique(np.fromiter(map(hash, pieces), np.int64, len(lengths)))
        heads = (int.from_bytes(p[:LONGEST].encode(), "big") for p in pieces)
        self._heads: Codes = np.unique(np.fromiter(heads, np.uint64, len(lengths)))

    def __bool__(self) -> bool:
        return self._longest > 0

    def find(self, view: View) -> Iterator[tuple[int, int, str]]:
        """Index of the content in the view, place in its data, and the word."""
        starts, stops = _words(view, self._longest)
        digits = np.concatenate([[0], np.cumsum((view.data >= 48) & (view.data < 58), dtype=np.int32)])
        told = (stops - starts >= self._shortest) & (digits[stops] > digits[starts])
        starts, stops = starts[told], stops[told]
        known = _among(self._heads, _codes(view, starts, stops, LONGEST))
        starts, stops = starts[known], stops[known]
        data = view.data.tobytes() if len(starts) else b""
        cuts = zip(starts.tolist(), stops.tolist(), strict=True)
        words = [data[start:stop].decode("ascii", "replace") for start, stop in cuts]
        whole = _among(self._hashes, np.fromiter(map(hash, words), np.int64, len(words)))
        rows = np.searchsorted(view.bounds, starts, side="right") - 1
        for n in np.flatnonzero(whole).tolist():
            yield int(rows[n]), int(starts[n]), words[n]


def _among(known: npt.NDArray[Any], asked: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which numbers are among those of a sorted array that is not empty."""
    return np.asarray(known[np.minimum(np.searchsorted(known, asked), len(known) - 1)] == asked)
