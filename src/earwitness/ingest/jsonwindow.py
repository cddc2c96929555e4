"""A stream of text seen through a window that grows and moves on, with the place of its cursor."""

import re

from earwitness.ingest.record import Place, Skip
from earwitness.ingest.stream import DamageError, Readable
from earwitness.schema.words import Outcome

# So much is read at least: as a rule, and if the largest window is small.
_SIZE, _SMALLEST = 4 << 20, 64
_BLANK = re.compile(r"[\s,\ufeff]*")


class Window:
    """A growing piece of decoded text with the line, indentation and byte offset of its cursor.

    Damage of the stream counts as its end here; it is kept in `damage`.
    """

    def __init__(self, stream: Readable, offset: int, largest: int) -> None:
        self._least = max(_SMALLEST, min(_SIZE, largest))
        self.stream, self.offset, self.line, self.indent = stream, offset, 1, 0
        self.text, self.at, self._tail = "", 0, b""
        self.barred = 0  # what begins before this offset is decoded as a whole
        self.damage: DamageError | None = None

    def fill(self, size: int = 0) -> bool:
        """Read more, `size` bytes if that is much; False at the end of the stream."""
        raw = self.read(max(size, self._least))
        data = self._tail + raw
        cut = len(data) if not raw else _whole_characters(data)
        self.text = self.text[self.at :] + data[:cut].decode("utf-8", "surrogateescape")
        self._tail, self.at = data[cut:], 0
        return bool(raw)

    def read(self, size: int) -> bytes:
        """The next bytes of the stream; empty at its end."""
        try:
            return b"" if self.damage else self.stream.read(size)
        except DamageError as error:
            self.damage = error
            return b""

    def rest(self) -> bytes:
        """What was read from the cursor on, which stays where it is."""
        data = self.text[self.at :].encode("utf-8", "surrogateescape") + self._tail
        self.text, self.at, self._tail = "", 0, b""
        return data

    def again(self, stream: Readable, size: int) -> None:
        """Read on from a stream that begins at the cursor, and of which `size` bytes are known."""
        self.stream, self.barred = stream, self.offset + size

    def step_over(self, size: int, lines: int, indent: int | None, beyond: bytes) -> None:
        """Move behind a value that was read elsewhere, with what was read beyond it."""
        self.offset, self.line, self._tail = self.offset + size, self.line + lines, beyond
        self.indent = self.indent if indent is None else indent

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
            if not self.fill() and not self.text:
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
            edge = self.text.find("\n", max(self.at, len(self.text) - indent - 1))
            self._move(edge if edge >= 0 else len(self.text))
            if not self.fill():
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
