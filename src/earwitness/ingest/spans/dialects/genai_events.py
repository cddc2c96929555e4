"""OpenTelemetry GenAI up to 1.36: messages as span events or log records, one each, or as two JSON strings."""

from typing import Any

from earwitness.ingest.spans.converse import blocks_of, text_of
from earwitness.ingest.spans.facts import Facts, Message, Part
from earwitness.ingest.spans.identity import agent_of, clean_name
from earwitness.ingest.spans.messages import read_messages, text_message
from earwitness.ingest.spans.span import Span, SpanEvent
from earwitness.ingest.spans.texts import as_text, loads

NAME = "otel-genai-events"
PRIORITY = 65
KEYS, EVENTS = frozenset[str](), True

_NOBODY = ("assistant", "model", "user", "system", "tool")
_INPUTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.content.prompt": "user",
}
_OUTPUTS = ("gen_ai.choice", "gen_ai.content.completion", "gen_ai.assistant.choice")
_DETAILS = "gen_ai.client.inference.operation.details"
_BODY = "event_body"


def is_message(event: SpanEvent) -> bool:
    """Whether an event holds messages, so that it is no note."""
    return event.name in _INPUTS or event.name in _OUTPUTS or event.name == _DETAILS


def matches(span: Span) -> bool:
    """Some event of the span holds a message."""
    return bool(span.events) and any(map(is_message, span.events))


def facts(span: Span) -> Facts:
    """What the messages of a span say."""
    if span.get("gen_ai.operation.name") == "execute_tool":
        return _of_tool(span)
    inputs, outputs = _read(span, _INPUTS), _read(span, _OUTPUTS)
    systems = tuple(p.text for m in inputs if m.role == "system" for p in m.parts)
    agent, rung = agent_of(span, is_agent=False)
    details = next((e.attributes for e in span.events if e.name == _DETAILS), {})
    stated = _agent(details, span) or _speaker([*(m for m in inputs if m.role == "system"), *outputs])
    return Facts(
        dialect=NAME,
        role="llm",
        agent=agent or stated,
        rung=rung or ("attribute" if stated else None),
        inputs=tuple(m for m in inputs if m.role != "system") or _more(details, "gen_ai.input.messages", "user"),
        outputs=tuple(outputs) or _more(details, "gen_ai.output.messages", "assistant"),
        instructions=systems or _instructions(details),
        conversation=span.text("gen_ai.conversation.id") or _word(details, "gen_ai.conversation.id"),
        model=span.text("gen_ai.response.model", "gen_ai.request.model") or _word(details, "gen_ai.request.model"),
    )


def _of_tool(span: Span) -> Facts:
    """The run of a tool: its arguments are a message to it, its result is a choice."""
    given, back = ([_said(e) for e in span.events if e.name in names] for names in (_INPUTS, _OUTPUTS))
    return Facts(dialect=NAME, role="tool", arguments=given[0] if given else None, result=back[-1] if back else None)


def _said(event: SpanEvent) -> str:
    body = _body(event)
    said = body.get("message", body.get("content"))
    blocks = blocks_of(said)
    return text_of(blocks) if blocks else as_text(said)


def read_body(body: dict[str, Any], name: str) -> tuple[Message, ...]:
    """The message that an event of a name holds in its body."""
    return _one(body, _INPUTS.get(name, "assistant"))


def _agent(details: dict[str, Any], span: Span) -> str | None:
    named = [details, *(e.attributes for e in span.events)]
    return next((n for n in (_word(d, "gen_ai.agent.name") for d in named) if n and n != "unknown"), None)


def _speaker(messages: list[Message]) -> str | None:
    """The name that Semantic Kernel gives to the instructions and the answer of an agent; some put the role there."""
    names = {name for m in messages if (name := clean_name(m.name)) and name not in _NOBODY}
    return names.pop() if len(names) == 1 else None


def _word(details: dict[str, Any], key: str) -> str | None:
    value = details.get(key)
    return value if isinstance(value, str) and value else None


def _more(details: dict[str, Any], key: str, role: str) -> tuple[Message, ...]:
    return read_messages(details.get(key), role)


def _instructions(details: dict[str, Any]) -> tuple[str, ...]:
    given = details.get("gen_ai.system_instructions")
    rows = loads(given) if isinstance(given, str) else given
    if not isinstance(rows, list):
        return (as_text(given),) if given else ()
    return tuple(as_text(r.get("content", r) if isinstance(r, dict) else r) for r in rows)


def _read(span: Span, names: Any) -> list[Message]:
    return [m for event in span.events if event.name in names for m in _messages(event)]


def _messages(event: SpanEvent) -> tuple[Message, ...]:
    role = _INPUTS.get(event.name, "assistant")
    whole = event.attributes.get("gen_ai.prompt", event.attributes.get("gen_ai.completion"))
    if whole is not None:
        return read_messages(whole, role) or (text_message(as_text(whole), role),)
    return _one(_body(event), role)


def _one(body: dict[str, Any], role: str) -> tuple[Message, ...]:
    """The message in a body: as the conventions have it, as Gemini content, or under `message` in a choice."""
    inner = body.get("message", body)
    inner = loads(inner) if isinstance(inner, str) and loads(inner) else inner
    if isinstance(inner, list) and (blocks := blocks_of(inner)):
        inner = {"content": blocks}
    if not isinstance(inner, dict):
        return (Message(role, (Part("text", as_text(inner)),)),) if inner else ()
    content = inner.get("content")
    if isinstance(content, str) and (blocks := blocks_of(content)):
        inner = {**inner, "content": blocks}
    if isinstance(content, dict) and "parts" in content:
        return read_messages({"role": role, **content}, role)
    if role == "tool" and "tool_call_id" not in inner and isinstance(inner.get("id"), str):
        inner = {**inner, "tool_call_id": inner["id"]}
    return read_messages({"content": None, **inner, "role": inner.get("role") or role}, role)


def _body(event: SpanEvent) -> dict[str, Any]:
    """The body of the record; as a span event its fields are attributes, some of them JSON text."""
    body = event.attributes.get(_BODY)
    if body is not None:
        body = loads(body) or body if isinstance(body, str) else body
        return body if isinstance(body, dict) else {"content": as_text(body)}
    fields = {k.removeprefix("gen_ai.event."): v for k, v in event.attributes.items()}
    return {
        k: (loads(v) or v) if isinstance(v, str) and k in ("tool_calls", "message") else v for k, v in fields.items()
    }
