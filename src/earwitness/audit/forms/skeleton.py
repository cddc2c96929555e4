"""The skeleton of a text: what is left when case, accents, invisible characters and look-alikes are taken away.

Every step looks at one code point alone, so that each character of a skeleton has one origin in the text
(full NFKC composition would break that). A skeleton holds ASCII and letters and digits of other scripts, nothing else:
every other symbol becomes a space.
"""

import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]

# Up to the tag characters, which carry hidden ASCII; what lies above folds to a space.
_LIMIT, _TAGS = 0xE0080, 0xE0000
# Letters of these blocks fold to themselves; looking at each would take longer than all others together.
_PLAIN = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xAC00, 0xD800), (0x20000, 0x32000))
_FOLDED = 0x20000
_SURROGATES = (0xD800, 0xE000)

# Letters of other scripts that look like Latin ones (Unicode TR 39 confusables, the single letters in use).
_LOOKALIKES = {
    **dict(zip("аеорсухівкмнтѕјԁԛԝһӏь", "aeopcyxibkmhtsjdqwhlb", strict=True)),
    **dict(zip("αβγεζηικνορτυχω", "abyezhiknoptuxw", strict=True)),
    **dict(zip("ʋɡɩɑıϲϳłøđ", "vgialcjlod", strict=True)),
    "æ": "ae",
    "œ": "oe",
    "þ": "th",
    "ð": "d",
}


# ASCII without letters and digits: what stands between them in a skeleton.
SIGNS = "".join(chr(c) for c in range(128) if not chr(c).isalnum())
_NO_SIGNS = dict.fromkeys(map(ord, SIGNS))
_ASCII = np.frombuffer(bytes(range(128)).lower(), np.uint8).astype(np.uint32)


class Skeleton(NamedTuple):
    """Skeletons of texts, end to end.

    Attributes:
        codes: code points of the skeletons.
        origin: for each, the index of the code point it came from in all texts, end to end.
    """

    codes: Codes
    origin: Ints


class _Tables(NamedTuple):
    lengths: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int32]
    flat: Codes


def fold(text: str) -> str:
    """The skeleton of one text."""
    return text.lower() if text.isascii() else "".join(map(fold_char, text))


def skeleton(codes: Codes) -> Skeleton:
    """The skeletons of texts given as code points."""
    if codes.max(initial=0) < len(_ASCII):  # most texts; the tables of all code points take a quarter of a second
        return Skeleton(_ASCII[codes], np.arange(len(codes)))
    tables = _tables()
    at = np.minimum(codes, _LIMIT).astype(np.int64)
    lengths = tables.lengths[at].astype(np.int64)
    origin = np.repeat(np.arange(len(codes)), lengths)
    starts = np.cumsum(lengths) - lengths
    step = np.arange(len(origin)) - np.repeat(starts, lengths)
    return Skeleton(tables.flat[np.repeat(tables.offsets[at], lengths) + step], origin)


@cache
def _tables() -> _Tables:
    """For each code point where its skeleton stands in `flat`, and how long it is."""
    lengths = np.ones(_LIMIT + 1, np.uint8)
    offsets = np.arange(_LIMIT + 1, dtype=np.int32)
    flat = np.full(_LIMIT + 1, ord(" "), np.uint32)
    for low, high in _PLAIN:
        flat[low:high] = np.arange(low, high)
    flat[_TAGS + 32 : _TAGS + 127] = np.arange(32, 127)  # hidden ASCII is read as what it hides
    extra: list[int] = []
    for code in range(_FOLDED):
        if any(low <= code < high for low, high in (*_PLAIN, _SURROGATES)):
            continue
        out = [ord(c) for c in _fold(chr(code))]
        lengths[code] = len(out)
        if len(out) == 1:
            flat[code] = out[0]
        elif out:
            offsets[code] = len(flat) + len(extra)
            extra += out
    return _Tables(lengths, offsets, np.concatenate([flat, np.array(extra, np.uint32)]))


@cache
def fold_char(char: str) -> str:
    """The skeleton of one character."""
    code = ord(char)
    if code < _FOLDED and not _SURROGATES[0] <= code < _SURROGATES[1]:
        return _fold(char)
    if _TAGS + 32 <= code < _TAGS + 127:
        return chr(code - _TAGS)
    return char if any(low <= code < high for low, high in _PLAIN) else " "


def _fold(char: str) -> str:
    kind = unicodedata.category(char)
    if not unicodedata.decomposition(char):
        if kind in ("Lo", "Lm") and char not in _LOOKALIKES:
            return char
        if kind in ("Cn", "Co", "Cc") and ord(char) > 127:
            return " "
    return "".join(map(_simple, unicodedata.normalize("NFKD", char)))


def _simple(char: str) -> str:
    if ord(char) < 128:
        return char.lower()
    kind = unicodedata.category(char)
    if kind in ("Mn", "Me", "Cf"):
        return ""
    if kind == "Nd":
        return str(unicodedata.decimal(char))
    if kind == "Pd" or char == "\u2212":
        return "-"
    if char in "•●∙·∗⁎＊":
        return "*"
    low = char.casefold()
    low = "".join(c for c in unicodedata.normalize("NFKD", low) if unicodedata.category(c) not in ("Mn", "Me", "Cf"))
    folded = "".join(_LOOKALIKES.get(c, c) for c in low)
    return folded if folded and all(c.isalnum() for c in folded) else " "


def compact(text: str) -> str:
    """The letters and digits of a skeleton; beyond ASCII it holds nothing else."""
    return text.translate(_NO_SIGNS)
