"""JSON as recorders really write it: NaN, lone surrogates, duplicate keys, huge integers, many values in a file."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from earwitness.ingest.limits import Limits
from earwitness.ingest.record import Place, Record, Skip
from earwitness.ingest.stream import Readable

_WINDOW = 4 << 20
_BLANK = re.compile(r"[\s,]*")
_RESUME = re.compile(r"\n[{\[]")
REPEATS = "an object repeats a key, so readers disagree on what it says"


class DecodeError(Exception):
    """Text that is no JSON; the message gives cause and column, never text."""


class _RepeatedKeyError(Exception):
    """An object holds the same key twice: whichever value a reader takes, it hides the other."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise _RepeatedKeyError
    return out


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs)
_LENIENT = json.JSONDecoder()


def decode(raw: bytes) -> Any:
    """A JSON value, tolerantly.

    Raises:
        DecodeError: with cause and column.
    """
    text = raw.decode("utf-8", "surrogateescape").strip()
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise DecodeError(f"not JSON: {error.msg.lower()} at column {error.pos + 1}") from None
    except RecursionError:
        raise DecodeError("nested too deep to be read") from None
    except _RepeatedKeyError:
        raise DecodeError(REPEATS) from None
    except ValueError:
        raise DecodeError("a number with too many digits") from None


def keys_written(raw: bytes) -> int:
    """At least the number of object keys in JSON text (exact where no text inside looks like a key)."""
    return raw.count(b'":') - raw.count(b'\\":') + raw.count(b'" :') + raw.count(b'"\t:') + raw.count(b'"\n:')


_SHALLOW = msgspec.json.Decoder(dict[str, msgspec.Raw])


def has_repeats(raw: bytes) -> bool:
    """Whether lines of JSON objects may repeat a key at the top level; no false negative for objects without nesting."""
    try:
        unique = sum(map(len, _SHALLOW.decode_lines(raw)))
    except (msgspec.DecodeError, RecursionError):
        return True
    return unique != keys_written(raw)


def documents(stream: Readable, start: int, limits: Limits, *, array: bool) -> Iterator[Record | Skip]:
    """JSON values one after another, separated by white space, commas or noise.

    Reads a window that grows until a value is complete, so memory is bounded by the largest value.

    Args:
        stream: UTF-8 bytes.
        start: byte offset of the first one.
        limits: the largest value.
        array: the values are the elements of one array, if the text begins with `[`.
    """
    window = _Window(stream, start)
    window.fill(_WINDOW)
    inside = array and window.enter_array()
    number = 0
    while window.skip_blank(closing=inside):
        found = _next_document(window, limits)
        if isinstance(found, Record) and inside:
            found = Record(found.value, found.place.at(f"/{number}"))
        number += 1
        yield found


def _next_document(window: "_Window", limits: Limits) -> Record | Skip:
    while True:
        try:
            value, end = _DECODER.raw_decode(window.text, window.at)
            if end < len(window.text) or not window.fill(_WINDOW):
                return Record(value, window.take(end))
        except RecursionError:
            return window.give_up("nested too deep to be read")
        except _RepeatedKeyError:
            return Skip("unparseable", REPEATS, window.take(_LENIENT.raw_decode(window.text, window.at)[1]))
        except ValueError as error:
            cause = error.msg.lower() if isinstance(error, json.JSONDecodeError) else "a number with too many digits"
            if window.size() > limits.line:
                return window.give_up(f"value over the limit of {limits.line} bytes", oversized=True)
            if not window.fill(max(_WINDOW, window.size())):
                return window.give_up(f"not JSON: {cause}")


class _Window:
    """A growing piece of decoded text with the line and byte offset of its cursor."""

    def __init__(self, stream: Readable, offset: int) -> None:
        self.stream, self.offset, self.line = stream, offset, 1
        self.text, self.at, self._tail = "", 0, b""

    def fill(self, size: int) -> bool:
        """Read more; False at the end of the stream."""
        raw = self.stream.read(size)
        data = self._tail + raw
        cut = len(data) if not raw else _whole_characters(data)
        self.text = self.text[self.at :] + data[:cut].decode("utf-8", "surrogateescape")
        self._tail, self.at = data[cut:], 0
        return bool(raw)

    def size(self) -> int:
        """Code points from the cursor to the end of the window."""
        return len(self.text) - self.at

    def enter_array(self) -> bool:
        """Step over an opening bracket, if there is one."""
        self.skip_blank(closing=False)
        if self.text.startswith("[", self.at):
            self._move(self.at + 1)
            return True
        return False

    def skip_blank(self, *, closing: bool) -> bool:
        """Move to the next value; False where there is none."""
        while True:
            match = _BLANK.match(self.text, self.at)
            self._move(match.end() if match else self.at)
            if closing and self.text.startswith("]", self.at):
                self._move(self.at + 1)
                continue
            if self.at < len(self.text):
                return True
            if not self.fill(_WINDOW):
                return self.at < len(self.text)

    def take(self, end: int) -> Place:
        """The place of the value that ends at `end`, and move behind it."""
        line, offset = self.line, self.offset
        self._move(end)
        return Place(line, offset, self.offset - offset)

    def give_up(self, reason: str, *, oversized: bool = False) -> Skip:
        """Step to the next line that could begin a value."""
        match = _RESUME.search(self.text, self.at + 1)
        place = self.take(match.start() + 1 if match else len(self.text))
        return Skip("oversized" if oversized else "unparseable", reason, place)

    def _move(self, to: int) -> None:
        piece = self.text[self.at : to]
        self.line += piece.count("\n")
        self.offset += len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogateescape"))
        self.at = to


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
