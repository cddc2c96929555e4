"""JSON as recorders really write it: NaN, lone surrogates, duplicate keys, huge integers, many values in a file."""

import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Protocol, Self, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from earwitness.ingest.jsonwindow import Window
from earwitness.ingest.limits import CURE, Limits
from earwitness.ingest.record import Place, Record, Skip
from earwitness.ingest.stream import Readable

# What no JSON value begins with is no beginning of one.
_BEGINS = re.compile(r'[\[{"0-9]|-[0-9I]|null|true|false|NaN|Infinity')
REPEATS = "an object repeats a key, so readers disagree on what it says"
_TOO_DEEP = "nested too deep to be read"
_TOO_LONG = "a number with too many digits"
# No token that a window may cut in two, text apart, is longer.
_TOKEN = 16


class DecodeError(Exception):
    """Text that is no JSON; the message gives the cause, never text.

    Attributes:
        what: the cause.
        at: characters before it, where that is known.
    """

    def __init__(self, what: str, at: int | None = None) -> None:
        super().__init__(what if at is None else f"{what} at column {at + 1}")
        self.what, self.at = what, at


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
decode_known = _ANY.decode
# What no value is.
ODD = object()
_ENCODER = msgspec.json.Encoder()
_BRIEF = 2048
_DOUBTFUL = (b" :", b"\t:", b"\r:", b"\n:", b'\\\\":')
_COLON, _QUOTE, _SLASH, _SPACE = ord(":"), ord('"'), ord("\\"), b" \t\r\n"


def table(characters: bytes) -> npt.NDArray[np.bool_]:
    """For each byte, whether it is one of these."""
    return np.isin(np.arange(256), list(characters))


_IS_SPACE = table(_SPACE)
# What stands before a quote that begins a text in JSON without white space, or is part of one.
_ENDS_NO_KEY = table(b":,[{\\")


