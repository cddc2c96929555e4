"""Spans put aside until their trace is complete: on disk, with an index by trace in memory."""

import json
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import msgspec

from earwitness.ingest.record import Place
from earwitness.ingest.runlog import Chains
from earwitness.ingest.shelf import Shelf
from earwitness.ingest.spans.copies import fullest
from earwitness.ingest.spans.span import Span

_LENGTH = 4
_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(Span).decode


class Spool:
    """Spans by trace.

    The shelf's file has no name in the file system and goes with its handle: it holds what the traces hold.
    """

    def __init__(self) -> None:
        self._shelf = Shelf()
        self._chains = Chains()  # of each trace where its spans lie
        self._again: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the spans go."""
        self._shelf.close()
        self._chains.clear()

    def __len__(self) -> int:
        """How many traces there are."""
        return len(self._chains)

    @property
    def size(self) -> int:
        """Bytes that were put aside."""
        return self._shelf.size

    def add(self, span: Span, *, again: bool = False) -> int:
        """Put a span aside; gives where it lies. `again` says that there is a record of it already."""
        if again:
            self._again.add(span.trace_id)
        data = _pack(span)
        offset = self._shelf.put_bytes(len(data).to_bytes(_LENGTH, "big") + data)
        self._chains.add(span.trace_id, offset)
        return offset

    def at(self, offset: int) -> Span:
        """The span that lies there."""
        size = int.from_bytes(self._shelf.get_bytes(offset, _LENGTH), "big")
        return _unpack(self._shelf.get_bytes(offset + _LENGTH, size))

    def names(self) -> Iterator[str]:
        """The ids of the traces, in order of appearance."""
        return self._chains.names()

    def of(self, traces: list[str]) -> list[Span]:
        """The spans of some traces, as they were added."""
        return self.sorted_out(traces)[0]

    def sorted_out(self, traces: list[str]) -> tuple[list[Span], list[Span]]:
        """The same, and the records of spans of which another record is told."""
        records = [self.at(offset) for trace in traces for offset in self._chains.of(trace)]
        return (records, []) if self._again.isdisjoint(traces) else fullest(records)


def _pack(span: Span) -> bytes:
    try:
        return _ENCODE(span)
    except (UnicodeEncodeError, OverflowError):
        # Lone surrogates and integers above 64 bits have no msgpack form; escaped JSON has one for both.
        return json.dumps(msgspec.to_builtins(span)).encode("ascii")


def _unpack(data: bytes) -> Span:
    if not data.startswith(b"["):  # no msgpack array begins with this byte
        return _DECODE(data)
    row = json.loads(data)
    return msgspec.convert([*row[:2], Place(*row[2]), *row[3:]], Span)
