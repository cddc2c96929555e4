"""Cassettes: HTTP traffic that a test recorded, in VCR's layout (`vcrpy`, `pytest-recording`, `ddapm` and others).

Each interaction has a request and a response, and the bodies are what a tracer sent or a model answered.
"""

import zlib
from collections.abc import Iterator
from typing import Any

from earwitness.ingest.jsontext import DecodeError, decode
from earwitness.ingest.limits import Limits
from earwitness.ingest.record import Place, Record, Skip

_EMPTY = ("", "{}", "[]", "null")
_GZIP = b"\x1f\x8b"


def is_cassette(value: Any) -> bool:
    """Whether a document is a cassette."""
    rows = value.get("interactions") if isinstance(value, dict) else None
    return isinstance(rows, list) and bool(rows) and isinstance(rows[0], dict) and "request" in rows[0]


def bodies(value: dict[str, Any], place: Place, limits: Limits) -> Iterator[Record | Skip]:
    """The JSON in the bodies of all requests and responses, each a record; what is no JSON is said so."""
    for n, row in enumerate(value["interactions"]):
        for side in ("request", "response"):
            part = row.get(side) if isinstance(row, dict) else None
            if isinstance(part, dict):
                yield _body(part.get("body"), place.at(f"/interactions/{n}/{side}/body"), limits)
            else:
                yield Skip("ignored", f"a {side} that was not recorded", place.at(f"/interactions/{n}"))


def _body(body: Any, place: Place, limits: Limits) -> Record | Skip:
    if isinstance(body, dict):
        key = next((k for k in ("string", "base64_string") if k in body), None)
        place, body = place.at(f"/{key}") if key else place, body.get(key) if key else body
    if body is None or (isinstance(body, str) and body.strip() in _EMPTY):
        return Skip("ignored", "an empty body", place)
    if isinstance(body, bytes):
        body = _inflated(body, limits)
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogateescape")
    if not isinstance(body, bytes):
        return Record(body, place) if isinstance(body, dict | list) else Skip("ignored", "a body without JSON", place)
    try:
        return Record(decode(body), place)
    except DecodeError:
        return Skip("ignored", "a body without JSON", place)


def _inflated(body: bytes, limits: Limits) -> bytes:
    """A body as it was before it was compressed; one that grows too much, or is broken, stays as it is."""
    if not body.startswith(_GZIP):
        return body
    inflater = zlib.decompressobj(31)
    try:
        found = inflater.decompress(body, max(1, min(limits.line, limits.expand_free)))
    except zlib.error:
        return body
    return body if inflater.unconsumed_tail else found
