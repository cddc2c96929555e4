"""Every way records may be laid out in a stream, and what reads it."""

from collections.abc import Callable, Iterator
from typing import Any

from earwitness.ingest.containers import Block, Container, ahead, blocks, detect, lines_of, records
from earwitness.ingest.jsontext import DecodeError, decode
from earwitness.ingest.limits import Limits
from earwitness.ingest.record import Record, Skip
from earwitness.ingest.registry import find_adapters
from earwitness.ingest.stream import CountingStream
from earwitness.ingest.tabular import parquet_rows, sqlite_rows
from earwitness.ingest.textual import event_records, has_json_behind_prefix, is_event_stream, line_records, log_records

_HEAD = 1 << 18

READERS: dict[str, Callable[[Container, Limits], Iterator[Block | Record | Skip]]] = {
    "jsonl": lambda container, limits: ahead(blocks(container, limits)),
    "json": records,
    "json-array": records,
    "json-concatenated": records,
    "empty": lambda container, limits: iter(()),
    "parquet": lambda container, limits: parquet_rows(container.stream),
    "sqlite": lambda container, limits: sqlite_rows(container.stream),
    "event-stream": event_records,
    "log": log_records,
    "text": line_records,
}


def recognise(stream: CountingStream) -> Container:
    """The container of a stream. Text is taken only where it holds JSON, or where a format of plain text knows it."""
    container = detect(stream)
    if container.name != "text":
        return container
    head = stream.peek(_HEAD)
    text = head.decode("utf-8", "surrogateescape")
    if any(a.sniff_text(text) for a in find_adapters() if hasattr(a, "sniff_text")):
        return container._replace(reason=None)
    for name, test in (("event-stream", is_event_stream), ("log", has_json_behind_prefix)):
        if test(head):
            return container._replace(name=name, reason=None)
    return container


def values_of(stream: CountingStream, limits: Limits) -> Iterator[Any]:
    """The decoded values of a stream's records; what cannot be read is passed over."""
    container = recognise(stream)
    if container.reason:
        return
    for chunk in READERS[container.name](container, limits):
        if isinstance(chunk, Block):
            yield from (value for line, _ in lines_of(chunk) if (value := _decoded(line)) is not None)
        elif isinstance(chunk, Record):
            yield chunk.value


def _decoded(line: bytes) -> Any:
    try:
        return decode(line)
    except DecodeError:
        return None
