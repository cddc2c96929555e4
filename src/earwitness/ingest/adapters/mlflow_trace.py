"""MLflow traces: `Trace.to_json()`, downloads of `traces.json`, and the `trace` column of `search_traces` frames.

Written by MLflow 3 (`info` and `data.spans`, ids in base64, every attribute the JSON text of its value) and MLflow 2
(`info.request_id`, spans with a `context`). Previews and trace metadata are cut copies (`...`), and are read as such.
It cannot show artifacts (kept elsewhere), and names agents only by the functions that were traced.

Obtained by: `Trace.to_json()`, `traces.json`, or `search_traces`.
Versions tried: mlflow-skinny 3.17.2; version 2 after its documentation.
Order: tree, then time.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.record import Context, Place, Record, some
from earwitness.ingest.spans.build import as_dict, as_rows, each_row, is_error, make_span
from earwitness.ingest.spans.reader import SpanReader
from earwitness.ingest.spans.span import SpanEvent
from earwitness.ingest.spans.texts import loads
from earwitness.schema.times import to_nanos

# Cut copies of what the root span holds, and the tracker's own books.
_COPIES = ("mlflow.traceInputs", "mlflow.traceOutputs")
_BOOKS = (
    "mlflow.trace.size",
    "mlflow.trace_schema",
    "mlflow.trace.info",
    "mlflow.artifactLocation",
    "mlflow.trace.spans",
)


class _MlflowTrace:
    NAME = "mlflow-trace"
    READER = "spans"
    TITLE = "MLflow traces"
    PIECES = ("/data/spans",)

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if isinstance(value.get("trace"), str) and "trace_id" in value and "request" in value:
            return True
        return "info" in value and isinstance(value.get("data"), dict) and isinstance(value["data"].get("spans"), list)

    def split(self, record: Record) -> Iterator[Record]:
        value, place = record.value, record.place
        if isinstance(value.get("trace"), str):
            value, place = as_dict(value["trace"]), place.at("/trace")
        return some(_parts(value, place), place, "a trace without spans")

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _parts(value: dict[str, Any], place: Place) -> Iterator[Record]:
    info, rows = as_dict(value.get("info")), as_dict(value.get("data")).get("spans")
    for n, row in enumerate(each_row(rows)):
        at = place.at(f"/data/spans/{n}")
        root = not (row.get("parent_span_id") or row.get("parent_id"))
        yield Record(_span(row, _about(info) if root else {}, at), at)


def _about(info: dict[str, Any]) -> dict[str, Any]:
    """What was noted of the trace as a whole, as attributes of its root."""
    notes = as_dict(info.get("trace_metadata") or info.get("request_metadata")) | as_dict(info.get("tags"))
    out = {k: v for k, v in notes.items() if k not in _COPIES and not k.startswith(_BOOKS)}
    if info.get("assessments"):
        out["mlflow.assessments"] = info["assessments"]
    if isinstance(session := out.get("mlflow.trace.session"), str):
        out["session.id"] = session
    return out


def _span(row: dict[str, Any], about: dict[str, Any], place: Place) -> Any:
    context, status = as_dict(row.get("context")), row.get("status")
    code = as_dict(status).get("code") if isinstance(status, dict) else row.get("status_code", status)
    attributes = about | {str(k): _value(v) for k, v in as_dict(row.get("attributes")).items()}
    attributes.setdefault("mlflow.spanType", str(row.get("span_type") or "UNKNOWN"))
    return make_span(
        place,
        trace=row.get("trace_id") or context.get("trace_id") or attributes.get("mlflow.traceRequestId"),
        span=row.get("span_id") or context.get("span_id"),
        parent=row.get("parent_span_id") or row.get("parent_id"),
        name=row.get("name"),
        start=row.get("start_time_unix_nano") or row.get("start_time"),
        end=row.get("end_time_unix_nano") or row.get("end_time"),
        attributes=attributes,
        events=tuple(_event(e) for e in as_rows(row.get("events"))),
        failed=is_error(code),
        status=as_dict(status).get("message") if isinstance(status, dict) else row.get("status_message"),
    )


def _value(value: Any) -> Any:
    """An attribute out of its JSON text."""
    if not isinstance(value, str):
        return value
    inner = loads(f"[{value}]")
    return inner[0] if isinstance(inner, list) and len(inner) == 1 else value


def _event(row: dict[str, Any]) -> SpanEvent:
    time = row.get("time_unix_nano") or row.get("timestamp")
    return SpanEvent(
        str(row.get("name") or ""), to_nanos(time), {k: _value(v) for k, v in as_dict(row.get("attributes")).items()}
    )


ADAPTER = _MlflowTrace()
