"""Chat messages of LlamaIndex: blocks, tool calls, and their older spellings."""

from typing import Any, NamedTuple

from earwitness.ingest.chronicle import name_of, text_of


class ToolUse(NamedTuple):
    """A tool call inside a message."""

    id: str
    tool: str
    arguments: Any


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def text(message: dict[str, Any], kind: str = "text") -> str:
    """Text of the blocks of a kind; versions before blocks wrote `content`."""
    key = "content" if kind == "thinking" else "text"
    parts = [text_of(b.get(key)) for b in objects(message.get("blocks")) if b.get("block_type") == kind]
    if not parts and kind == "text" and "blocks" not in message:
        parts = [text_of(message.get("content"))]
    return "\n".join(p for p in parts if p)


def tool_uses(message: dict[str, Any]) -> list[ToolUse]:
    """Tool calls of a message, in blocks or in `additional_kwargs`."""
    found = [
        ToolUse(str(b.get("tool_call_id")), name_of(b.get("tool_name")) or "tool", b.get("tool_kwargs"))
        for b in objects(message.get("blocks"))
        if b.get("block_type") == "tool_call"
    ]
    return found or [_older(call) for call in objects(_more(message).get("tool_calls"))]


def answered(message: dict[str, Any]) -> str | None:
    """The call that a tool message answers."""
    return name_of(_more(message).get("tool_call_id"))


def _more(message: dict[str, Any]) -> dict[str, Any]:
    more = message.get("additional_kwargs")
    return more if isinstance(more, dict) else {}


def _older(call: dict[str, Any]) -> ToolUse:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return ToolUse(str(call.get("id")), name_of(function.get("name")) or "tool", function.get("arguments"))
