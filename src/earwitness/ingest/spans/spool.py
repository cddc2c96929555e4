"""Spans put aside until their trace is complete: on disk, with an index by trace in memory."""

import json
from array import array
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import msgspec

from earwitness.ingest.record import Place
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
        self._offsets: dict[str, array[int]] = {}
        self._again: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the spans go."""
        self._shelf.close()
        self._offsets.clear()

    def add(self, span: Span, *, again: bool = False) -> None:
        """Put a span aside; `again` says that there is a record of it already."""
        self._again |= {span.trace_id} if again else set()
        data = _pack(span)
        offset = self._shelf.put_bytes(len(data).to_bytes(_LENGTH, "big") + data)
        known = self._offsets.get(span.trace_id)
        if known is None:
            self._offsets[span.trace_id] = known = array("q")
        known.append(offset)

    def traces(self) -> Iterator[list[Span]]:
        """The spans of each trace, traces in order of appearance, spans as they were added."""
        for trace in self._offsets:
            yield self.of([trace])

    def of(self, traces: list[str]) -> list[Span]:
        """The spans of some traces."""
        spans = self._records(traces)
        return spans if self._again.isdisjoint(traces) else fullest(spans)[0]

    def copies(self, traces: list[str]) -> list[Span]:
        """The records of spans of which another record is told."""
        again = [trace for trace in traces if trace in self._again]
        return fullest(self._records(again))[1] if again else []

    def _records(self, traces: list[str]) -> list[Span]:
        return [self._read(offset) for trace in traces for offset in self._offsets.get(trace, ())]

    def _read(self, offset: int) -> Span:
        size = int.from_bytes(self._shelf.get_bytes(offset, _LENGTH), "big")
        return _unpack(self._shelf.get_bytes(offset + _LENGTH, size))


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
