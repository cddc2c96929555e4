"""OpenAI Agents SDK: the `span_data` of exported spans, keys as attributes; the reader of exports sets the scope."""

from typing import Any

from earwitness.ingest.spans.facts import Facts, Message, Part
from earwitness.ingest.spans.identity import clean_name
from earwitness.ingest.spans.messages import read_messages, text_message
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import as_text

NAME = "openai-agents"
PRIORITY = 40
KEYS = frozenset(("type",))
SCOPE = "openai_agents"

_FRAMES = ("task", "turn")


def matches(span: Span) -> bool:
    """Only spans of the SDK's own exports: nothing else has this scope and a `type`."""
    return span.scope == SCOPE and isinstance(span.get("type"), str)


def facts(span: Span) -> Facts:
    """What a span of this dialect says."""
    tell = _TOLD.get(span.attributes["type"], _other)
    return tell(span)


def _agent(span: Span) -> Facts:
    return Facts(dialect=NAME, role="agent", agent=clean_name(span.get("name")), rung="attribute")


def _generation(span: Span) -> Facts:
    return Facts(
        dialect=NAME,
        role="llm",
        model=span.text("model"),
        inputs=_messages(span.get("input"), "user"),
        outputs=_messages(span.get("output"), "assistant"),
    )


def _response(span: Span) -> Facts:
    """An export as the SDK makes it holds an id only; some processors add input and response."""
    response = span.get("response")
    response = response if isinstance(response, dict) else {}
    told = response.get("instructions")
    return Facts(
        dialect=NAME,
        role="llm",
        model=response.get("model") if isinstance(response.get("model"), str) else None,
        inputs=_messages(span.get("input"), "user"),
        outputs=_messages(response.get("output"), "assistant"),
        instructions=(told,) if isinstance(told, str) and told else (),
    )


def _function(span: Span) -> Facts:
    given, back = span.get("input"), span.get("output")
    return Facts(
        dialect=NAME,
        role="tool",
        tool=clean_name(span.get("name")),
        arguments=None if given is None else as_text(given),
        result=None if back is None else as_text(back),
    )


def _handoff(span: Span) -> Facts:
    return Facts(
        dialect=NAME,
        role="handoff",
        handoff_from=clean_name(span.get("from_agent")),
        handoff_to=clean_name(span.get("to_agent")),
    )


def _guardrail(span: Span) -> Facts:
    return Facts(dialect=NAME, role="guardrail", tool=clean_name(span.get("name")))


def _custom(span: Span) -> Facts:
    """The SDK's own frames say whose turn it is; the application's custom spans say what it put there."""
    data = span.get("data")
    if isinstance(data, dict) and data.get("sdk_span_type") in _FRAMES:
        agent = clean_name(data.get("agent_name"))
        return Facts(dialect=NAME, role="workflow", agent=agent, rung="attribute" if agent else None)
    return Facts(dialect=NAME, role="other", outputs=(text_message(as_text(data), "assistant"),) if data else ())


def _other(span: Span) -> Facts:
    texts = [v for v in (span.get("input"), span.get("output")) if isinstance(v, str) and v]
    return Facts(dialect=NAME, role="other", outputs=tuple(text_message(t, "assistant") for t in texts))


def _messages(value: Any, role: str) -> tuple[Message, ...]:
    if isinstance(value, str) and value:
        return (text_message(value, role),)
    if not isinstance(value, list):
        return read_messages(value, role)
    return tuple(m for item in value for m in (*_thought(item), *read_messages(item, role)))


def _thought(message: Any) -> tuple[Message, ...]:
    """Reasoning beside a chat message, as some providers return it."""
    text = message.get("reasoning_content", message.get("reasoning")) if isinstance(message, dict) else None
    return (Message("assistant", (Part("reasoning", text),)),) if isinstance(text, str) and text else ()


_TOLD = {
    "agent": _agent,
    "generation": _generation,
    "response": _response,
    "function": _function,
    "handoff": _handoff,
    "guardrail": _guardrail,
    "custom": _custom,
}
