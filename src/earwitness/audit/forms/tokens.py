"""Needles of a few characters, which an automaton would meet inside every other word: looked up as whole words."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

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
        codes = np.zeros(len(starts), np.uint64)
        for step in range(self._longest):
            inside = starts + step < stops
            codes[inside] = (codes[inside] << np.uint64(8)) | view.data[starts[inside] + step]
        at = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        known = self._codes[at] == codes
        return self._patterns[at[known]], starts[known], stops[known]


def _words(view: View, longest: int) -> tuple[Ints, Ints]:
    """Where words of at most so many bytes begin and end; no word goes over the end of its content."""
    kept = view.kept
    if not len(kept):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    first = np.empty(len(kept) + 1, np.bool_)
    np.greater(kept[1:] - kept[:-1], 1, out=first[1:-1])
    first[np.searchsorted(kept, view.bounds)] = True
    first[[0, -1]] = True
    at = np.flatnonzero(first)
    starts, stops = kept[at[:-1]].astype(np.int64), kept[at[1:] - 1].astype(np.int64) + 1
    short = stops - starts <= longest
    return starts[short], stops[short]


def digit_words(view: View, shortest: int, longest: int) -> Iterator[tuple[int, int, str]]:
    """Words of ASCII with a digit among them: index of the content in the view, place in its data, and the word."""
    starts, stops = _words(view, longest)
    long = stops - starts >= shortest
    starts, stops = starts[long], stops[long]
    digits = np.concatenate([[0], np.cumsum((view.data >= 48) & (view.data < 58), dtype=np.int32)])
    told = digits[stops] > digits[starts]
    starts, stops = starts[told], stops[told]
    rows = np.searchsorted(view.bounds, starts, side="right") - 1
    data = view.data.tobytes() if len(starts) else b""
    for row, start, stop in zip(rows.tolist(), starts.tolist(), stops.tolist(), strict=True):
        word = data[start:stop]
        if word.isascii():
            yield row, start, word.decode()
