"""Langfuse observations as spans, however they were exported: camelCase or snake_case, metadata as object or text."""

from functools import cache
from typing import Any

from earwitness.ingest.record import Place, Skip
from earwitness.ingest.spans.build import as_dict, make_span
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import loads

_PREFIX = "langfuse.observation."
_ASIDE = ("attributes", "resourceAttributes", "scope")
# Texts of an observation beside input and output.
_NOTES = (
    "modelParameters",
    "toolDefinitions",
    "toolCalls",
    "toolCallNames",
    "tags",
    "promptName",
    "version",
    "comments",
)
_OF_TRACE = ("input", "output", "tags", "scores", "comments", "release", "version")
_NOTHING: tuple[Any, ...] = (None, "", [], {})


def of(row: dict[str, Any], name: str) -> Any:
    """A field by its camelCase name or its snake_case one."""
    if name in row:
        return row[name]
    return row.get(_snake(name))


@cache
def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


def observation(row: dict[str, Any], place: Place) -> Span | Skip:
    """The span that an observation was."""
    metadata = as_dict(of(row, "metadata"))
    attributes = {str(k): v for k, v in as_dict(metadata.get("attributes")).items()}
    attributes |= {f"{_PREFIX}{key}": value for key in _NOTES if (value := of(row, key)) not in _NOTHING}
    rest = {k: v for k, v in metadata.items() if k not in _ASIDE}
    if rest:
        attributes.setdefault("metadata", rest)
    attributes |= _ids(row) | _content(row)
    model = of(row, "model")
    if isinstance(model, str) and model:
        attributes.setdefault("gen_ai.request.model", model)
    return make_span(
        place,
        trace=of(row, "traceId"),
        span=row.get("id"),
        parent=of(row, "parentObservationId"),
        name=row.get("name"),
        start=of(row, "startTime"),
        end=of(row, "endTime"),
        attributes=attributes,
        failed=row.get("level") == "ERROR",
        status=of(row, "statusMessage"),
        resource=as_dict(metadata.get("resourceAttributes")),
        scope=as_dict(metadata.get("scope")).get("name"),
    )


def _ids(row: dict[str, Any]) -> dict[str, Any]:
    found = {"session.id": of(row, "sessionId"), "user.id": of(row, "userId")}
    return {k: v for k, v in found.items() if isinstance(v, str) and v}


def _content(row: dict[str, Any]) -> dict[str, Any]:
    """Type, input and output; a column that was switched off is no empty value."""
    out: dict[str, Any] = {_PREFIX + "type": str(row.get("type") or "SPAN")}
    for key in ("input", "output"):
        value = row.get(key)
        if value is not None:
            out[_PREFIX + key] = _plain(value)
    return out


def _plain(value: Any) -> Any:
    """A text that was encoded once more becomes the text, so that both forms are one."""
    if isinstance(value, str) and value.startswith('"'):
        inner = loads(f"[{value}]")
        if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], str):
            return inner[0]
    return value


def trace_span(trace: dict[str, Any], place: Place) -> Span | Skip:
    """What is said of a trace as a whole: a span without parent, whose texts copy those of its observations."""
    kept = {k: v for k, v in trace.items() if k in _OF_TRACE}
    metadata = as_dict(trace.get("metadata"))
    kept["metadata"] = {k: v for k, v in metadata.items() if k not in ("resourceAttributes", "scope")}
    attributes = {f"langfuse.trace.{k}": _plain(v) for k, v in kept.items() if v not in _NOTHING} | _ids(trace)
    return make_span(
        place,
        trace=trace.get("id"),
        span=f"trace-{trace.get('id')}",
        name=trace.get("name"),
        start=trace.get("timestamp"),
        attributes=attributes,
        resource=as_dict(metadata.get("resourceAttributes")),
    )
