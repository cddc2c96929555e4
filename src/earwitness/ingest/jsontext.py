"""JSON as recorders really write it: NaN, lone surrogates, duplicate keys, huge integers, many values in a file."""

import json
import math
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from earwitness.ingest.limits import Limits
from earwitness.ingest.record import Place, Record, Skip
from earwitness.ingest.stream import DamageError, Readable
from earwitness.schema.words import Outcome

_WINDOW = 4 << 20
# What no JSON value begins with is no beginning of one.
_BEGINS = re.compile(r'[\[{"0-9]|-[0-9I]|null|true|false|NaN|Infinity')
_BLANK = re.compile(r"[\s,\ufeff]*")
REPEATS = "an object repeats a key, so readers disagree on what it says"
_TOO_DEEP = "nested too deep to be read"
_TOO_LONG = "a number with too many digits"
# No token that a window may cut in two, text apart, is longer.
_TOKEN = 16


class DecodeError(Exception):
    """Text that is no JSON; the message gives cause and column, never text."""


class _RepeatedKeyError(Exception):
    """An object holds the same key twice: whichever value a reader takes, it hides the other."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise _RepeatedKeyError
    return out


def _number(text: str) -> float | str:
    """A number beyond what a float holds stays as it is written."""
    value = float(text)
    return value if math.isfinite(value) else text


def _decoder(*, strict: bool) -> json.JSONDecoder:
    """NaN and Infinity become text: as numbers they would turn into null, or poison sums, further on."""
    return json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=str, parse_float=_number, strict=strict)


# Control characters inside a text are let pass; but across lines, a line end in a text says that it was cut off.
_LINE, _DOCUMENT = _decoder(strict=False), _decoder(strict=True)
_MEASURE = json.JSONDecoder(parse_int=str, strict=False)
_ANY = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder()
_DOUBTFUL = (b" :", b"\t:", b"\r:", b"\n:", b'\\\\":')
_COLON, _QUOTE, _SLASH, _SPACE = ord(":"), ord('"'), ord("\\"), b" \t\r\n"


def _table(characters: bytes) -> npt.NDArray[np.bool_]:
    return np.isin(np.arange(256), list(characters))


# White space, and what stands before the quote that begins a text in JSON without white space.
_IS_SPACE, _BEGINS_TEXT = _table(_SPACE), _table(b":,[{")


def decode(raw: bytes) -> Any:
    """A JSON value, tolerantly.

    Raises:
        DecodeError: with cause and column.
    """
    try:
        value = _ANY.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _decode_tolerantly(raw)
    if type(value) is not dict and type(value) is not list:
        return value
    kept = keys_kept(value)
    return value if kept == _keys_at_most(raw) or kept == keys_written(raw) else _decode_tolerantly(raw)


def _keys_at_most(raw: bytes) -> int:
    """As many keys as valid JSON can hold, found in a moment; -1 where it takes a closer look.

    Quotes before a colon end a key, or stand in a text: there an odd number of backslashes may stand before them.
    """
    if any(pair in raw for pair in _DOUBTFUL):
        return -1
    return raw.count(b'":') - raw.count(b'\\":')


def _decode_tolerantly(raw: bytes) -> Any:
    text = raw.decode("utf-8", "surrogateescape").strip(" \t\r\n\ufeff")
    try:
        return _LINE.decode(text)
    except json.JSONDecodeError as error:
        raise DecodeError(f"not JSON: {error.msg.lower()} at column {error.pos + 1}") from None
    except (RecursionError, _RepeatedKeyError, ValueError) as error:
        raise DecodeError(_unfit(error)) from None


def _unfit(error: Exception) -> str:
    """Why text that may well be JSON is not taken."""
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    return REPEATS if isinstance(error, _RepeatedKeyError) else _TOO_LONG


def keys_written(raw: bytes) -> int:
    """At least the number of object keys in valid JSON: the quotes that end a text, or begin one, before a colon."""
    quotes, rare = _before_colons(raw)
    return len(quotes) + rare


def _before_colons(raw: bytes) -> tuple[npt.NDArray[np.int64], int]:
    """Unescaped quotes right before a colon, and the number of those that took a closer look."""
    data = np.frombuffer(raw, np.uint8)
    colons = np.flatnonzero(data == _COLON)
    before = data[colons - 1]
    quotes = colons[before == _QUOTE] - 1
    escaped = data[quotes - 1] == _SLASH
    # One backslash makes the quote text, none leaves it alone; more of them, or white space, need a look.
    doubtful = quotes[escaped & (data[quotes - 2] == _SLASH)] + 1
    spaced = colons[_IS_SPACE[before]]
    return quotes[~escaped], sum(_ends_text(raw, int(at)) for at in (*doubtful, *spaced))


def _ends_text(raw: bytes, colon: int) -> bool:
    quote = colon - 1
    while quote > 0 and raw[quote] in _SPACE:
        quote -= 1
    slash = quote
    while slash > 0 and raw[slash - 1] == _SLASH:
        slash -= 1
    return raw[quote] == _QUOTE and (quote - slash) % 2 == 0


def has_repeats(raw: bytes, kept: int | None = None) -> bool:
    """Whether lines of valid JSON objects may repeat a key, at any depth. False is certain.

    Args:
        raw: the lines.
        kept: keys that a typed decoder kept of them, if there is one: a cheaper proof, if nothing was defaulted.
    """
    written = keys_written(raw)
    if kept == written:
        return False
    try:
        return keys_kept(_ANY.decode_lines(raw)) != written
    except (msgspec.DecodeError, RecursionError):
        return True


def decode_lines(raw: bytes) -> list[Any] | None:
    """The values of lines at parser speed, each as `decode` gives it; None where some line needs a closer look.

    Args:
        raw: lines that each begin and end as an object or array does.
    """
    try:
        values = _ANY.decode_lines(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return values if keys_kept(values) == keys_written(raw) else None


def keys_kept(value: Any) -> int:
    """Number of object keys in a decoded value, at any depth."""
    kept, level = 0, [value]
    while level:
        kept += sum(len(v) for v in level if type(v) is dict)
        inner = chain.from_iterable(v.values() if type(v) is dict else v for v in level)
        level = [v for v in inner if type(v) is dict or type(v) is list]
    return kept


def begins_value(text: str) -> bool:
    """Whether text begins with a whole JSON object or array."""
    try:
        return isinstance(_MEASURE.raw_decode(text)[0], dict | list)
    except (RecursionError, ValueError):
        return False


def documents(stream: Readable, start: int, limits: Limits, *, array: bool) -> Iterator[Record | Skip]:
    """JSON values one after another, separated by white space, commas or noise.

    Reads a window that grows until a value is complete, so memory is bounded by the largest value.

    Args:
        stream: UTF-8 bytes.
        start: byte offset of the first one.
        limits: the largest value.
        array: arrays at the top are taken apart: their elements are the values.

    Raises:
        DamageError: after the last value, where the stream is damaged.
    """
    window = _Window(stream, start)
    inside, number = False, 0
    while window.skip_blank():
        if array and window.step("]" if inside else "["):
            inside, number = not inside, 0
            continue
        found = _noise(window) or _next_document(window, limits)
        yield found if isinstance(found, Skip) or not inside else Record(found.value, found.place.at(f"/{number}"))
        number += 1
    if inside and not window.damage:
        yield Skip("unparseable", "the array is not closed: the data is cut off", window.take(window.at))
    if window.damage:
        raise window.damage


def _noise(window: "_Window") -> Skip | None:
    """What begins no value is passed over as the decoder would have it, which counts all lines before it first."""
    if window.size() <= _TOKEN or _BEGINS.match(window.text, window.at):
        return None
    return window.give_up("unparseable", "not JSON: expecting value")


def _next_document(window: "_Window", limits: Limits) -> Record | Skip:
    decoder, reason = _DOCUMENT, ""
    while True:
        try:
            value, end = decoder.raw_decode(window.text, window.at)
        except json.JSONDecodeError as error:
            odd = decoder is _DOCUMENT and _is_odd_character(error)
            if skip := None if odd else _grow(window, error, limits):
                return skip
            decoder = _LINE if odd else decoder
        except (RecursionError, _RepeatedKeyError, ValueError) as error:
            if isinstance(error, RecursionError):
                return window.give_up("unparseable", _unfit(error))
            decoder, reason = _MEASURE, _unfit(error)  # go on only to find where it ends
        else:
            if end < len(window.text) or not window.fill(_WINDOW):
                return _finished(value, window.take(end), reason, limits)


def _is_odd_character(error: json.JSONDecodeError) -> bool:
    """Whether a text holds a control character that is no line end."""
    return error.msg.startswith("Invalid control") and error.doc[error.pos] not in "\r\n"


def _grow(window: "_Window", error: json.JSONDecodeError, limits: Limits) -> Skip | None:
    """Read on if the value may only be cut off by the window; else give it up."""
    if _may_be_cut(error):
        if window.size() > limits.line:
            return window.give_up("oversized", f"value over the limit of {limits.line} bytes")
        if window.fill(max(_WINDOW, window.size())):
            return None
    return window.give_up("unparseable", f"not JSON: {error.msg.lower()}")


def _may_be_cut(error: json.JSONDecodeError) -> bool:
    return error.msg.startswith("Unterminated") or error.pos >= len(error.doc) - _TOKEN


def _finished(value: Any, place: Place, reason: str, limits: Limits) -> Record | Skip:
    if place.length > limits.line:
        return Skip("oversized", f"value of {place.length} bytes, over the limit of {limits.line}", place)
    return Skip("unparseable", reason, place) if reason else Record(value, place)


class _Window:
    """A growing piece of decoded text with the line, indentation and byte offset of its cursor.

    Damage of the stream counts as its end here; it is kept in `damage`.
    """

    def __init__(self, stream: Readable, offset: int) -> None:
        self.stream, self.offset, self.line, self.indent = stream, offset, 1, 0
        self.text, self.at, self._tail = "", 0, b""
        self.damage: DamageError | None = None

    def fill(self, size: int) -> bool:
        """Read more; False at the end of the stream."""
        raw = self._read(size)
        data = self._tail + raw
        cut = len(data) if not raw else _whole_characters(data)
        self.text = self.text[self.at :] + data[:cut].decode("utf-8", "surrogateescape")
        self._tail, self.at = data[cut:], 0
        return bool(raw)

    def _read(self, size: int) -> bytes:
        try:
            return b"" if self.damage else self.stream.read(size)
        except DamageError as error:
            self.damage = error
            return b""

    def size(self) -> int:
        """Code points from the cursor to the end of the window."""
        return len(self.text) - self.at

    def step(self, mark: str) -> bool:
        """Step over a mark, if it is next."""
        if not self.text.startswith(mark, self.at):
            return False
        self._move(self.at + 1)
        return True

    def skip_blank(self) -> bool:
        """Move to the next value; False where there is none."""
        while True:
            self._move(_BLANK.match(self.text, self.at).end())  # type: ignore[union-attr]  # it always matches
            if self.at < len(self.text):
                return True
            if not self.fill(_WINDOW) and not self.text:
                return False

    def take(self, end: int) -> Place:
        """The place of the value that ends at `end`, and move behind it."""
        line, offset = self.line, self.offset
        self._move(end)
        return Place(line, offset, self.offset - offset)

    def give_up(self, outcome: Outcome, reason: str) -> Skip:
        """Step to the next line that could begin a value: one that is indented no deeper than this one."""
        line, offset, indent = self.line, self.offset, self.indent
        begins = re.compile(rf"\n[ \t]{{0,{indent}}}[\[{{]")
        while not (match := begins.search(self.text, self.at)):
            edge = self.text.find("\n", max(self.at + 1, len(self.text) - indent - 1))
            self._move(edge if edge >= 0 else len(self.text))
            if not self.fill(_WINDOW):
                self._move(len(self.text))
                break
        else:
            self._move(match.end() - 1)
        return Skip(outcome, reason, Place(line, offset, self.offset - offset))

    def _move(self, to: int) -> None:
        piece = self.text[self.at : to]
        self.line += piece.count("\n")
        self.offset += len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogateescape"))
        self.at = to
        if "\n" in piece:
            self.indent = len(piece) - piece.rindex("\n") - 1


def _whole_characters(data: bytes) -> int:
    """Length of `data` without a UTF-8 character that is cut at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return len(data)
        if byte >= 0xC0:
            width = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) if back >= width else len(data) - back
    return len(data)
