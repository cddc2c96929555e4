"""Text that is no JSON by itself: server-sent events, log lines with JSON behind a prefix, and plain lines."""

import re
from collections.abc import Iterator
from typing import Any

from earwitness.ingest.containers import Block, Container, blocks, lines_of
from earwitness.ingest.jsontext import DecodeError, decode
from earwitness.ingest.limits import Limits
from earwitness.ingest.record import Place, Record, Skip

_FIELD = re.compile(r"(event|data|id|retry)(?:: ?|$)")
_FEW = 40


def is_event_stream(head: bytes) -> bool:
    """Whether text is a stream of server-sent events."""
    lines = [line for line in _lines(head) if line]
    known = [line for line in lines if _FIELD.match(line) or line.startswith(":")]
    return len(known) == len(lines) and any(line.startswith("data") for line in known)


def has_json_behind_prefix(head: bytes) -> bool:
    """Whether a good part of the first lines end in a JSON object that says something."""
    lines = [line for line in _lines(head) if line]
    return sum(bool(_behind_prefix(line)) for line in lines) * 4 >= len(lines) > 0


def _lines(head: bytes) -> list[str]:
    lines = head.decode("utf-8", "surrogateescape").splitlines()
    return [line.strip() for line in (lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines)[:_FEW]]


def _behind_prefix(line: str) -> Any:
    """The JSON object that a line ends with, or None."""
    at = line.find("{")
    while at >= 0:
        try:
            value = decode(line[at:].encode("utf-8", "surrogateescape"))
        except DecodeError:
            at = line.find("{", at + 1)
            continue
        return value if isinstance(value, dict) else None
    return None


def _text_lines(container: Container, limits: Limits) -> Iterator[tuple[str, Place] | Skip]:
    for chunk in blocks(container, limits):
        if isinstance(chunk, Block):
            for raw, place in lines_of(chunk):
                yield raw.decode("utf-8", "surrogateescape").rstrip("\r"), place
        else:
            yield chunk


def log_records(container: Container, limits: Limits) -> Iterator[Record | Skip]:
    """The JSON object each line ends with; a line without one comes as `{"_line": text}`."""
    for found in _text_lines(container, limits):
        if isinstance(found, Skip):
            yield found
            continue
        line, place = found
        value = _behind_prefix(line.strip())
        yield Record({"_line": line} if value is None else value, place)


def line_records(container: Container, limits: Limits) -> Iterator[Record | Skip]:
    """Every line as `{"_line": text}`. Blank lines are no records; they come with the line below, as `_above`."""
    above = b""
    for chunk in blocks(container, limits):
        if isinstance(chunk, Skip):
            yield chunk
            continue
        end = chunk.offset
        for raw, place in lines_of(chunk):
            above += chunk.data[end - chunk.offset : place.offset - chunk.offset]
            yield Record(_line(raw, above), place)
            above, end = b"", place.offset + place.length + 1
        above = (above + chunk.data[end - chunk.offset :])[-limits.line :]


def _line(raw: bytes, above: bytes) -> dict[str, Any]:
    shown = [line.rstrip("\r") for line in (above + raw).decode("utf-8", "surrogateescape").split("\n")]
    return {"_line": shown[-1], "_above": shown[:-1]} if above else {"_line": shown[-1]}


def event_records(container: Container, limits: Limits) -> Iterator[Record | Skip]:
    """Server-sent events as `{"event", "data", "id"}`, data decoded where it is JSON.

    A new `event` or `data` begins an event, so that a recorder which left out the blank lines between is understood.
    """
    fields: dict[str, Any] = {}
    start: Place | None = None
    for found in _text_lines(container, limits):
        if isinstance(found, Skip):
            yield found
            continue
        line, place = found
        name, _, value = line.partition(":")
        if name not in ("event", "data", "id"):
            continue
        if start and (name in fields or ("data" in fields and name != "id")):
            yield Record(_event(fields), start)
            fields, start = {}, None
        fields[name] = value.removeprefix(" ")
        start = start or place
    if start:
        yield Record(_event(fields), start)


def _event(fields: dict[str, Any]) -> dict[str, Any]:
    try:
        data = decode(str(fields.get("data", "null")).encode("utf-8", "surrogateescape"))
    except DecodeError:
        data = fields.get("data")
    return {"id": fields.get("id"), "event": fields.get("event"), "data": data}
