"""Names of formats that are recognised but not read yet, so that a refusal says what was found.

Keys only, never content. Order matters: the first that fits names the record.
"""

from collections.abc import Callable
from typing import Any

Test = Callable[[dict[str, Any]], bool]


def _has(*keys: str) -> Test:
    return lambda v: all(k in v for k in keys)


def _inside(key: str, *keys: str) -> Test:
    return lambda v: isinstance(v.get(key), dict) and all(k in v[key] for k in keys)


def _type_in(*types: str) -> Test:
    return lambda v: (
        isinstance(v.get("type"), str) and any(v["type"] == t or v["type"].startswith(t + ".") for t in types)
    )


def _rows(key: str, *keys: str) -> Test:
    return lambda v: (
        isinstance(v.get(key), list)
        and bool(v[key])
        and isinstance(v[key][0], dict)
        and all(k in v[key][0] for k in keys)
    )


FOREIGN: tuple[tuple[str, Test], ...] = (
    ("OTLP logs", lambda v: "resourceLogs" in v or "resource_logs" in v),
    ("OTLP metrics", lambda v: "resourceMetrics" in v or "resource_metrics" in v),
    ("Langfuse trace download", _has("trace", "observations")),
    ("Langfuse rows", lambda v: "parentObservationId" in v or "parent_observation_id" in v),
    ("MLflow trace", lambda v: isinstance(v.get("data"), dict) and "spans" in v["data"] and "info" in v),
    ("Jaeger trace", lambda v: _has("traceID", "spans", "processes")(v) or _rows("data", "traceID", "spans")(v)),
    ("Phoenix otlpv1 spans", _rows("data", "trace_id", "attributes")),
    ("Phoenix traces without spans", _rows("data", "trace_id", "project_id")),
    ("Phoenix REST spans", _rows("data", "context", "span_kind")),
    ("Phoenix dataframe rows", _has("context.span_id", "span_kind")),
    ("Datadog LLM observability", lambda v: _rows("spans", "start_ns", "meta")(v) or _has("interactions")(v)),
    ("LangSmith run", lambda v: "dotted_order" in v or "run_type" in v or _has("post", "patch")(v)),
    ("Weave call", _has("op_name", "started_at", "trace_id")),
    ("OpenTelemetry console spans", lambda v: _inside("context", "trace_id", "span_id")(v) and "parent_id" in v),
    ("any-agent trace", _rows("spans", "context", "attributes")),
    ("Logfire records", lambda v: "start_timestamp" in v and "span_name" in v),
    (
        "Claude Code session",
        lambda v: "isSidechain" in v or _has("parentUuid", "sessionId")(v) or _has("leafUuid", "summary")(v),
    ),
    ("Claude Code workflow journal", _has("type", "key", "agentId")),
    ("Codex rollout", lambda v: _has("timestamp", "type", "payload")(v)),
    (
        "A2A or MCP log",
        lambda v: (
            v.get("jsonrpc") == "2.0" or any(_inside(k, "jsonrpc")(v) for k in ("msg", "body", "payload", "message"))
        ),
    ),
    ("Pydantic-AI history", lambda v: v.get("kind") in ("request", "response") and "parts" in v),
    ("Anthropic managed session", _type_in("session", "user", "agent", "span")),
    ("chat messages", lambda v: _rows("messages", "role")(v) or _has("role", "content")(v)),
    ("AgentLeak example trace", _has("run_id", "events", "agent_name")),
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
