"""Phoenix REST answers: `/v1/projects/<p>/spans`, its `otlpv1` form, and `/traces` with or without spans.

Written by the API of an Arize Phoenix server; a user saves the answer, or exports it with a client. Attributes are flat
in the first, typed as in OTLP (snake_case, all members present) in the second. The list of traces holds no attributes
at all: it cannot show any content, and says so.

Obtained by: the answer of `/v1/projects/<project>/spans` or `/traces`.
Versions tried: arize-phoenix 20.26.1.
Order: tree, then time.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.record import Context, Place, Record, Skip, is_array, some
from earwitness.ingest.spans import otlp
from earwitness.ingest.spans.build import as_dict, as_rows, each_row, is_error, make_span, read_events
from earwitness.ingest.spans.reader import SpanReader
from earwitness.ingest.spans.span import SpanEvent
from earwitness.schema.times import to_nanos


class _PhoenixRest:
    NAME = "phoenix-rest"
    READER = "spans"
    TITLE = "Arize Phoenix API answers"
    PIECES = ("/data", "/data/*/spans")

    def sniff(self, value: Any) -> bool:
        rows = value.get("data") if isinstance(value, dict) else None
        if isinstance(rows, list) and rows:
            return _kind(rows[0]) is not None
        return _kind(value) == "span" and isinstance(value.get("id"), str)

    def split(self, record: Record) -> Iterator[Record]:
        rows = record.value.get("data")
        if not is_array(rows):
            return iter((Record(_rest(record.value, record.place), record.place),))
        return (part for n, row in enumerate(rows) for part in _parts(row, record.place.at(f"/data/{n}")))

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _kind(row: Any) -> str | None:
    if not isinstance(row, dict):
        return None
    if "span_kind" in row and isinstance(row.get("context"), dict) and "span_id" in row["context"]:
        return "span"
    if "start_time_unix_nano" in row and isinstance(row.get("attributes"), list):
        return "otlp"
    return "trace" if "project_id" in row and "trace_id" in row and "start_time" in row else None


def _parts(row: Any, place: Place) -> Iterator[Record]:
    kind = _kind(row)
    if kind == "trace":
        yield from _bare(row, place)
    elif kind == "otlp":
        yield Record(_otlp(row, place), place)
    elif kind == "span":
        yield Record(_rest(row, place), place)
    else:
        yield Record(Skip("unknown", "a row that is neither span nor trace", place), place)


def _rest(row: dict[str, Any], place: Place) -> Any:
    attributes = dict(as_dict(row.get("attributes")))
    attributes.setdefault("openinference.span.kind", row.get("span_kind"))
    context = as_dict(row.get("context"))
    return make_span(
        place, trace=context.get("trace_id"), span=context.get("span_id"), attributes=attributes, **_common(row)
    )


def _common(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "parent": row.get("parent_id"),
        "name": row.get("name"),
        "start": row.get("start_time"),
        "end": row.get("end_time"),
        "events": read_events(row.get("events")),
        "failed": is_error(row.get("status_code")),
        "status": row.get("status_message"),
    }


def _bare(row: dict[str, Any], place: Place) -> Iterator[Record]:
    """The spans of a trace without attributes: their kind is all that is known."""
    spans = enumerate(each_row(row.get("spans")))
    parts = (_bare_span(row, span, place.at(f"/spans/{n}")) for n, span in spans)
    yield from some(parts, place, "a trace without spans")


def _bare_span(row: dict[str, Any], span: dict[str, Any], place: Place) -> Record:
    kind = {"openinference.span.kind": span.get("span_kind")}
    made = make_span(place, trace=row.get("trace_id"), span=span.get("span_id"), attributes=kind, **_common(span))
    return Record(made, place)


def _otlp(row: dict[str, Any], place: Place) -> Any:
    status = as_dict(row.get("status"))
    return make_span(
        place,
        trace=row.get("trace_id"),
        span=row.get("span_id"),
        parent=row.get("parent_span_id"),
        name=row.get("name"),
        start=row.get("start_time_unix_nano"),
        end=row.get("end_time_unix_nano"),
        attributes=otlp.attributes(row.get("attributes")),
        events=tuple(_event(e) for e in as_rows(row.get("events"))),
        failed=is_error(status.get("code")),
        status=status.get("message"),
        dropped=sum(
            n for k in ("attributes", "events", "links") if isinstance(n := row.get(f"dropped_{k}_count"), int)
        ),
    )


def _event(row: dict[str, Any]) -> SpanEvent:
    return SpanEvent(
        str(row.get("name") or ""), to_nanos(row.get("time_unix_nano")), otlp.attributes(row.get("attributes"))
    )


ADAPTER = _PhoenixRest()
