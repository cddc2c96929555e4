"""Texts hidden in texts: JSON, URL and HTML escapes, base64 and hexadecimal runs, nested up to three deep.

What is decoded is searched like any content; where it came from is kept by code point (escapes) or as the run it was
(base64, hexadecimal), so that spans point into the original.
"""

import base64
import binascii
import html
import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from earwitness.audit.forms.skeleton import Ints

DEPTH = 3
_WINDOW, _OVERLAP = 1 << 20, 4096
_SHORTEST_RUN, _LONGEST_RUN, _PRINTABLE = 12, 1 << 20, 0.9

_JSON = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrtbf\"'/\\])")
_URL = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_HTML = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_RUN = re.compile(rf"[A-Za-z0-9+/_-]{{{_SHORTEST_RUN},}}={{0,2}}")
_PIECE = re.compile(rf"[A-Za-z0-9+]{{{_SHORTEST_RUN},}}={{0,2}}")
_WRAPPED = re.compile(r"(?:[A-Za-z0-9+/]{60,76}\r?\n)+[A-Za-z0-9+/]+={0,2}")
_SPACED = re.compile(r"(?:[0-9a-fA-F]{2}[ :]){5,}[0-9a-fA-F]{2}")
# Constants and identifiers, which most long runs are: words with underscores or hyphens between them, all in one case.
_NAMELIKE = re.compile(r"(?=.*[g-zG-Z_])(?:[a-z0-9_-]+|[A-Z0-9_-]+)")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?)+")
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}

_SIGNS = np.zeros(256, np.bool_)
_SIGNS[[ord(c) for c in "\\%&"]] = True
_RUNNING = np.zeros(256, np.bool_)
_RUNNING[[c for c in range(128) if chr(c).isalnum() or chr(c) in "+/_-"]] = True


@dataclass(frozen=True)
class Decoded:
    """A text that was hidden in a content.

    Attributes:
        row: of the content in its batch.
        form: how it was hidden, the outermost way first.
        start: for each of its code points, where the original of it begins in the content.
        stop: and where it ends.
    """

    row: int
    text: str
    form: str
    start: Ints
    stop: Ints


def decoded(texts: pa.Array, *, everywhere: bool = False) -> list[Decoded]:
    """All texts hidden in the contents of a batch.

    Args:
        texts: the contents.
        everywhere: each text at every place where it is hidden, and not at the first alone.
    """
    return [
        inner
        for row in _candidates(texts)
        for window in _windows(row, texts[row].as_py())
        for inner in _all(window, everywhere)
    ]


def _windows(row: int, text: str) -> Iterator[Decoded]:
    """A content in pieces that overlap, so that positions of a long one do not take many times its size."""
    for at in range(0, max(len(text) - _OVERLAP, 1), _WINDOW):
        piece = text[at : at + _WINDOW + _OVERLAP]
        places = np.arange(at, at + len(piece))
        yield Decoded(row, piece, "", places, places + 1)


def _all(outer: Decoded, everywhere: bool) -> list[Decoded]:
    """All that is hidden in a text, each text once (at each place, if it is to be `everywhere`), shallowest first."""
    known, level, found = {_key(outer, everywhere)}, [outer], []
    for _ in range(DEPTH):
        inners = (inner for at in level for inner in (*_unescaped(at), *_runs(at)))
        level = [inner for inner in inners if _fresh(_key(inner, everywhere), known)]
        found += level
    return found


def _key(inner: Decoded, everywhere: bool) -> Hashable:
    placed = everywhere and len(inner.text)
    return (inner.text, int(inner.start[0]), int(inner.stop[-1])) if placed else inner.text


def _fresh(key: Hashable, known: set[Hashable]) -> bool:
    if key in known:
        return False
    known.add(key)
    return True


def _candidates(texts: pa.Array) -> list[int]:
    """Contents with a sign that begins an escape, or with a long run of the alphabet of encodings."""
    texts = texts.cast(pa.large_string())
    bounds = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]]
    bounds = bounds - bounds[0]
    signs = np.flatnonzero(_SIGNS[data])
    breaks = np.concatenate([[-1], np.flatnonzero(~_RUNNING[data]), [len(data)]])
    runs = breaks[:-1][np.diff(breaks) > _SHORTEST_RUN] + 1
    at = np.concatenate([signs, runs])
    rows: Ints = np.unique(np.searchsorted(bounds, at, side="right") - 1)
    return [int(r) for r in rows if r < len(texts)] + _spaced_rows(data, bounds, set(rows.tolist()))


