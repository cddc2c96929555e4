"""Names of formats that are recognised but not read yet, so that a refusal says what was found.

Keys only, never content. Order matters: the first that fits names the record.
"""

from collections.abc import Callable
from typing import Any

Test = Callable[[dict[str, Any]], bool]


def _has(*keys: str) -> Test:
    return lambda v: all(k in v for k in keys)


def _rows(key: str, *keys: str) -> Test:
    return lambda v: (
        isinstance(v.get(key), list)
        and bool(v[key])
        and isinstance(v[key][0], dict)
        and all(k in v[key][0] for k in keys)
    )


FOREIGN: tuple[tuple[str, Test], ...] = (
    ("OTLP metrics", lambda v: "resourceMetrics" in v or "resource_metrics" in v),
    ("Phoenix traces without spans", _rows("data", "trace_id", "project_id")),
    ("LangGraph checkpoints, of an unknown version", _has("thread_id", "checkpoint_ns", "checkpoint_id")),
    ("LangSmith, of an unknown version", lambda v: "dotted_order" in v or _has("post", "patch")(v)),
    ("JSON-RPC of another protocol than MCP or A2A", lambda v: v.get("jsonrpc") == "2.0"),
    ("text between records", _has("_line")),
)


def name_foreign(value: Any) -> str:
    """Why a record was not mapped: the format by name where it is known, its shape where it is not."""
    if not isinstance(value, dict):
        return f"unknown record: a JSON {_shape(value)}"
    for name, test in FOREIGN:
        if test(value):
            return f"{name}: recognised, not supported"
    return f"unknown record: an object of {len(value)} keys that no adapter knows"


def _shape(value: Any) -> str:
    names = {list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")
