"""Words of texts as numbers: split on bytes, stemmed once each, with a common-word list that weighs nothing.

A batch of texts is one buffer; words, sentences and positions are integer arrays over it, so that no Python
code runs for each word of a text, only for each distinct one.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from earwitness.audit.semantic.stems import stem

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.uint64]

# Longer ones are no words of a language but tokens, keys or encoded data.
LONGEST = 24
_KEPT = np.zeros(256, np.bool_)
_KEPT[[c for c in range(256) if c >= 128 or chr(c).isalnum()]] = True
_LOWER = np.arange(256, dtype=np.uint8)
_LOWER[65:91] += 32
_HEX = np.zeros(256, np.bool_)
_HEX[[ord(c) for c in "0123456789abcdefABCDEF"]] = True
_PRIME = np.uint64(0x100000001B3)


class Words(NamedTuple):
    """Words of a buffer.

    Attributes:
        starts: first byte of each.
        stops: one past its last byte.
        kind: number of the distinct word that it is, into `distinct`.
        distinct: the distinct words, in lower case.
    """

    starts: Ints
    stops: Ints
    kind: Ints
    distinct: list[str]


def split(data: Bytes, bounds: Ints | None = None) -> Words:
    """The words of a buffer of UTF-8; where texts begin in it (`bounds`), no word goes on."""
    starts, stops = _edges(data, np.zeros(0, np.int64) if bounds is None else bounds)
    codes = _codes(data, starts, stops)
    kind = pa.array(codes).dictionary_encode().indices.to_numpy().astype(np.int64)
    first = np.zeros(int(kind.max()) + 1 if len(kind) else 0, np.int64)
    first[kind[::-1]] = np.arange(len(kind) - 1, -1, -1)
    lowered = _LOWER[data].tobytes()
    spans = zip(starts[first].tolist(), stops[first].tolist(), strict=True)
    distinct = [lowered[a:b].decode("utf-8", "replace").lower() for a, b in spans]
    return Words(starts, stops, kind, distinct)


def _edges(data: Bytes, bounds: Ints) -> tuple[Ints, Ints]:
    kept = _KEPT[data]
    # Quotation marks, dashes and the like (U+2000 to U+203F) and no-break spaces end a word.
    for first, second, length in ((0xE2, 0x80, 3), (0xC2, 0xA0, 2)):
        at = np.flatnonzero(data[:-1] == first)
        at = at[data[at + 1] == second]
        for step in range(length):
            kept[np.minimum(at + step, len(data) - 1)] = False
    _drop_escapes(data, kept)
    # Whether the word of a byte goes on in the next.
    on = kept[:-1] & kept[1:]
    on[bounds[(bounds > 0) & (bounds < len(kept))] - 1] = False
    starts = np.flatnonzero(kept & ~np.concatenate([[False], on])[: len(kept)])
    stops = np.flatnonzero(kept & ~np.concatenate([on, [False]])[: len(kept)]) + 1
    short = stops - starts <= LONGEST
    return starts[short], stops[short]


def _drop_escapes(data: Bytes, kept: npt.NDArray[np.bool_]) -> None:
    """The letters of `\\n` and `\\u00e9` are no part of the word beside them."""
    last = len(data) - 1
    at = np.flatnonzero(data == ord("\\"))
    letter = data[np.minimum(at + 1, last)]
    simple, coded = at[np.isin(letter, np.frombuffer(b"nrtbf", np.uint8))], at[letter == ord("u")]
    kept[np.minimum(simple + 1, last)] = False
    kept[np.minimum(coded + 1, last)] = False
    for step in range(2, 6):
        digit = np.minimum(coded + step, last)
        kept[digit[_HEX[data[digit]]]] = False


def _codes(data: Bytes, starts: Ints, stops: Ints) -> Codes:
    """A 64-bit hash of each word, in lower case."""
    codes = np.full(len(starts), 0xCBF29CE484222325, np.uint64)
    # The longest first, so that each step works on the head of the arrays.
    order = np.argsort((LONGEST - (stops - starts)).astype(np.uint8), kind="stable")
    lengths = (stops - starts)[order]
    froms = starts[order]
    sorted_codes = codes[order]
    for step in range(int(lengths[0]) if len(lengths) else 0):
        n = int(np.searchsorted(-lengths, -step, side="left"))
        sorted_codes[:n] = (sorted_codes[:n] ^ _LOWER[data[froms[:n] + step]]) * _PRIME
    codes[order] = sorted_codes
    return codes


def distinct(numbers: Ints) -> Ints:
    """Sorted, each once; faster than `numpy.unique` on many numbers."""
    ordered = np.sort(numbers)
    new = np.ones(len(ordered), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    told: Ints = ordered[new]
    return told


class Vocabulary:
    """Gives stems their numbers; a common word has none (-1)."""

    def __init__(self) -> None:
        self.stems: list[str] = []
        self._numbers: dict[str, int] = {}
        self._known: dict[str, int] = {}

    def learn(self, words: list[str]) -> list[int]:
        """Numbers of words, given where they are new."""
        return [self._learn(w) for w in words]

    def look_up(self, words: list[str]) -> Ints:
        """Numbers of words, -1 for what nobody learned."""
        return np.array([self._look(w) for w in words], np.int64)

    def _learn(self, word: str) -> int:
        root = stem(word)
        if root is None:
            return -1
        if root not in self._numbers:
            self._numbers[root] = len(self.stems)
            self.stems.append(root)
        return self._numbers[root]

    def _look(self, word: str) -> int:
        found = self._known.get(word)
        if found is None:
            root = stem(word)
            found = self._numbers.get(root, -1) if root else -1
            if len(self._known) < 1_000_000:
                self._known[word] = found
        return found
