"""Phoenix span dataframes: rows with `context.span_id`, `span_kind` and `attributes.*` columns.

Written by Arize Phoenix: `client.spans.get_spans_dataframe()` saved with pandas as parquet, JSON lines or JSON records.
Attributes are regrouped in columns, messages nested in lists, and columns of other spans are there as nulls; some
people drop or rename the id columns. Times are milliseconds in JSON. It cannot show instrumentation names or resources.

Obtained by: `client.spans.get_spans_dataframe()`, saved.
Versions tried: arize-phoenix 20.26.1, client 3.5.0.
Order: tree, then time.
"""

from functools import lru_cache
from typing import Any

from earwitness.ingest.record import Context, Record
from earwitness.ingest.spans.build import flat, is_error, make_span, read_events
from earwitness.ingest.spans.reader import SpanReader
from earwitness.ingest.spans.span import KINDS
from earwitness.ingest.spans.texts import loads

_COLUMN = "attributes."
_NULLS = ("None", "nan", "NaN", "NaT", "<NA>")  # what a null becomes when a column is cast to text
_LONGEST = max(map(len, _NULLS))
_TRACES, _SPANS = ("context.trace_id", "trace_id"), ("context.span_id", "span_id", "index")


class _PhoenixRows:
    NAME = "phoenix-rows"
    READER = "spans"
    TITLE = "Arize Phoenix span dataframes"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or "span_kind" not in value or "parent_id" not in value:
            return False
        return "context.trace_id" in value or any(isinstance(k, str) and k.startswith(_COLUMN) for k in value)

    def split(self, record: Record) -> list[Record]:
        return [Record(_span(record), record.place)]

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _span(record: Record) -> Any:
    row = record.value
    attributes = _attributes(row)
    row = {column: row[column] for column in _own(tuple(row)) if not _is_cast(row[column])}
    if isinstance(row.get("span_kind"), str):
        attributes.setdefault("openinference.span.kind", row["span_kind"])
    return make_span(
        record.place,
        trace=_first(row, _TRACES),
        span=_first(row, _SPANS),
        parent=row.get("parent_id"),
        name=row.get("name"),
        start=row.get("start_time"),
        end=row.get("end_time"),
        attributes=attributes,
        events=read_events(row.get("events")),
        failed=is_error(row.get("status_code")),
        status=row.get("status_message"),
    )


def _is_cast(value: Any) -> bool:
    """Whether a text is a null that was cast."""
    return isinstance(value, str) and len(value) <= _LONGEST and value in _NULLS


@lru_cache(maxsize=KINDS)
def _own(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of a table that hold no attributes."""
    return tuple(c for c in columns if not c.startswith(_COLUMN))


@lru_cache(maxsize=KINDS)
def _keys(columns: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The columns of a table that hold attributes, each with the name of its attribute."""
    return tuple((c, c.removeprefix(_COLUMN)) for c in columns if c.startswith(_COLUMN))


def _first(row: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name)), None)


def _attributes(row: dict[str, Any]) -> dict[str, Any]:
    """The columns as flat attributes again; metadata stays one object."""
    out: dict[str, Any] = {}
    for column, key in _keys(tuple(row)):
        value = row[column]
        if value is None or value != value or _is_cast(value):
            continue
        if isinstance(value, str) and "." not in key:  # a group of attributes that had to become text
            value = loads(value) or value
        if isinstance(value, dict) and key not in ("metadata", "tool.parameters"):
            out |= {k: v for k, v in flat(key, value).items() if v is not None}
        else:
            out[key] = value
    return out


ADAPTER = _PhoenixRows()
