"""Datadog LLM Observability: answers of the export API, and what tracers send to the intake.

Written by the export API (`/api/v2/llm-obs/v1/spans/events`, `data[].attributes`) and by the SDKs (`spans[].meta`; a
user has it from a proxy or a test cassette). Spans above 5 MB lose their input and output as a whole, and say so: such
spans count as dropped. Times are nanoseconds, or milliseconds in the export of the documentation; both are understood.
Verdicts of evaluators (`evaluation_metric` payloads) are logs beside the span that was judged; a judge's own model
calls are traces like any other, for nothing tells them apart.

Obtained by: the export API, or a proxy between tracer and intake.
Versions tried: a cassette of DataDog/dd-trace-py at commit 3bb9ecd; the export after its documentation.
Order: tree, then time.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.record import Context, Place, Record, Skip, is_array, some
from earwitness.ingest.spans.build import as_dict, as_rows, is_error, make_span
from earwitness.ingest.spans.reader import SpanReader
from earwitness.ingest.spans.texts import as_text, fingerprint_of
from earwitness.schema.times import to_nanos

_NO_PARENT = ("", "undefined", "0", "null")
_DROPPED = "This value has been dropped because this span's size exceeds"
_IMAGES = ("[image omitted: too large]", "([IMAGE DETECTED])")
_HOLDERS = frozenset({"data", "spans", "attributes"})
_CONTENT = ("messages", "value", "documents")
# Of a verdict; numbers alone say nothing of what was judged.
_WORDS = ("categorical_value", "text_value", "json_value", "reasoning")


class _DatadogLlmobs:
    NAME = "datadog-llmobs"
    READER = "spans"
    TITLE = "Datadog LLM Observability spans"
    PIECES = ("/data", "/spans")

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or _HOLDERS.isdisjoint(value):  # as most records are
            return False
        return next(_rows(value, Place(0, 0, 0)), None) is not None

    def split(self, record: Record) -> Iterator[Record]:
        rows = _rows(record.value, record.place)
        parts = (Record((_verdict if _is_metric(row) else _span)(row, place), place) for row, place in rows)
        return some(parts, record.place, "no spans")

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _rows(value: Any, place: Place) -> Iterator[tuple[dict[str, Any], Place]]:
    """The spans of either form, each as one flat object."""
    if not isinstance(value, dict):
        return
    if _is_export(value):
        yield value["attributes"], place.at("/attributes")
    metrics = as_dict(as_dict(value.get("data")).get("attributes")).get("metrics")
    for n, metric in enumerate(as_rows(metrics)):
        if _is_metric(metric):
            yield metric, place.at(f"/data/attributes/metrics/{n}")
    for key, known in (("data", _is_export), ("spans", _is_intake)):
        rows = value.get(key)
        for n, row in enumerate(rows if is_array(rows) else ()):
            if known(row):
                at = place.at(f"/{key}/{n}")
                yield (row["attributes"], at.at("/attributes")) if key == "data" else (_flattened(row, value), at)


def _is_export(row: Any) -> bool:
    inner = row.get("attributes") if isinstance(row, dict) else None
    return isinstance(inner, dict) and "span_kind" in inner and "span_id" in inner and "trace_id" in inner


def _is_intake(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("meta"), dict) and "start_ns" in row and "span_id" in row


def _is_metric(row: dict[str, Any]) -> bool:
    return "metric_type" in row and "label" in row and "span_kind" not in row


def _verdict(metric: dict[str, Any], place: Place) -> Any:
    """What an evaluator says of a span, as a span below that."""
    of = as_dict(as_dict(metric.get("join_on")).get("span")) or metric
    words = [as_text(metric[key]) for key in _WORDS if metric.get(key) not in (None, "", {}, [])]
    if not words:
        return Skip("ignored", "a verdict without words", place)
    if of.get("span_id") is None:
        return Skip("ignored", "a verdict that names no span", place)
    name, parent = metric["label"], _id(of["span_id"])
    return make_span(
        place,
        trace=_id(of.get("trace_id")),
        span=fingerprint_of([of["span_id"], name, metric.get("timestamp_ms"), words]).hex()[:16],
        parent=parent,
        name=name,
        start=to_nanos(metric.get("timestamp_ms")),
        attributes={"meta.span.kind": "evaluator", "meta.name": name, "meta.output": "\n".join(words)},
    )


def _flattened(row: dict[str, Any], envelope: dict[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = row["meta"]
    kind = meta.get("kind") or as_dict(meta.get("span")).get("kind") or row.get("kind") or meta.get("span.kind")
    shared = {"ml_app": envelope.get("ml_app")}
    return shared | meta | {k: v for k, v in row.items() if k != "meta"} | {"span_kind": kind}


def _span(row: dict[str, Any], place: Place) -> Any:
    start, parent = to_nanos(row.get("start_ns")), row.get("parent_id")
    duration = row.get("duration")
    known = start is not None and isinstance(duration, int | float) and duration >= 0
    given, given_lost = _content(row.get("input"), "user")
    back, back_lost = _content(row.get("output"), "assistant")
    return make_span(
        place,
        trace=_id(row.get("trace_id")),
        span=_id(row.get("span_id")),
        parent=None if parent is None or str(parent) in _NO_PARENT else _id(parent),
        name=row.get("name"),
        start=start,
        end=start + int(duration) if known and start is not None and duration is not None else start,
        attributes=_attributes(row)
        | {k: v for k, v in (("meta.input", given), ("meta.output", back)) if v is not None},
        failed=is_error(str(row.get("status") or "")),
        status=row.get("error.message") or as_dict(row.get("error")).get("message"),
        links=_links(row),
        dropped=max(given_lost + back_lost, _lost(row)),
    )


def _links(row: dict[str, Any]) -> list[dict[str, Any]]:
    rows = as_rows(row.get("span_links") or as_dict(row.get("_dd")).get("span_links"))
    return [{"trace_id": _id(r.get("trace_id")), "span_id": _id(r.get("span_id"))} for r in rows]


def _lost(row: dict[str, Any]) -> int:
    return 2 if "dropped_io" in str(row.get("collection_errors")) else 0


def _id(value: Any) -> Any:
    """Ids are hex, or decimal as text: the longer one can only be decimal."""
    if isinstance(value, str) and value.isdigit() and len(value) not in (16, 32):
        return int(value) if value.strip("0") else value
    return value


def _content(side: Any, role: str) -> tuple[Any, int]:
    """What a span was given or gave; a value that was dropped is no content."""
    if not isinstance(side, dict):
        return side, 0
    found = next((side[k] for k in _CONTENT if side.get(k) not in (None, "", [])), None)
    if isinstance(found, str) and _DROPPED in found:
        return None, 1
    text = as_text(found) if found else ""
    images = sum(map(text.count, _IMAGES))
    messages = isinstance(found, list) and found is side.get("messages")
    return ([_message(m, role) for m in found or ()] if messages else found), images


def _message(row: Any, role: str) -> Any:
    """A message as chat APIs have it: of calls and results the id is `tool_id` here."""
    if not isinstance(row, dict):
        return row
    out = {**row, "role": row.get("role") or role, "content": row.get("content") or None}
    calls = [{**c, "id": c.get("tool_id")} for c in as_rows(row.get("tool_calls"))]
    results = [
        {"type": "tool_result", "tool_call_id": r.get("tool_id"), "name": r.get("name"), "result": r.get("result")}
        for r in as_rows(row.get("tool_results"))
    ]
    return out | ({"tool_calls": calls} if calls else {}) | ({"content": results} if results else {})


def _attributes(row: dict[str, Any]) -> dict[str, Any]:
    out = {"meta.span.kind": str(row.get("span_kind") or ""), "meta.name": row.get("name")}
    for key in ("metadata", "tags", "tool_definitions", "ml_app", "expected_output", "_dd", "agent_attribution"):
        if row.get(key):
            out[f"meta.{key}" if key != "metadata" else key] = row[key]
    error = dict(as_dict(row.get("error")))
    error |= {k: row[k] for k in ("error.message", "error.type", "error.stack") if row.get(k)}
    if error:
        out["meta.error"] = error
    session, model = row.get("session_id"), row.get("model_name")
    if isinstance(session, str) and session:
        out["session.id"] = session
    if isinstance(model, str) and model:
        out["gen_ai.request.model"] = model
    return out


ADAPTER = _DatadogLlmobs()
