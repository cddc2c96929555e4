"""Every way records may be laid out in a stream, and what reads it."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from earwitness.ingest.containers import Block, Container, ahead, detect, json_lines, lines_of, records, whole
from earwitness.ingest.jsonlarge import Cuts
from earwitness.ingest.jsonpieces import Large
from earwitness.ingest.jsontext import DecodeError, decode
from earwitness.ingest.limits import Limits
from earwitness.ingest.record import Adapter, Record, Skip
from earwitness.ingest.registry import adapter_for, find_adapters, find_pieces, pieces_of
from earwitness.ingest.stream import CountingStream
from earwitness.ingest.tabular import parquet_rows, sqlite_rows
from earwitness.ingest.textual import (
    event_records,
    has_json_behind_prefix,
    is_event_stream,
    line_records,
    log_records,
)
from earwitness.ingest.yamlfile import is_yaml, yaml_records

_HEAD, _MANY = 1 << 18, 1000
_VALUE_START = re.compile(r"^[{\[]\s*$", re.MULTILINE)  # of a value over several lines
_DECODER = json.JSONDecoder()

_CUTS = Cuts(find_pieces, pieces_of)

READERS: dict[str, Callable[[Container, Limits], Iterator[Block | Record | Skip | Large]]] = {
    "jsonl": lambda container, limits: ahead(json_lines(container, limits, _CUTS)),
    "json": lambda container, limits: records(container, limits, _CUTS),
    "json-array": lambda container, limits: records(container, limits, _CUTS),
    "json-concatenated": lambda container, limits: records(container, limits, _CUTS),
    "empty": lambda container, limits: iter(()),
    "parquet": lambda container, limits: parquet_rows(container.stream),
    "sqlite": lambda container, limits: sqlite_rows(container.stream),
    "event-stream": event_records,
    "log": log_records,
    "text": line_records,
    "yaml": yaml_records,
}


def recognise(stream: CountingStream) -> Container:
    """The container of a stream. Text is taken only where it holds JSON, or where a format of plain text knows it.

    A log of a known system may quote JSON and stays text; one that shares its file with JSON records is read as both.
    """
    container = detect(stream)
    if container.name != "text" and not container.noisy:
        return container
    head = container.stream.peek(_HEAD)
    text = head.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    owner = _owner_of(text)
    if owner and not (container.name != "text" and _holds_known_json(text)):
        return container._replace(name="text", reason=None, owner=owner)
    if is_yaml(head, cut=len(head) == _HEAD):
        return container._replace(name="yaml", reason=None)
    if container.name != "text":
        return container._replace(name="log") if owner and container.name == "jsonl" else container
    for name, test in (("event-stream", is_event_stream), ("log", has_json_behind_prefix)):
        if test(head):
            return container._replace(name=name, reason=None)
    return container


def _owner_of(text: str) -> Adapter | None:
    """The adapter that knows text by its head."""
    return next((a for a in find_adapters() if hasattr(a, "sniff_text") and a.sniff_text(text)), None)


def _holds_known_json(text: str) -> bool:
    """Whether text is in a good part JSON that an adapter knows: a program may print into the file of its records."""
    lines = [line for line in text.splitlines()[:_MANY] if line.strip()]
    if sum(line.startswith("{") and _is_known(line) for line in lines) * 4 >= len(lines):
        return True
    starts = islice(_VALUE_START.finditer(text), 3)
    return any(_is_known(text[m.start() :]) for m in starts)


def _is_known(text: str) -> bool:
    try:
        value, _ = _DECODER.raw_decode(text)
    except (RecursionError, ValueError):
        return False
    return adapter_for(value) is not None


def values_of(stream: CountingStream, limits: Limits) -> Iterator[Any]:
    """The decoded values of a stream's records; what cannot be read is passed over."""
    container = recognise(stream)
    if container.reason:
        return
    for found in READERS[container.name](container, limits):
        chunk = whole(found, limits) if isinstance(found, Large) else found
        if isinstance(chunk, Block):
            yield from (value for line, _ in lines_of(chunk) if (value := _decoded(line)) is not None)
        elif isinstance(chunk, Record):
            yield chunk.value


def _decoded(line: bytes) -> Any:
    try:
        return decode(line)
    except DecodeError:
        return None
