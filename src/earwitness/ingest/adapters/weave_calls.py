"""W&B Weave calls: one call a record, as `client.get_calls()` or the trace server's `/calls/stream_query` gives them.

Written by Weave's export (JSON lines, or parquet of the same columns). `op_name` is a reference with the name of the
traced function; values may be references (`weave:///...`), whose content lies elsewhere. Calls that came through OTel
carry `otel_dump`, a copy that no redaction touched: it is read too. It cannot show which function is an agent, unless
the SDK's integration says so (`attributes.weave.kind`) or the function is named so.

Obtained by: `client.get_calls()`, or `/calls/stream_query`.
Versions tried: none recorded; after the documentation and source of Weave.
Order: tree, then time.
"""

import re
from functools import lru_cache
from typing import Any

from earwitness.ingest.record import Context, Record
from earwitness.ingest.spans.build import as_dict, flat, make_span
from earwitness.ingest.spans.reader import SpanReader
from earwitness.ingest.spans.span import KINDS

_OP = re.compile(r"weave:///[^/]+/[^/]+/op/([^:]+)(?::.*)?")
_MODELS = ("openai.", "anthropic.", "litellm.", "mistralai.", "google.", "groq.", "cohere.", "langchain.llm")


class _WeaveCalls:
    NAME = "weave-calls"
    READER = "spans"
    TITLE = "W&B Weave calls"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and "op_name" in value and "started_at" in value and "trace_id" in value

    def split(self, record: Record) -> list[Record]:
        return [Record(_span(record), record.place)]

    def open(self, context: Context) -> SpanReader:
        return SpanReader(context)


def _span(record: Record) -> Any:
    row = record.value
    name = _name_of(str(row.get("op_name") or ""))
    error = row.get("exception")
    return make_span(
        record.place,
        trace=_id(row.get("trace_id")),
        span=_id(row.get("id")),
        parent=_id(row.get("parent_id")),
        name=row.get("display_name") or name,
        start=row.get("started_at"),
        end=row.get("ended_at"),
        attributes=_attributes(row, name),
        failed=bool(error),
        status=error,
    )


@lru_cache(maxsize=KINDS)
def _name_of(op: str) -> str:
    """The name of a traced function in a reference to it; whatever else stands there is a name."""
    match = _OP.fullmatch(op)
    return match[1] if match else op


def _id(value: Any) -> Any:
    """UUIDs without their dashes are hex; the half of one would name two calls."""
    return value.replace("-", "") if isinstance(value, str) else value


def _attributes(row: dict[str, Any], name: str) -> dict[str, Any]:
    noted = as_dict(row.get("attributes"))
    out = {k: v for k, v in flat("", noted).items() if v is not None}
    inputs = as_dict(row.get("inputs"))
    words = {k: v for k, v in inputs.items() if k != "self"} if "self" in inputs else inputs
    out["weave.inputs"] = words or row.get("inputs")
    out["weave.output"] = row.get("output")
    out["weave.kind"] = _kind(out.get("weave.kind"), name, inputs)
    for key in ("wb_user_id", "thread_id", "summary", "otel_dump"):
        if row.get(key):
            out[f"weave.{key}"] = row[key]
    if isinstance(inputs.get("self"), dict):
        out["weave.self"] = inputs["self"]
    out.setdefault("session.id", row.get("thread_id"))
    return {k: v for k, v in out.items() if v is not None}


def _kind(declared: Any, name: str, inputs: dict[str, Any]) -> str:
    if isinstance(declared, str) and declared:
        return declared
    if name.lower().startswith(_MODELS) or {"messages", "model"} <= inputs.keys():
        return "llm"
    return (
        "tool"
        if name.endswith((".tool", "_tool"))
        else "evaluator"
        if name.endswith(".score")  # the method of every scorer
        else "agent"
        if name.endswith(("agent", "Agent", "Agent.run"))
        else "op"
    )


ADAPTER = _WeaveCalls()
