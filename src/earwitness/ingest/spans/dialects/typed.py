"""Spans with a type, an input and an output: MLflow, Langfuse, OpenLLMetry, LangSmith over OTel, Weave, Datadog.

What they hold may be messages, a text, or a structure of the framework. Other dialects, where one also knows the
span, speak first.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from earwitness.ingest.spans.facts import Facts, Message, Role
from earwitness.ingest.spans.identity import agent_of, clean_name
from earwitness.ingest.spans.messages import read_messages, text_message
from earwitness.ingest.spans.span import KINDS, Span
from earwitness.ingest.spans.texts import as_text, loads

NAME = "typed-spans"
PRIORITY = 80


class _Maker(NamedTuple):
    """Where a maker keeps the type, the input, the output and the name of the tool."""

    kind: str
    given: tuple[str, ...]
    back: tuple[str, ...]
    tool: tuple[str, ...] = ()


_MAKERS = (
    _Maker("langfuse.observation.type", ("langfuse.observation.input",), ("langfuse.observation.output",)),
    _Maker("mlflow.spanType", ("mlflow.spanInputs",), ("mlflow.spanOutputs",), ("mlflow.spanFunctionName",)),
    _Maker(
        "traceloop.span.kind",
        ("traceloop.entity.input",),
        ("traceloop.entity.output", "crewai.crew.result"),
        ("traceloop.entity.name",),
    ),
    _Maker("langsmith.span.kind", ("gen_ai.prompt",), ("gen_ai.completion",), ("langsmith.trace.name",)),
    _Maker("weave.kind", ("weave.inputs",), ("weave.output",)),
    _Maker("meta.span.kind", ("meta.input",), ("meta.output",)),
)
KEYS = frozenset(maker.kind for maker in _MAKERS)
_ROLES: dict[str, Role] = {
    "generation": "llm",
    "llm": "llm",
    "chat_model": "llm",
    "chat": "llm",
    "completion": "llm",
    "agent": "agent",
    "tool": "tool",
    "retriever": "retriever",
    "retrieval": "retriever",
    "embedding": "retriever",
    "reranker": "retriever",
    "memory": "memory",
    "guardrail": "guardrail",
    "evaluator": "guardrail",
    "chain": "workflow",
    "workflow": "workflow",
    "task": "workflow",
    "span": "workflow",
    "event": "workflow",
    "prompt": "workflow",
    "parser": "workflow",
    "chat_prompt": "workflow",
    "unknown": "workflow",
    "step": "workflow",
    "operation": "workflow",
}
_WRITES = re.compile(r"save|store|write|add|put|update|upsert|insert|remember|memori[sz]e|note", re.IGNORECASE)
_SPEAKERS = ("llm", "agent", "workflow", "other")
_PROMPTS = ("prompt", "input", "question", "query", "text", "user_input", "value")


def matches(span: Span) -> bool:
    """One of the makers names a type."""
    return _maker(span) is not None


def facts(span: Span) -> Facts:
    """What a span of such a maker says."""
    maker = _maker(span)
    assert maker is not None
    role = _ROLES.get(str(span.get(maker.kind)).lower(), "other")
    agent, rung = agent_of(span, is_agent=role == "agent")
    if role == "workflow" and rung == "node" and agent == span.name:
        role = "agent"
    if role == "agent" and agent is None and (own := _own_name(span)):
        agent, rung = own, "span_name"
    told = _spoken(span, maker, role) if role in _SPEAKERS else _called(span, maker)
    return Facts(
        dialect=NAME,
        role=role,
        agent=agent,
        rung=rung,
        conversation=span.text("session.id", "langfuse.session.id", "traceloop.association.properties.session_id"),
        model=span.text("gen_ai.response.model", "gen_ai.request.model", "mlflow.llm.model"),
        **told,
    )


def _maker(span: Span) -> _Maker | None:
    for maker in _makers(tuple(span.attributes)):
        if isinstance(span.attributes[maker.kind], str):
            return maker
    return None


@lru_cache(maxsize=KINDS)
def _makers(keys: tuple[str, ...]) -> tuple[_Maker, ...]:
    """The makers of which spans with these attributes may be."""
    return tuple(m for m in _MAKERS if m.kind in keys)


def _own_name(span: Span) -> str | None:
    """The name of an agent's own span, where a maker gives it the agent's name."""
    named = clean_name(span.get("mlflow.spanFunctionName", "traceloop.entity.name", "meta.name")) or clean_name(
        span.name
    )
    return None if named is None or " " in named.strip() or named.startswith(("agent.", "run.")) else named


def _spoken(span: Span, maker: _Maker, role: Role) -> dict[str, Any]:
    return {
        "inputs": _words(span.get(*maker.given), "user", role),
        "outputs": _words(span.get(*maker.back), "assistant", role),
    }


def _words(value: Any, role: str, of: Role) -> tuple[Message, ...]:
    if value is None or value in ("", [], {}):
        return ()
    found = read_messages(value, role)
    if any(p.text for m in found for p in m.parts):
        return found
    inner = loads(value) if isinstance(value, str) else value
    plain = _only_text(inner)
    if plain is not None:
        return (text_message(plain, role),)
    text = _unquoted(as_text(value))
    structured = isinstance(inner, dict | list) and of != "llm"
    return (text_message(text, role, "data" if structured else "text"),)


def _only_text(value: Any) -> str | None:
    """The text of an object that holds one text under one of the usual names."""
    if isinstance(value, dict) and len(value) == 1:
        ((key, text),) = value.items()
        return text if key in _PROMPTS and isinstance(text, str) else None
    if isinstance(value, dict) and value.get("role") and isinstance(value.get("content"), str):
        return str(value["content"])
    return None


def _unquoted(text: str) -> str:
    """A text that was recorded as a JSON string."""
    inner = loads(f"[{text}]") if text.startswith('"') and text.endswith('"') else None
    return inner[0] if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], str) else text


def _called(span: Span, maker: _Maker) -> dict[str, Any]:
    given, back = span.get(*maker.given), span.get(*maker.back)
    return {
        "tool": span.text("gen_ai.tool.name", "tool.name", "ai.toolCall.name", *maker.tool) or span.name or None,
        "call_id": span.text("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id"),
        "arguments": None if given is None else _unquoted(as_text(given)),
        "result": None if back is None else _unquoted(as_text(back)),
        "writes": _WRITES.search(span.name) is not None,
    }