def decode_text(value: Any, otherwise: Any = None) -> Any:
    """The JSON that a text is, or `otherwise`; what is no text is given back as it is."""
    try:
        return decode(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value
    except DecodeError:
        return otherwise


def decode(raw: bytes) -> Any:
    """A JSON value, tolerantly.

    Raises:
        DecodeError: with cause and column.
    """
    value = decode_plainly(raw)
    return decode_tolerantly(raw) if value is ODD else value


def decode_plainly(raw: bytes) -> Any:
    """A JSON value at parser speed, as `decode` gives it; `ODD` where it takes a closer look.

    Where it gives a value once, `decode_known` gives it again without a look.
    """
    try:
        value = decode_known(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ODD
    if type(value) is not dict and type(value) is not list:
        return value
    kept = keys_kept(value)  # a colon behind each key, and most texts have none
    return value if kept == raw.count(b":") or kept == _keys_at_most(raw) or kept == keys_written(raw) else ODD


def _keys_at_most(raw: bytes) -> int:
    """As many keys as valid JSON can hold, found in a moment; -1 where it takes a closer look.

    Quotes before a colon end a key, or stand in a text: there an odd number of backslashes may stand before them.
    """
    if len(raw) > _BRIEF:  # the closer look takes no longer
        return -1
    for pair in _DOUBTFUL:
        if pair in raw:
            return -1
    return raw.count(b'":') - raw.count(b'\\":')


def decode_tolerantly(raw: bytes) -> Any:
    """A JSON value in a line of its own.

    Raises:
        DecodeError: with cause and column.
    """
    return _decoded(_LINE, raw.decode("utf-8", "surrogateescape").strip(" \t\r\n\ufeff"))


def decode_document(raw: bytes) -> Any:
    """A JSON value over several lines: a line end in a text says that it was cut off.

    Raises:
        DecodeError: with cause and column.
    """
    text, decoder = raw.decode("utf-8", "surrogateescape"), _DOCUMENT
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        decoder = _LINE if _is_odd_character(error) else _DOCUMENT
    except (RecursionError, _RepeatedKeyError, ValueError):
        pass
    return _decoded(decoder, text)


def _decoded(decoder: json.JSONDecoder, text: str) -> Any:
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        raise DecodeError(f"not JSON: {error.msg.lower()}", error.pos) from None
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
    written = keys_written(raw)
    return values if _keys_at_least(values) == written or keys_kept(values) == written else None


def _keys_at_least(values: list[Any]) -> int:
    """Object keys of decoded values at any depth, counted in a moment; fewer where a key ends like no key.

    Written again without white space, a text begins behind one of a few characters, and a key ends behind any other.
    """
    try:
        data = np.frombuffer(_ENCODER.encode(values), np.uint8)
    except (ValueError, OverflowError, RecursionError):  # a lone surrogate, a number above 64 bits
        return -1
    colons = np.flatnonzero(data == _COLON)
    ends = data[colons[data[colons - 1] == _QUOTE] - 2]
    return len(ends) - int(np.count_nonzero(_ENDS_NO_KEY[ends]))


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


class Apart(Protocol):
    """A value that is not decoded at once."""

    def at(self, pointer: str, /) -> Self:
        """The same value as a part of another."""
        ...


A = TypeVar("A", bound=Apart)
# Takes the value at the cursor of a window; None says that it is to be decoded as a whole, and leaves the window as is.
Take = Callable[[Window], A | Skip | None]


def documents(
    stream: Readable, start: int, limits: Limits, *, array: bool, take: Take[A]
) -> Iterator[Record | Skip | A]:
    """JSON values one after another, separated by white space, commas or noise.

    Reads a window that grows until a value is complete, so memory is bounded by the largest value.

    Args:
        stream: UTF-8 bytes.
        start: byte offset of the first one.
        limits: the largest value.
        array: arrays at the top are taken apart: their elements are the values.
        take: asked to take an object that is not complete when the window is as large as `limits.whole`.

    Raises:
        DamageError: after the last value, where the stream is damaged.
    """
    window = Window(stream, start, limits.whole)
    inside, number = False, 0
    while window.skip_blank():
        if array and window.step("]" if inside else "["):
            inside, number = not inside, 0
            continue
        found = _noise(window) or _next_document(window, limits, take)
        yield found.at(f"/{number}") if inside and not isinstance(found, Skip) else found
        number += 1
    if inside and not window.damage:
        yield Skip("unparseable", "the array is not closed: the data is cut off", window.take(window.at))
    if window.damage:
        raise window.damage


def _noise(window: Window) -> Skip | None:
    """What begins no value is passed over as the decoder would have it, which counts all lines before it first."""
    if window.size() <= _TOKEN or _BEGINS.match(window.text, window.at):
        return None
    return window.give_up("unparseable", "not JSON: expecting value")


def _next_document(window: Window, limits: Limits, take: Take[A]) -> Record | Skip | A:
    decoder, reason = _DOCUMENT, ""
    while True:
        try:
            value, end = decoder.raw_decode(window.text, window.at)
        except json.JSONDecodeError as error:
            odd = decoder is _DOCUMENT and _is_odd_character(error)
            if found := None if odd else _go_on(window, error, limits, take):
                return found
            decoder = _LINE if odd else decoder
        except (RecursionError, _RepeatedKeyError, ValueError) as error:
            if isinstance(error, RecursionError):
                return window.give_up("unparseable", _unfit(error))
            decoder, reason = _MEASURE, _unfit(error)  # go on only to find where it ends
        else:
            length = end - window.at
            if end < len(window.text) or not window.fill():
                return _finished(value, window.take(window.at + length), reason, limits)


def _is_odd_character(error: json.JSONDecodeError) -> bool:
    """Whether a text holds a control character that is no line end."""
    return error.msg.startswith("Invalid control") and error.doc[error.pos] not in "\r\n"


def _go_on(window: Window, error: json.JSONDecodeError, limits: Limits, take: Take[A]) -> A | Skip | None:
    """Read on if the value may only be cut off by the window, or have it taken otherwise if it is large."""
    size = window.size()
    known = size < limits.whole or window.offset < window.barred or not window.text.startswith("{", window.at)
    found = None if known or not _may_be_cut(error) else take(window)
    if found is None and window.size() == size:
        return _grow(window, error, limits)
    if found is None:
        window.fill(2 * size)  # it was looked at, and begins anew
    return found


def _grow(window: Window, error: json.JSONDecodeError, limits: Limits) -> Skip | None:
    """Read on if the value may only be cut off by the window; else give it up."""
    if _may_be_cut(error):
        if window.size() > limits.line:
            return window.give_up("oversized", f"value over the limit of {limits.line} bytes{CURE}")
        if window.fill(window.size()):
            return None
    return window.give_up("unparseable", f"not JSON: {error.msg.lower()}")


def _may_be_cut(error: json.JSONDecodeError) -> bool:
    return error.msg.startswith("Unterminated") or error.pos >= len(error.doc) - _TOKEN


def _finished(value: Any, place: Place, reason: str, limits: Limits) -> Record | Skip:
    if place.length > limits.line:
        return Skip("oversized", f"value of {place.length} bytes, over the limit of {limits.line}{CURE}", place)
    return Skip("unparseable", reason, place) if reason else Record(value, place)
