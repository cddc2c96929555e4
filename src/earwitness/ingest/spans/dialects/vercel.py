"""Vercel AI SDK, legacy telemetry: `ai.operationId`, `ai.prompt.messages`, `ai.response.*`, `ai.toolCall.*`."""

from typing import Any

from earwitness.ingest.spans.facts import Facts, Message, Part, Role
from earwitness.ingest.spans.identity import agent_of, clean_name
from earwitness.ingest.spans.messages import read_messages, text_message
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import as_text, loads

NAME = "vercel-ai"
PRIORITY = 55
KEYS = frozenset(("ai.operationId",))

_WRAPPERS = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")


def matches(span: Span) -> bool:
    """The operation is named in the SDK's own attribute."""
    return isinstance(span.get("ai.operationId"), str)


def facts(span: Span) -> Facts:
    """What a span of the SDK says."""
    role = _role(str(span.get("ai.operationId")))
    agent, rung = agent_of(span, is_agent=role == "agent")
    named = clean_name(span.get("ai.telemetry.functionId"))
    return Facts(
        dialect=NAME,
        role=role,
        agent=agent or named,
        rung=rung or ("attribute" if named else None),
        tool=span.text("ai.toolCall.name"),
        call_id=span.text("ai.toolCall.id"),
        arguments=_text(span, "ai.toolCall.args", "ai.toolCall.input", "ai.value", "ai.values"),
        result=_text(span, "ai.toolCall.result", "ai.toolCall.output", "ai.embedding", "ai.embeddings"),
        inputs=_inputs(span),
        outputs=_outputs(span),
        conversation=span.text("ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.threadId"),
        model=span.text("ai.response.model", "ai.model.id", "gen_ai.request.model"),
    )


def _role(operation: str) -> Role:
    if operation.startswith("ai.toolCall"):
        return "tool"
    if "embed" in operation.lower():
        return "retriever"
    # The outer span of a call is a loop of model and tools under one function id: an agent's run.
    return "agent" if operation in _WRAPPERS else "llm"


def _text(span: Span, *keys: str) -> str | None:
    value = span.get(*keys)
    return None if value is None else as_text(value)


def _inputs(span: Span) -> tuple[Message, ...]:
    raw = span.get("ai.prompt.messages", "ai.prompt")
    if raw is None:
        return ()
    value = loads(raw) if isinstance(raw, str) else raw
    if value is None:  # cut, or a plain text
        return (text_message(as_text(raw), "user", "data" if as_text(raw).startswith("[{") else "text"),)
    found = [_plain("system", value, "system")] if isinstance(value, dict) else []
    messages = read_messages(value, "user")
    asked = [] if messages or not isinstance(value, dict) else [_plain("prompt", value, "user")]
    return (*(m for m in (*found, *asked) if m), *messages)


def _plain(key: str, value: dict[str, Any], role: str) -> Message | None:
    text = value.get(key)
    return text_message(text, role) if isinstance(text, str) and text else None


def _outputs(span: Span) -> tuple[Message, ...]:
    parts = [Part("reasoning", t) for t in (span.text("ai.response.reasoning"),) if t]
    said = span.get("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
    if said is not None and as_text(said):
        parts.append(Part("text", as_text(said)))
    raw = span.get("ai.response.toolCalls", "ai.result.toolCalls")
    calls = loads(raw) if isinstance(raw, str) else raw
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            given = call.get("args", call.get("input", ""))
            parts.append(Part("tool_call", as_text(given), clean_name(call.get("toolCallId")), call.get("toolName")))
    return (Message("assistant", tuple(parts)),) if parts else ()
