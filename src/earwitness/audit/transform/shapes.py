"""Where in a text a span stands: in a JSON string or number, a URL, code, or prose. It says what may stand instead."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal, NamedTuple

import msgspec

Kind = Literal["plain", "string", "number", "url", "code"]

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(r"[-+.0-9A-Za-z]+")
_NUMERIC = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
# Escapes of JSON, of URLs and of HTML: they are kept or go as a whole.
ESCAPE = re.compile(
    r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[nrtbf\"'/\\]|%[0-9A-Fa-f]{2}|&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,30});"
)
_LINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s\"'<>\\]*\Z")
_AFTER_KEY, _BEFORE_END = re.compile(r"[\"']\s{0,16}[:=]\s{0,16}\Z"), re.compile(r"\s{0,16}[,}\]]")
_NEAR, _LINK_NEAR, _ESCAPE_NEAR = 40, 2048, 40


class Spot(NamedTuple):
    """A span widened to what must not be cut, and where it stands.

    Attributes:
        start: first code point, and
        stop: the one behind the last.
        kind: what the text is there.
        key: whether it is in the key of a JSON object.
        torn: whether it is one part of a span that ran over several JSON tokens.
    """

    start: int
    stop: int
    kind: Kind
    key: bool = False
    torn: bool = False


@dataclass(frozen=True)
class Shape:
    """What is known of a text as a whole.

    Attributes:
        text: the text.
        starts: of a JSON document, where its strings begin (behind the quote), and
        stops: where they end; None if it is none.
        fences: where blocks of code begin and end.
        escapes: whether it may hold escapes.
        links: whether it may hold URLs.
    """

    text: str
    starts: list[int] | None
    stops: list[int] | None
    fences: list[int]
    escapes: bool
    links: bool

    def widen(self, start: int, stop: int) -> tuple[int, int]:
        """The span with every escape and every JSON number that it touches whole."""
        if self.escapes:
            start, stop = _whole_escapes(self.text, start, stop)
        if self.starts is None or self.stops is None or not self.text[start:stop]:
            return start, stop
        if not self._inside(start) and (found := _scalar_around(self.text, start)):
            start = found[0]
        if not self._inside(stop - 1) and (found := _scalar_around(self.text, stop - 1)):
            stop = found[1]
        return start, stop

    def spots(self, start: int, stop: int) -> list[Spot]:
        """A span as the spots it takes: one, or in JSON one for each token that it runs over."""
        if self.starts is None or self.stops is None:
            return [Spot(start, stop, self._kind(start, stop))]
        at = bisect_right(self.starts, start) - 1
        if at >= 0 and stop <= self.stops[at]:
            return [Spot(start, stop, self._within(start), self._is_key(at))]
        tokens = self._tokens(start, stop)
        return [spot._replace(torn=len(tokens) > 1 or (spot.start, spot.stop) != (start, stop)) for spot in tokens]

    def _inside(self, at: int) -> bool:
        """Whether a code point stands in a JSON string."""
        n = bisect_right(self.starts or [], at) - 1
        return n >= 0 and at < (self.stops or [])[n]

    def _is_key(self, n: int) -> bool:
        end = (self.stops or [])[n] + 1
        return self.text[end : end + 16].lstrip()[:1] == ":"

    def _within(self, start: int) -> Kind:
        return "url" if self.links and _LINK.search(self.text, max(0, start - _LINK_NEAR), start) else "string"

    def _tokens(self, start: int, stop: int) -> list[Spot]:
        """The parts of a span that stand in strings, numbers and literals."""
        starts, stops = self.starts or [], self.stops or []
        spots, at = [], start
        n = max(bisect_right(starts, start) - 1, 0)
        while at < stop and n < len(starts):
            if starts[n] < stop and stops[n] > at:
                spots += _scalars(self.text, at, min(starts[n] - 1, stop))
                begin, end = max(at, starts[n]), min(stop, stops[n])
                spots += [Spot(begin, end, "string", self._is_key(n))] if end > begin else []
                at = stops[n] + 1
            elif starts[n] >= stop:
                break
            n += 1
        return spots + _scalars(self.text, at, stop)

    def _keyed(self, start: int) -> bool:
        """Whether the name of a field stands before."""
        return _AFTER_KEY.search(self.text, max(0, start - _NEAR), start) is not None

    def _kind(self, start: int, stop: int) -> Kind:
        text = self.text
        if bisect_right(self.fences, start) % 2:
            return "code"
        if _NUMERIC.fullmatch(text, start, stop) and _BEFORE_END.match(text, stop) and self._keyed(start):
            return "number"
        return "url" if self.links and _LINK.search(text, max(0, start - _LINK_NEAR), start) else "plain"


def look(text: str) -> Shape:
    """The shape of a text."""
    escapes = "\\" in text or "%" in text or "&" in text
    fences = [m.start() for m in re.finditer("```", text)] if "```" in text else []
    if is_json(text):
        spans = [m.span() for m in _STRING.finditer(text)]
        return Shape(text, [a + 1 for a, _ in spans], [b - 1 for _, b in spans], fences, escapes, "://" in text)
    return Shape(text, None, None, fences, escapes, "://" in text)


def is_json(text: str) -> bool:
    """Whether a text is a JSON document, or one JSON object or array a line."""
    head = text.lstrip()[:1]
    if head not in ("{", "["):
        return head == '"' and _valid(text)
    return _valid(text) or ("\n" in text and all(_valid(line) for line in text.splitlines() if line.strip()))


def number_or_null(text: str) -> bool:
    """Whether a text may stand where a JSON number stood."""
    return text == "null" or (_NUMERIC.fullmatch(text) is not None and _valid(text))


def _valid(text: str) -> bool:
    try:
        _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True


_DECODER = msgspec.json.Decoder(msgspec.Raw)


def _scalars(text: str, start: int, stop: int) -> list[Spot]:
    """Numbers and literals between two strings."""
    return [Spot(m.start(), m.end(), "number") for m in _SCALAR.finditer(text, start, max(stop, start))]


def _scalar_around(text: str, at: int) -> tuple[int, int] | None:
    """The number or literal that a code point outside of strings belongs to."""
    if not _SCALAR.match(text, at, at + 1):
        return None
    begin = at
    while begin and _SCALAR.match(text, begin - 1, begin):
        begin -= 1
    found = _SCALAR.match(text, begin)
    return found.span() if found else None


def _whole_escapes(text: str, start: int, stop: int) -> tuple[int, int]:
    """A span that cuts no escape."""
    low, high = max(0, start - _ESCAPE_NEAR), stop + _ESCAPE_NEAR
    for match in ESCAPE.finditer(text, low, high):
        if match.start() < start < match.end():
            start = match.start()
        if match.start() < stop < match.end():
            stop = match.end()
    return start, stop
