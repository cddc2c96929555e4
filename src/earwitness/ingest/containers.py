"""Containers: how records are laid out in a byte stream, told from its first bytes.

A JSON-lines stream comes as blocks of whole lines, so that a format may decode a block at parser speed;
everything else comes record by record.
"""

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from earwitness.ingest.jsontext import documents
from earwitness.ingest.limits import Limits
from earwitness.ingest.record import Place, Record, Skip
from earwitness.ingest.stream import CountingStream, Readable, RecodedStream

_HEAD = 1 << 18
_BOMS = (
    (codecs.BOM_UTF8, None),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNSUPPORTED = (
    (b"PAR1", "parquet"),
    (b"SQLite format 3\x00", "sqlite"),
    (b"%PDF", "pdf"),
    (b"\x89PNG", "png"),
    (b"ARROW1", "arrow"),
    (b"Obj\x01", "avro"),
)
_JSON_START = re.compile(rb'\s*(?:[\[{"\-0-9]|null|true|false|NaN|Infinity)')


class Block(NamedTuple):
    """Whole lines: bytes, number of the first line, byte offset of the first byte."""

    data: bytes
    line: int
    offset: int


class Container(NamedTuple):
    """What a stream turned out to be.

    `name` is `jsonl`, `json`, `json-array`, `json-concatenated`, `empty`, or an unsupported kind by name,
    with `reason` saying what was looked at.
    """

    name: str
    stream: Readable
    start: int = 0
    reason: str | None = None


def detect(stream: CountingStream) -> Container:
    """The container of a stream, from its first 256 KiB."""
    bare = stream.peek(4)
    source, start = _strip_bom(stream, bare)
    head = source.peek(_HEAD)
    for magic, name in _UNSUPPORTED:
        if head.startswith(magic):
            return Container(name, source, start, f"a {name} file: this container is not supported")
    if not head.strip():
        return Container("empty", source, start)
    if not _JSON_START.match(head):
        return Container("text", source, start, _looked_at(head))
    return Container(_json_kind(head), source, start)


def _strip_bom(stream: CountingStream, bare: bytes) -> tuple[CountingStream, int]:
    for bom, encoding in _BOMS:
        if bare.startswith(bom):
            if encoding is None:
                stream.read(len(bom))
                return stream, len(bom)
            return CountingStream(RecodedStream(stream, encoding), stream.limits), 0
    return stream, 0


def _looked_at(head: bytes) -> str:
    kind = "binary data" if b"\x00" in head else "text"
    return (
        f"{kind} that does not begin with a JSON value; looked for JSON lines, one JSON value, a JSON array, "
        "concatenated JSON, gzip, zstd, xz, bzip2, zip, tar, parquet and SQLite"
    )


def _json_kind(head: bytes) -> str:
    lines = [line for line in head.split(b"\n") if line.strip()]
    if _parses(lines[0]):
        return "jsonl" if len(lines) > 1 else "json"
    if len(lines) == 1 and len(head) == _HEAD:
        return "jsonl"  # a first line longer than the head: decoded by the line, whatever it holds
    if any(line.startswith(b"{") and _parses(line) for line in lines[1:6]):
        return "jsonl"
    if head.lstrip().startswith(b"["):
        return "json-array"
    return "json-concatenated"


def _parses(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    return True


def blocks(container: Container, limits: Limits) -> Iterator[Block | Skip]:
    """A JSON-lines stream as blocks of whole lines. Lines over the limit are passed over, and said so."""
    kept = _Kept()
    line, offset = 1, container.start
    while chunk := container.stream.read(limits.block):
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            kept.add(chunk, limits.line)
            continue
        first = chunk.find(b"\n") + 1
        if kept.dropped:
            length = kept.size + first
            yield Skip(
                "oversized", f"line of {length} bytes, over the limit of {limits.line}", Place(line, offset, length)
            )
            line, offset, chunk, cut = line + 1, offset + length, chunk[first:], cut - first
            kept = _Kept()
        data = b"".join([*kept.parts, chunk[:cut]])
        if data:
            yield Block(data, line, offset)
        line, offset = line + data.count(b"\n"), offset + len(data)
        kept = _Kept()
        kept.add(chunk[cut:], limits.line)
    if kept.dropped:
        yield Skip(
            "oversized", f"line of {kept.size} bytes, over the limit of {limits.line}", Place(line, offset, kept.size)
        )
    elif kept.size:
        yield Block(b"".join(kept.parts), line, offset)


class _Kept:
    """The beginning of a line whose end has not been read; its bytes are let go once it is too long."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size, self.dropped = 0, False

    def add(self, chunk: bytes, limit: int) -> None:
        self.size += len(chunk)
        self.dropped = self.dropped or self.size > limit
        self.parts = [] if self.dropped else [*self.parts, chunk]


def records(container: Container, limits: Limits) -> Iterator[Record | Skip]:
    """A stream of JSON values that are not one a line: one value, an array's elements, or concatenated values."""
    return documents(container.stream, container.start, limits, array=container.name != "json-concatenated")


def lines_of(block: Block) -> Iterator[tuple[bytes, Place]]:
    """The non-blank lines of a block with their places."""
    offset = block.offset
    for number, raw in enumerate(block.data.split(b"\n"), start=block.line):
        if raw.strip():
            yield raw, Place(number, offset, len(raw))
        offset += len(raw) + 1
