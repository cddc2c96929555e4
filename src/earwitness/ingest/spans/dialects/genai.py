"""OpenTelemetry GenAI semantic conventions, 1.37 and later: messages as JSON in attributes."""

import re
from typing import Any

from earwitness.ingest.spans.converse import blocks_of, text_of
from earwitness.ingest.spans.facts import Facts, Message, Part, Role
from earwitness.ingest.spans.identity import agent_of, clean_name, hands_off
from earwitness.ingest.spans.messages import read_messages, text_message
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import as_text, loads

NAME = "otel-genai"
PRIORITY = 60

_OPERATION = "gen_ai.operation.name"
_DETAILS = "gen_ai.client.inference.operation.details"
_ROLES: dict[str, Role] = {
    "chat": "llm",
    "generate_content": "llm",
    "call_llm": "llm",
    "completion": "llm",
    "text_completion": "llm",
    "embeddings": "retriever",
    "retrieval": "retriever",
    "rerank": "retriever",
    "invoke_agent": "agent",
    "execute_tool": "tool",
    "invoke_workflow": "workflow",
    "conversation": "workflow",
    "handoff": "handoff",
    "agent_handoff": "handoff",
    "execute_task": "workflow",
    "execute_event_loop_cycle": "workflow",
}
_WRITES = ("create_memory", "upsert_memory", "update_memory", "delete_memory")
_FROM = ("gen_ai.handoff.from_agent", "gen_ai.caller.name", "gen_ai.agent.handoff.source.name")
_TO = ("gen_ai.handoff.to_agent", "gen_ai.transfer.target.name", "gen_ai.agent.handoff.target.name")
_EMPTY_PART = re.compile(r'\{"type":"[\w-]+"\}')
# any-agent has one attribute for whatever a span gave.
_OUTPUT = "gen_ai.output"
_CONTENT = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.name")
KEYS = frozenset((_OPERATION, *_CONTENT))


def matches(span: Span) -> bool:
    """An operation is named, or content stands where 1.37 puts it."""
    return isinstance(span.get(_OPERATION), str) or any(key in span.attributes for key in _CONTENT)


def facts(span: Span) -> Facts:
    """What a span of these conventions says."""
    role = _role(span)
    agent, rung = agent_of(span, is_agent=role == "agent")
    inputs, outputs, transcript = _conversation(span)
    return Facts(
        dialect=NAME,
        role=role,
        agent=agent,
        rung=rung,
        tool=_tool(span, role),
        call_id=span.text("gen_ai.tool.call.id"),
        arguments=_arguments(span),
        result=_result(span),
        writes=span.get(_OPERATION) in _WRITES,
        inputs=inputs,
        outputs=outputs,
        transcript=transcript,
        instructions=_instructions(span),
        references=len([key for key in span.attributes if key.endswith("_ref") and key.startswith("gen_ai.")]),
        conversation=span.text("gen_ai.conversation.id"),
        model=span.text("gen_ai.response.model", "gen_ai.request.model"),
        handoff_from=_party(span, _FROM),
        handoff_to=_party(span, _TO),
    )


_ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "gen_ai.tool.args",
    "gen_ai.retrieval.query.text",
    "gen_ai.memory.query.text",
)
_RESULTS = ("gen_ai.tool.call.result", "tool_response", _OUTPUT, "gen_ai.retrieval.documents", "gen_ai.memory.records")


def _role(span: Span) -> Role:
    operation = str(span.get(_OPERATION) or "")
    if "memory" in operation:
        return "memory"
    if operation not in _ROLES and span.get("gen_ai.tool.name"):
        return "tool"
    if operation not in _ROLES and span.get("gen_ai.output.messages"):
        return "llm"
    role = _ROLES.get(operation, "other")
    # A handoff told as the run of a tool keeps its arguments: the tool's name says the rest.
    return "handoff" if role == "tool" and _party(span, _TO) and hands_off(span.text("gen_ai.tool.name")) else role