def _spaced_rows(data: npt.NDArray[np.uint8], bounds: Ints, known: set[int]) -> list[int]:
    """Contents with bytes in hexadecimal and spaces between them: `3a 3b` is digits and letters up to f, in pairs."""
    colon = (data == ord(":")) | (data == ord(" "))
    at = np.flatnonzero(colon)
    third = np.diff(at) == 3
    # Five gaps of three in a row.
    if len(third) < 4:
        return []
    run = third[:-3] & third[1:-2] & third[2:-1] & third[3:]
    rows = np.unique(np.searchsorted(bounds, at[:-4][run], side="right") - 1)
    return [int(r) for r in rows if int(r) not in known]


def _unescaped(outer: Decoded) -> Iterator[Decoded]:
    """The text with all escapes of one kind replaced."""
    for form, sign, pattern, decode in _ESCAPES:
        if sign in outer.text and pattern.search(outer.text):
            yield _replaced(outer, form, pattern, decode)


def _replaced(outer: Decoded, form: str, pattern: re.Pattern[str], decode: Callable[[str], str]) -> Decoded:
    pieces: list[str] = []
    starts: list[Ints] = []
    stops: list[Ints] = []
    at = 0
    for match in pattern.finditer(outer.text):
        out = decode(match[0])
        pieces += [outer.text[at : match.start()], out]
        starts += [outer.start[at : match.start()], np.full(len(out), outer.start[match.start()])]
        stops += [outer.stop[at : match.start()], np.full(len(out), outer.stop[match.end() - 1])]
        at = match.end()
    pieces.append(outer.text[at:])
    starts.append(outer.start[at:])
    stops.append(outer.stop[at:])
    return Decoded(outer.row, "".join(pieces), _named(outer, form), np.concatenate(starts), np.concatenate(stops))


def _json(escape: str) -> str:
    kind = escape[1]
    if kind in "ux":
        char = chr(int(escape[2:], 16))
        return char if not 0xD800 <= ord(char) < 0xE000 else "\ufffd"
    return _SIMPLE.get(kind, kind)


def _url(escape: str) -> str:
    return unquote(escape, errors="replace")


_ESCAPES: tuple[tuple[str, str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("json", "\\", _JSON, _json),
    ("url", "%", _URL, _url),
    ("html", "&", _HTML, html.unescape),
)


def _runs(outer: Decoded) -> Iterator[Decoded]:
    """What runs of hexadecimal digits or of base64 say, where it is text."""
    for match in _run_matches(outer.text):
        told = _told(outer, match[0], match.start())
        if told:
            yield told
        elif not match[0].isalnum():  # a run may be several with signs of the alphabet between them: log-QWxs...
            pieces = _PIECE.finditer(outer.text, match.start(), match.end())
            yield from filter(None, (_told(outer, piece[0], piece.start()) for piece in pieces))


def _told(outer: Decoded, run: str, at: int) -> Decoded | None:
    """What a run says, if it says something."""
    if len(run) > _LONGEST_RUN:
        return None
    for form, decode in (("hex", _unhex), ("base64", _unbase64)):
        if inner := _readable(decode(run)):
            start = np.full(len(inner), outer.start[at])
            stop = np.full(len(inner), outer.stop[at + len(run) - 1])
            return Decoded(outer.row, inner, _named(outer, form), start, stop)
    return None


def _run_matches(text: str) -> Iterator[re.Match[str]]:
    longest = 0
    for match in _RUN.finditer(text):
        longest = max(longest, len(match[0]))
        if not _NAMELIKE.fullmatch(match[0]):
            yield match
    if longest >= 60 and "\n" in text:
        yield from _WRAPPED.finditer(text)
    yield from _SPACED.finditer(text)


def _unhex(run: str) -> bytes:
    if not _HEX.fullmatch(run):
        return b""
    try:
        return bytes.fromhex(run.replace(":", " "))
    except ValueError:
        return b""


def _unbase64(run: str) -> bytes:
    if run.isupper() or run.islower() or " " in run or ":" in run:  # as names and numbers are, and base64 is not
        return b""
    bare = "".join(run.split()).rstrip("=").replace("-", "+").replace("_", "/")
    if len(bare) % 4 == 1:
        return b""
    try:
        if not _may_be_text(base64.b64decode(bare[:12], validate=True)):
            return b""
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except binascii.Error:
        return b""


def _may_be_text(head: bytes) -> bool:
    """Whether the first bytes are of text: most runs are names and random ids, and are told by these."""
    return (head.isascii() and head.decode().isprintable()) or any(b >= 0xC2 for b in head) or b"\n" in head


def _readable(data: bytes) -> str:
    """Bytes as text, if they are text at all."""
    if len(data) < 4:
        return ""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    printable = sum(c.isprintable() or c in "\r\n\t" for c in text)
    return text if printable >= _PRINTABLE * len(text) else ""


def _named(outer: Decoded, form: str) -> str:
    return f"{outer.form}+{form}" if outer.form else form
