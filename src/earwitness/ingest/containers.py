"""Containers: how records are laid out in a byte stream, told from its first bytes.

A JSON-lines stream comes as blocks of whole lines, so that a format may decode a block at parser speed;
everything else comes record by record.
"""

import codecs
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from earwitness.ingest.jsonlarge import NO_CUTS, Cuts, LongLine, refused, take_document
from earwitness.ingest.jsonpieces import Large
from earwitness.ingest.jsontext import (
    DecodeError,
    begins_value,
    decode,
    decode_document,
    decode_lines,
    documents,
    table,
)
from earwitness.ingest.jsonwindow import Window
from earwitness.ingest.limits import Limits
from earwitness.ingest.record import Adapter, Place, Record, Skip
from earwitness.ingest.stream import CountingStream, DamageError, RecodedStream

_HEAD = 1 << 18
_BOMS = (
    (codecs.BOM_UTF8, None),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TABLES = ((b"PAR1", "parquet"), (b"SQLite format 3\x00", "sqlite"))
_UNSUPPORTED = (
    (b"%PDF", "pdf"),
    (b"\x89PNG", "png"),
    (b"ARROW1", "arrow"),
    (b"Obj\x01", "avro"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!", "rar"),
    (b"\x04\x22\x4d\x18", "lz4"),
)
_NEWLINE = 10
_RETURN = 13
_PIECE = 1 << 17
_FEW = 8
_NOISE = 1000
_LINE_START = re.compile(r"^[{\[]", re.MULTILINE)
_ARRAY_START = re.compile(rb'\[\s*(?:$|[\[{"\]])')  # `[INFO] ...` is none
_JSON_START = re.compile(rb"\s*[\[{]")
_JSON_OBJECT = re.compile(rb"[ \t\r]*\{")
_UNCUT = "its format is not read in pieces"

T = TypeVar("T")


Ints = npt.NDArray[np.int64]
# Numbers, byte offsets and lengths of lines.
Lines = tuple[Ints, Ints, Ints]
_OPENS, _CLOSES, _BLANK = (table(some) for some in (b"{[", b"}]", b" \t\r\v\f"))
# What a class made by `NamedTuple` does, without a call of Python: there is one of each for every line.
_RECORD: Callable[[tuple[Any, Place]], Record] = partial(tuple.__new__, Record)
_PLACE: Callable[[tuple[int, int, int, str, int]], Place] = partial(tuple.__new__, Place)


class Block(NamedTuple):
    """Whole lines: bytes, number of the first line, byte offset of the first byte."""

    data: bytes
    line: int
    offset: int


class Container(NamedTuple):
    """What a stream turned out to be.

    `name` is `jsonl`, `json`, `json-array`, `json-concatenated`, `empty`, or an unsupported kind by name,
    with `reason` saying what was looked at. `noisy` says that something else than JSON comes first; `owner` is the
    adapter that knows the file as text, and reads all of its lines.
    """

    name: str
    stream: CountingStream
    start: int = 0
    reason: str | None = None
    noisy: bool = False
    owner: Adapter | None = None


def detect(stream: CountingStream) -> Container:
    """The container of a stream, from its first 256 KiB."""
    bare = stream.peek(4)
    source, start = _strip_bom(stream, bare)
    head = source.peek(_HEAD)
    for magic, name in _TABLES:
        if head.startswith(magic):
            return Container(name, source, start)
    for magic, name in _UNSUPPORTED:
        if head.startswith(magic):
            return Container(name, source, start, f"a {name} file: this container is not supported")
    if not head.strip():
        return Container("empty", source, start)
    noisy = _begins_noisy(head)
    kind = _kind_after_noise(head) if noisy else _json_kind(head)
    return Container(kind, source, start, _looked_at(head) if kind == "text" else None, noisy)


def _strip_bom(stream: CountingStream, bare: bytes) -> tuple[CountingStream, int]:
    for bom, encoding in _BOMS:
        if bare.startswith(bom):
            if encoding is None:
                stream.read(len(bom))
                return stream, len(bom)
            return CountingStream(RecodedStream(stream, encoding)), 0
    return stream, 0


def _looked_at(head: bytes) -> str:
    kind = "binary data" if b"\x00" in head else "text"
    return (
        f"{kind} that does not begin with a JSON value; looked for JSON lines, one JSON value, a JSON array, "
        "concatenated JSON, server-sent events, log lines with JSON, logs and YAML of known systems, gzip, zstd, "
        "xz, bzip2, zip, tar, Parquet, SQLite"
    )


def _begins_noisy(head: bytes) -> bool:
    """Whether a stream begins with something else than JSON; a first line `[INFO] ...` is no array."""
    first = head.lstrip().split(b"\n", 1)[0].strip()
    return not _JSON_START.match(head) or (
        first.startswith(b"[") and not _ARRAY_START.match(first) and not _parses(first)
    )


def _json_kind(head: bytes) -> str:
    lines = [line.strip() for line in head.split(b"\n") if line.strip()]
    whole = _parses(lines[0])
    if lines[0].startswith(b"[") and whole and len(lines) > 1 and _parses(lines[1]):
        return "jsonl"  # lines that are arrays
    if lines[0].startswith(b"["):
        return "json-array"
    if len(lines) == 1 and (whole or len(head) == _HEAD):
        return "json" if whole else "jsonl"  # a first line longer than the head
    if len(head) == _HEAD:
        lines.pop()  # the head may cut it
    if any(map(_goes_on, lines[:_FEW], lines[1:])):
        return "json-concatenated"
    return "jsonl" if whole or any(map(_is_object, lines[1:_FEW])) else "json-concatenated"


def _goes_on(line: bytes, following: bytes) -> bool:
    """Whether a line is the beginning of a value that the following line continues; else it was cut off."""
    return line[-1:] in b"{[,:" and not _parses(line) and not _is_object(following)


def _kind_after_noise(head: bytes) -> str:
    """What a stream is that begins with something else than JSON: a program's own prints, say."""
    lines = [line.strip() for line in head.split(b"\n", _NOISE)[:_NOISE]]
    if any(map(_is_object, lines)):
        return "jsonl"
    text = head.decode("utf-8", "surrogateescape")
    starts = [m.start() for m, _ in zip(_LINE_START.finditer(text), range(3), strict=False)]
    return "json-concatenated" if any(begins_value(text[at:]) for at in starts) else "text"


def _is_object(line: bytes) -> bool:
    return line.startswith(b"{") and _parses(line)


def _parses(line: bytes) -> bool:
    try:
        decode(line)
    except DecodeError:
        return False
    return True


def blocks(container: Container, limits: Limits) -> Iterator[Block | Skip]:
    """A stream of lines as blocks of whole lines. Lines over the limit are passed over, and said so.

    Raises:
        DamageError: after the last line, where the stream is damaged.
    """
    yield from cast("Iterator[Block | Skip]", json_lines(container, limits, NO_CUTS))


def json_lines(container: Container, limits: Limits, cuts: Cuts) -> Iterator[Block | Skip | Large]:
    """The same of a JSON-lines stream, in which a large line may come by itself, to be read in pieces.

    Args:
        container: of the stream.
        limits: what lines are large.
        cuts: the arrays that may be cut; if there are none, no line comes so.

    Raises:
        DamageError: after the last line, where the stream is damaged.
    """
    size = min(limits.block, limits.line)
    kept, place = _Kept(limits, cuts), Place(1, container.start, 0)
    damage: DamageError | None = None
    while True:
        try:
            chunk = container.stream.read(size)
        except DamageError as error:
            chunk, damage = b"", error
        cut = chunk.rfind(b"\n") + 1 if chunk else 0
        if chunk and not cut:
            kept.add(chunk)
            continue
        for piece in kept.close(chunk[:cut], place):
            yield piece
            place = _behind(piece)
        if not chunk:
            break
        kept.add(chunk[cut:])
    if damage:
        raise damage


def _behind(piece: Block | Skip | Large) -> Place:
    """Where the next line begins."""
    if isinstance(piece, Block):
        return Place(piece.line + piece.data.count(b"\n"), piece.offset + len(piece.data), 0)
    size = piece.shelf.size if isinstance(piece, Large) else piece.place.length
    return Place(piece.place.line + 1, piece.place.offset + size, 0)


class _Kept:
    """The beginning of a line whose end has not been read; its bytes are let go once it is too long.

    A large object is put aside where it may be read in pieces.
    """

    def __init__(self, limits: Limits, cuts: Cuts) -> None:
        self.limits, self.cuts = limits, cuts
        self.parts: list[bytes] = []
        self.size, self.dropped = 0, False
        self.long: LongLine | None = None

    def add(self, chunk: bytes) -> None:
        """More of the line."""
        if self.long:
            self.long.add(chunk)
            return
        self.size += len(chunk)
        if self.dropped:
            return
        self.parts.append(chunk)
        if self.size > self.limits.whole and _JSON_OBJECT.match(self.parts[0]) and self.cuts.paths():
            self.long = LongLine(self.limits, self.cuts)
            for part in self._taken():
                self.long.add(part)
        elif self.size > self.limits.line:
            self.dropped = True
            self.parts.clear()

    def _taken(self) -> Iterator[bytes]:
        self.size = 0
        while self.parts:
            yield self.parts.pop(0)

    def close(self, chunk: bytes, place: Place) -> Iterator[Block | Skip | Large]:
        """The line with its end, and the whole lines that follow it."""
        first = chunk.find(b"\n") + 1
        length = self.size + first
        if self.long:
            self.long.add(chunk[:first])
            found, self.long = self.long.close(place), None
            piece = Block(found, place.line, place.offset) if isinstance(found, bytes) else found
            yield piece
            place, chunk = _behind(piece), chunk[first:]
        elif length > self.limits.line:
            reason = refused("line", length, self.limits.line)
            skip = Skip("oversized", reason, Place(place.line, place.offset, length))
            yield skip
            place, chunk = _behind(skip), chunk[first:]
            self.parts.clear()
        data = b"".join([*self.parts, chunk])
        self.parts.clear()
        self.size, self.dropped = 0, False
        if data:
            yield Block(data, place.line, place.offset)


def ahead(chunks: Iterator[T]) -> Iterator[T]:
    """The same chunks, each read (and hashed) while the one before it is worked on."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="earwitness-reader") as pool:
        pending = pool.submit(next, chunks, None)
        while (chunk := pending.result()) is not None:
            pending = pool.submit(next, chunks, None)
            yield chunk


def records(container: Container, limits: Limits, cuts: Cuts = NO_CUTS) -> Iterator[Record | Skip | Large]:
    """A stream of JSON values that are not one a line: one value, an array's elements, or concatenated values."""

    def take(window: Window) -> Large | Skip | None:
        return take_document(window, limits, cuts)

    array = container.name != "json-concatenated"
    return documents(container.stream, container.start, limits, array=array, take=take)


def whole(large: Large, limits: Limits) -> Block | Record | Skip:
    """A large value that is not read in pieces, as it would have come without a look at its size."""
    place = large.place
    if place.length > limits.line:
        what = "value" if large.document else "line"
        return Skip("oversized", refused(what, place.length, limits.line, _UNCUT), place)
    if not large.document:
        return Block(large.raw(), place.line, place.offset)
    try:
        return Record(decode_document(large.raw()), place)
    except DecodeError as error:
        return Skip("unparseable", error.what, place)


def lines_of(block: Block) -> Iterator[tuple[bytes, Place]]:
    """The non-blank lines of a block with their places."""
    for place in _places(line_columns(block), -1):
        start = place.offset - block.offset
        yield block.data[start : start + place.length], place


def records_of(block: Block, source: int = -1) -> Iterator[Record | Skip]:
    """The lines of a block of a source decoded, and why some could not be."""
    for piece in _pieces(block):
        columns = line_columns(piece)
        places = _places(columns, source)
        values = decode_lines(piece.data) if _are_values(piece, columns) else None
        if values is not None and len(values) == len(places):
            yield from map(_RECORD, zip(values, places, strict=True))
        else:
            yield from _one_by_one(piece, places)


def _one_by_one(block: Block, places: list[Place]) -> Iterator[Record | Skip]:
    for place in places:
        start = place.offset - block.offset
        try:
            yield Record(decode(block.data[start : start + place.length]), place)
        except DecodeError as error:
            yield Skip("unparseable", str(error), place)


def _pieces(block: Block) -> Iterator[Block]:
    """Some lines at a time: what is decoded at once is held at once, and one odd line holds up its piece only."""
    start, line = 0, block.line
    while start < len(block.data):
        end = block.data.find(b"\n", start + _PIECE) + 1 or len(block.data)
        data = block.data[start:end]
        yield Block(data, line, block.offset + start)
        start, line = end, line + data.count(b"\n")


def _are_values(block: Block, lines: Lines) -> bool:
    """Whether every line begins and ends as an object or array does, so that as many values are one a line."""
    data, (_, offsets, lengths) = np.frombuffer(block.data, np.uint8), lines
    starts = offsets - block.offset
    ends = starts + lengths - 1
    ends = ends - (data[ends] == _RETURN)
    return bool(np.all(_OPENS[data[starts]]) and np.all(_CLOSES[data[ends]]))


def _places(lines: Lines, source: int) -> list[Place]:
    """The places of lines of a source, -1 for the current one."""
    columns = (c.tolist() for c in lines)
    return list(map(_PLACE, zip(*columns, repeat(""), repeat(source), strict=False)))


def line_columns(block: Block) -> Lines:
    """Line numbers, byte offsets and lengths of the non-blank lines of a block."""
    data = np.frombuffer(block.data, np.uint8)
    ends = np.flatnonzero(data == _NEWLINE)
    if len(data) and data[-1] != _NEWLINE:
        ends = np.append(ends, len(data))
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1)) if len(ends) else ends
    numbers = np.arange(block.line, block.line + len(ends))
    full = ends > starts
    # Only a line that begins with white space can be blank.
    for at in np.flatnonzero(full & _BLANK[data[np.minimum(starts, len(data) - 1)]]):
        full[at] = bool(block.data[starts[at] : ends[at]].strip())
    return numbers[full], block.offset + starts[full], (ends - starts)[full]
