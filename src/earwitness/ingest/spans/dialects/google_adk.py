"""Google ADK's own spans: requests, responses and tool calls as JSON in `gcp.vertex.agent.*`."""

from typing import Any

from earwitness.ingest.spans.facts import Facts, Role
from earwitness.ingest.spans.identity import agent_of
from earwitness.ingest.spans.messages import read_messages
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import as_text, loads, says_nothing

NAME = "google-adk"
PRIORITY = 62

_PREFIX = "gcp.vertex.agent."
_KEYS = frozenset(
    _PREFIX + key
    for key in ("llm_request", "llm_response", "tool_call_args", "tool_response", "data", "event_id", "session_id")
)


def matches(span: Span) -> bool:
    """Any of the attributes that only ADK writes, or the name of its agent spans."""
    return not _KEYS.isdisjoint(span.attributes) or span.name.startswith("agent_run [")


def facts(span: Span) -> Facts:
    """What a span of ADK says."""
    request, response = _json(span, "llm_request"), _json(span, "llm_response")
    role = _role(span, bool(request or response))
    agent, rung = agent_of(span, is_agent=role == "agent")
    return Facts(
        dialect=NAME,
        role=role,
        agent=agent,
        rung=rung,
        tool=span.text("gen_ai.tool.name"),
        call_id=span.text("gen_ai.tool.call.id"),
        arguments=_text(span, "tool_call_args"),
        result=_text(span, "tool_response"),
        inputs=read_messages(request.get("contents"), "user"),
        outputs=read_messages(_said(response), "assistant"),
        instructions=_instructions(request),
        conversation=span.text(_PREFIX + "session_id", "gen_ai.conversation.id"),
        model=span.text("gen_ai.request.model"),
    )


def _role(span: Span, speaks: bool) -> Role:
    if span.name.startswith(("agent_run [", "invoke_agent ")):
        return "agent"
    if span.name.startswith("execute_tool") or _PREFIX + "tool_call_args" in span.attributes:
        return "tool"
    return "llm" if speaks or span.name == "call_llm" else "other"


def _json(span: Span, key: str) -> dict[str, Any]:
    value = span.get(_PREFIX + key)
    value = loads(value) if isinstance(value, str) else value
    return value if isinstance(value, dict) else {}


def _text(span: Span, key: str) -> str | None:
    """Switched-off content is an empty object; a tool without parameters has that too, so it stands for arguments."""
    value = span.get(_PREFIX + key)
    if value is None or (key == "tool_response" and says_nothing(as_text(value))):
        return None
    return as_text(value)


def _said(response: dict[str, Any]) -> Any:
    content = response.get("content")
    return {"role": "model", **content} if isinstance(content, dict) else None


def _instructions(request: dict[str, Any]) -> tuple[str, ...]:
    config = request.get("config")
    given = config.get("system_instruction") if isinstance(config, dict) else None
    return (as_text(given),) if given else ()
