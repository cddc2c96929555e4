"""YAML as a container: one document a record. It is taken only where an adapter knows what stands in it."""

import re
from collections.abc import Iterator
from typing import Any

from earwitness.ingest.cassettes import bodies, is_cassette
from earwitness.ingest.containers import Block, Container, blocks
from earwitness.ingest.limits import Limits
from earwitness.ingest.record import Place, Record, Skip
from earwitness.ingest.registry import adapter_for
from earwitness.ingest.yamltext import YamlError, begin_yaml, load_yaml

# A mapping, or a list of mappings, with nothing before it but comments and marks.
_LOOKS = re.compile(rb"(?:-[ \t]+)?[\"']?[A-Za-z_$][\w.$-]*[\"']?:(?:\s|$)")
_QUIET = re.compile(rb"\s*(?:[#%].*|---\s*)?$")
_MARKS = re.compile(rb"^(?:---(?=\s|\Z)|\.\.\.(?:[ \t].*)?\r?$)", re.MULTILINE)
_FEW, _SMALL = 5, 4096
_UNSURE = 90


def is_yaml(head: bytes, *, cut: bool) -> bool:
    """Whether text is YAML whose first document an adapter knows.

    Args:
        head: the first bytes.
        cut: there are more.
    """
    first = next((line for line in head.splitlines()[:_SMALL] if not _QUIET.match(line)), b"")
    if not _LOOKS.match(first.removeprefix(b"---").lstrip()):
        return False
    value = begin_yaml(head)
    if is_cassette(value):
        known = (r for r, _ in zip(_found(value), range(2 * _FEW), strict=False))
        return any(_is_known(record.value) for record in known) or cut
    return _is_known(value)


def _found(value: Any) -> Iterator[Record]:
    found = bodies(value, Place(1, 0, 0), Limits())
    return (record for record in found if isinstance(record, Record))


def _is_known(value: Any) -> bool:
    rows = value[:_FEW] if isinstance(value, list) else []
    return any(map(_is_sure, (value, *(row for row in rows if isinstance(row, dict)))))


def _is_sure(value: Any) -> bool:
    """Whether an adapter knows a value, and not only that it might be of its format."""
    adapter = adapter_for(value)
    return adapter is not None and getattr(adapter, "PRIORITY", 50) <= _UNSURE


def yaml_records(container: Container, limits: Limits) -> Iterator[Record | Skip]:
    """A record for each document; of a cassette, one for each body."""
    for found in _documents(container, limits):
        if isinstance(found, Skip):
            yield found
            continue
        raw, place = found
        try:
            value = load_yaml(raw)
        except YamlError as error:
            yield Skip("unparseable", str(error), place)
            continue
        if is_cassette(value):
            yield from bodies(value, place, limits)
        elif value is not None:
            yield Record(value, place)


def _documents(container: Container, limits: Limits) -> Iterator[tuple[bytes, Place] | Skip]:
    """The documents as bytes: a mark at the beginning of a line ends one, wherever it stands."""
    document = _Document(limits.line)
    for chunk in blocks(container, limits):
        if isinstance(chunk, Skip):
            yield chunk
            continue
        start = 0
        for mark in _MARKS.finditer(chunk.data):
            document.add(chunk, start, mark.start())
            yield from document.close()
            start = mark.start() if mark[0].startswith(b"---") else mark.end()
        document.add(chunk, start, len(chunk.data))
    yield from document.close()


class _Document:
    """The lines of a document so far; they are let go once there are too many."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.parts: list[bytes] = []
        self.size = 0
        self.place = Place(1, 0, 0)
        self._counted = (-1, 0, 0)

    def add(self, chunk: Block, start: int, end: int) -> None:
        """More of it, from a block of lines."""
        if not self.size:
            self.place = Place(self._line(chunk, start), chunk.offset + start, 0)
        self.size += end - start
        self.parts.append(chunk.data[start:end])
        if self.size > self.limit:
            self.parts.clear()

    def _line(self, chunk: Block, start: int) -> int:
        """The number of the line at `start`, counted on from the document before: a block may hold thousands."""
        offset, at, line = self._counted
        if offset != chunk.offset:
            at, line = 0, chunk.line
        line += chunk.data.count(b"\n", at, start)
        self._counted = chunk.offset, start, line
        return line

    def close(self) -> Iterator[tuple[bytes, Place] | Skip]:
        """The document, if there is something in it."""
        raw, place = b"".join(self.parts), self.place._replace(length=self.size)
        if self.size > self.limit:
            yield Skip("oversized", f"document of {self.size} bytes, over the limit of {self.limit}", place)
        elif len(raw) > _SMALL or not all(_QUIET.match(line) for line in raw.splitlines()):
            yield raw, place
        self.parts.clear()
        self.size = 0
