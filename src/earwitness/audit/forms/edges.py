"""Where a value may begin and end: not inside a longer word or number."""

import unicodedata

import numpy as np
import numpy.typing as npt

from earwitness.audit.forms.skeleton import Ints
from earwitness.audit.forms.views import Bytes, View

Bools = npt.NDArray[np.bool_]

_WORD = np.array([c < 128 and chr(c).isalnum() for c in range(256)])
_DIGIT = np.array([48 <= c < 58 for c in range(256)])
_POINT = np.array([chr(c) in ".," for c in range(256)])
# These scripts put no space between words.
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")


def open_edges(view: View, at: Ints, start: Ints, stop: Ints) -> Bools:
    """Whether neither end of a hit runs on into its neighbour: word to word, or digit, point, digit."""
    low, high = view.bounds[at], view.bounds[at + 1]
    return ~(_runs_on(view.data, start, -1, low, high) | _runs_on(view.data, stop - 1, 1, low, high))


def _runs_on(data: Bytes, edge: Ints, step: int, low: Ints, high: Ints) -> Bools:
    inner = _byte(data, edge, low, high)
    here, there = _byte(data, edge + step, low, high), _byte(data, edge + 2 * step, low, high)
    wordy = _WORD[inner] | (inner >= 0x80)
    joined: Bools = wordy & (_WORD[here] | (here >= 0x80))
    foreign = np.flatnonzero(joined & ((inner >= 0x80) | (here >= 0x80)))
    for n in foreign:
        bounds = int(low[n]), int(high[n])
        spaced = _is_spaced(data, int(edge[n]), *bounds) and _is_spaced(data, int(edge[n]) + step, *bounds)
        joined[n] = spaced
    joined |= _DIGIT[inner] & _POINT[here] & _DIGIT[there]
    return joined


def _byte(data: Bytes, at: Ints, low: Ints, high: Ints) -> Bytes:
    """Bytes at positions; 0 outside the content."""
    if not len(data):
        return np.zeros(len(at), np.uint8)
    inside = (at >= low) & (at < high)
    return np.where(inside, data[np.clip(at, 0, len(data) - 1)], 0).astype(np.uint8)


def _is_spaced(data: Bytes, at: int, low: int, high: int) -> bool:
    """Whether the character that the byte at `at` belongs to is of a script with spaces between words."""
    while at > low and data[at] & 0xC0 == 0x80:
        at -= 1
    char = bytes(data[at : min(at + 4, high)]).decode("utf-8", "ignore")[:1]
    return not unicodedata.name(char or " ", "").startswith(_UNSPACED)