def _tool(span: Span, role: Role) -> str | None:
    if role == "memory":
        return span.text("gen_ai.memory.store.name", "gen_ai.memory.store.id")
    named = span.text("gen_ai.tool.name", "gen_ai.data_source.id")
    return named or (span.text("gen_ai.request.model") if role == "retriever" else None)


def _arguments(span: Span) -> str | None:
    """The arguments, out of the envelope that an instrumentation of LangChain puts around them."""
    text = _first(span, _ARGUMENTS)
    if text and '"input_str"' in text:
        wrapped = loads(text)
        if isinstance(wrapped, dict) and "input_str" in wrapped:
            inner = wrapped.get("inputs")
            return as_text(wrapped["input_str"] if inner in (None, {}) else inner)
    return text


def _result(span: Span) -> str | None:
    """What came back; of Strands the words of its blocks."""
    text = _first(span, _RESULTS)
    blocks = blocks_of(text) if span.get("gen_ai.provider.name") == "strands-agents" else None
    return text_of(blocks) if blocks else text


def _first(span: Span, keys: tuple[str, ...]) -> str | None:
    value = span.get(*keys)
    return None if value is None else as_text(value)


def _party(span: Span, keys: tuple[str, ...]) -> str | None:
    for key in keys:
        if key in span.attributes and (name := clean_name(span.attributes[key])):
            return name
    return None


def _conversation(span: Span) -> tuple[tuple[Message, ...], tuple[Message, ...], tuple[Message, ...]]:
    inputs = _messages(_value(span, "gen_ai.input.messages"), "user")
    outputs = _messages(_value(span, "gen_ai.output.messages"), "assistant")
    if not outputs and (raw := span.get(_OUTPUT)) is not None:
        outputs = _any_agent(raw)
    final = span.get("final_result")
    if not outputs and final is not None:
        outputs = (text_message(as_text(final), "assistant"),)
    return inputs, outputs, _messages(span.get("pydantic_ai.all_messages"), "user")


def _any_agent(raw: Any) -> tuple[Message, ...]:
    """A list of calls with the keys `tool.name` and `tool.args`, or the text of an answer."""
    rows = loads(raw) if isinstance(raw, str) else raw
    if isinstance(rows, list) and rows and all(isinstance(r, dict) and "tool.name" in r for r in rows):
        calls = [Part("tool_call", as_text(r.get("tool.args", "")), name=clean_name(r["tool.name"])) for r in rows]
        return (Message("assistant", tuple(calls)),)
    return (text_message(as_text(raw), "assistant"),)


def _value(span: Span, key: str) -> Any:
    """An attribute of the span, or of the event that repeats or replaces it."""
    value = span.get(key)
    if value is None and span.events:
        details = (e.attributes.get(key) for e in span.events if e.name == _DETAILS)
        return next((v for v in details if v is not None), None)
    return value


def _messages(value: Any, role: str) -> tuple[Message, ...]:
    if value is None or value in ("", []):
        return ()
    found = read_messages(value, role)
    if found:
        return tuple(map(_filled, found))
    text = as_text(value)  # a list that was cut, or no list at all
    return (text_message(text, role, "data" if text.startswith("[{") else "text"),)


def _filled(message: Message) -> Message:
    """A message without the parts of which an instrumentation that must not record contents wrote the type only."""
    if not any(p.kind == "data" and _EMPTY_PART.fullmatch(p.text) for p in message.parts):
        return message
    parts = tuple(p for p in message.parts if p.kind != "data" or not _EMPTY_PART.fullmatch(p.text))
    return Message(message.role, parts, message.name, message.id)


def _instructions(span: Span) -> tuple[str, ...]:
    value = _value(span, "gen_ai.system_instructions")
    items = loads(value) if isinstance(value, str) else value
    if not isinstance(items, list):
        return (as_text(value),) if value else ()
    texts = (i.get("content", i.get("text")) if isinstance(i, dict) else i for i in items)
    return tuple(as_text(t) for t in texts if t)
