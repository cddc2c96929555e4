"""OTLP/JSON envelopes taken apart into spans: camelCase and snake_case, old and new names, hex and base64 ids."""

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from earwitness.ingest.record import Place, Record, Skip, is_array, some
from earwitness.ingest.spans.span import Span, SpanEvent
from earwitness.schema.times import to_nanos

_RESOURCE_SPANS = ("resourceSpans", "resource_spans", "batches")
_SCOPE_SPANS = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
# Where lists of spans stand, and in Tempo's answers.
PIECES = tuple(
    path
    for above in ("", "/trace")
    for blocks in _RESOURCE_SPANS
    for path in (
        f"{above}/{blocks}",
        *(f"{above}/{blocks}/*/{groups}{rest}" for groups in _SCOPE_SPANS for rest in ("", "/*/spans")),
    )
)
_SCOPE = ("scope", "instrumentationLibrary", "instrumentation_library")
_LINKED = (("traceId", "trace_id", "traceID"), ("spanId", "span_id", "spanID"))
_DROPPED = ("Attributes", "Events", "Links")
_PLAIN_ID = re.compile(r"(?=.*[1-9a-f])(?:[0-9a-f]{16}|[0-9a-f]{32})")
_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]+)")
_REMEMBERED = 64  # ids up to this length
_FAILED = (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error")
_SCALARS = ("stringValue", "string_value", "boolValue", "bool_value")


def is_envelope(value: Any) -> bool:
    """Whether a decoded record holds OTLP trace spans, or would."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("trace"), dict) and "observations" not in value:
        return is_envelope(value["trace"])
    key = _key(value, _RESOURCE_SPANS)
    if key is None or not isinstance(value[key], list):
        return False
    rows = [row for row in value[key] if isinstance(row, dict)]
    return key != "batches" or any(_key(row, _SCOPE_SPANS) for row in rows)


def split(record: Record) -> Iterator[Record]:
    """One record a span, holding the `Span` or the `Skip` that says why it is none."""
    return some(_parts(record.value, record.place), record.place, "an envelope without spans")


def _parts(value: dict[str, Any], place: Place) -> Iterator[Record]:
    if isinstance(value.get("trace"), dict):
        yield from _parts(value["trace"], place.at("/trace"))
        return
    for block, at in _rows(value, _RESOURCE_SPANS, place):
        resource = attributes(_dict(block.get("resource")).get("attributes"))
        for group, deeper in _rows(block, _SCOPE_SPANS, at):
            scope = _dict(group.get(_key(group, _SCOPE) or "")).get("name")
            for raw, where in _rows(group, ("spans",), deeper):
                yield Record(_span(raw, resource, scope if isinstance(scope, str) else None, where), where)


def _rows(owner: dict[str, Any], names: tuple[str, ...], place: Place) -> Iterator[tuple[dict[str, Any], Place]]:
    """The elements of a list with their places; what is no object counts as an empty one."""
    key = _key(owner, names)
    rows = owner.get(key) if key else None
    for n, row in enumerate(rows if is_array(rows) else ()):
        yield _dict(row), place.at(f"/{key}/{n}")


def _span(raw: dict[str, Any], resource: dict[str, Any], scope: str | None, place: Place) -> Span | Skip:
    trace, span = span_id(_of(raw, "traceId"), 16), span_id(_of(raw, "spanId"), 8)
    if trace is None or span is None:
        return Skip("unparseable", "a span without trace id or span id", place)
    status = _dict(raw.get("status"))
    try:
        return Span(
            trace_id=trace,
            span_id=span,
            parent_id=span_id(_of(raw, "parentSpanId"), 8),
            place=place,
            name=str(raw.get("name") or ""),
            start=to_nanos(_of(raw, "startTimeUnixNano")),
            end=to_nanos(_of(raw, "endTimeUnixNano")),
            attributes=attributes(raw.get("attributes")),
            events=tuple(_event(e) for e in _list(raw.get("events")) if isinstance(e, dict)),
            failed=status.get("code") in _FAILED,
            status=status.get("message") if isinstance(status.get("message"), str) else None,
            resource=resource,
            scope=scope,
            dropped=sum(_count(_of(raw, f"dropped{what}Count")) for what in _DROPPED),
            links=read_links(raw.get("links")),
        )
    except RecursionError:
        return Skip("unparseable", "a span with attributes nested too deep to be read", place)


def _event(raw: dict[str, Any]) -> SpanEvent:
    time = to_nanos(_of(raw, "timeUnixNano"))
    return SpanEvent(str(raw.get("name") or ""), time, attributes(raw.get("attributes")))


def span_id(raw: Any, size: int) -> str | None:
    """Lower-case hex of an id written as hex, as base64 of its bytes or of its hex text, or as a number.

    Args:
        raw: what the file holds.
        size: bytes of such an id: 16 for a trace, 8 for a span.
    """
    if isinstance(raw, str) and len(raw) >= 2 * size and _PLAIN_ID.fullmatch(raw):
        return raw
    if isinstance(raw, int) and not isinstance(raw, bool):
        return f"{raw:0{2 * size}x}" if raw > 0 else None
    if not isinstance(raw, str):
        return None
    return _remembered_id(raw, size) if len(raw) <= _REMEMBERED else _id_of_text(raw, size)


def _id_of_text(raw: str, size: int) -> str | None:
    text = raw.strip()
    if not text:
        return None
    match = _HEX.fullmatch(text)
    if match and len(match[1]) <= 2 * size:
        out = match[1].lower().rjust(2 * size, "0")
    else:
        out = _from_base64(text, size) or text
    return out if out.strip("0") else None


# Every span names its trace, and most the span above.
_remembered_id = lru_cache(maxsize=4096)(_id_of_text)


def read_links(rows: Any) -> tuple[tuple[str, str], ...]:
    """Span links as trace id and span id, in the spelling of any container."""
    found = [_linked(row) for row in rows if isinstance(row, dict)] if rows and isinstance(rows, list) else ()
    return tuple((trace, span) for trace, span in found if trace and span)


def _linked(row: dict[str, Any]) -> tuple[str | None, str | None]:
    inner = row["context"] if isinstance(row.get("context"), dict) else row
    trace, span = (next((inner[k] for k in keys if k in inner), None) for keys in _LINKED)
    return span_id(trace, 16), span_id(span, 8)


def _from_base64(text: str, size: int) -> str | None:
    try:
        data = base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(data) == size:
        return data.hex()
    inner = _HEX.fullmatch(data.decode("ascii", "replace"))
    return inner[1].lower() if inner and len(data) == 2 * size else None


def attributes(raw: Any) -> dict[str, Any]:
    """Attributes as a plain dict, from a list of key and value or from an object."""
    if isinstance(raw, dict):
        return {str(k): any_value(v) for k, v in raw.items()}
    rows = raw if isinstance(raw, list) else ()
    return {str(row["key"]): any_value(row.get("value")) for row in rows if isinstance(row, dict) and "key" in row}


def any_value(raw: Any) -> Any:
    """The Python value of an AnyValue: a union with one member set; `{}` and all-null unions are None."""
    if not isinstance(raw, dict):
        return raw
    for key, value in raw.items():
        if value is not None:
            known, out = _member(key, value)
            return out if known else raw
    return None


def _member(key: str, value: Any) -> tuple[bool, Any]:
    if key in _SCALARS:
        return True, value
    if key in ("intValue", "int_value"):
        return True, _number(value, int)
    if key in ("doubleValue", "double_value"):
        return True, _number(value, float)
    if key in ("arrayValue", "array_value"):
        return True, [any_value(v) for v in _list(_dict(value).get("values"))]
    if key in ("kvlistValue", "kvlist_value"):
        return True, attributes(_dict(value).get("values"))
    if key in ("bytesValue", "bytes_value"):
        return True, _bytes_text(value)
    return False, None


def _number(value: Any, kind: type[int] | type[float]) -> Any:
    try:
        return kind(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _bytes_text(value: Any) -> Any:
    """Bytes that are text become text; others stay the base64 that was recorded."""
    try:
        return base64.b64decode(value, validate=True).decode("utf-8")
    except (binascii.Error, ValueError, TypeError):
        return value


def _key(owner: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in owner), None)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _of(raw: dict[str, Any], name: str) -> Any:
    """A field by its camelCase name or its snake_case one."""
    return raw[name] if name in raw else raw.get(_snake(name))


@cache
def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _count(value: Any) -> int:
    number = _number(value, int)
    return number if isinstance(number, int) else 0
