"""How LangGraph stops: to pass control, or to ask a human; both are raised as errors, and read like such."""

from typing import Any

from earwitness.ingest.langchain.messages import Call, arguments_text, clean
from earwitness.ingest.langchain.reprs import parse_repr

_CONTROL = ("ParentCommand(", "GraphInterrupt(", "GraphBubbleUp(", "NodeInterrupt(", "Command(", "(Interrupt(")
_TRACE = "Traceback (most recent call last)"


def is_control(text: str) -> bool:
    """Whether an error is the framework's way to pass control or to stop for a person."""
    return text.lstrip().startswith(_CONTROL)


def interrupts_in(error: str) -> list[Any]:
    """What a human was asked, as an error tells it."""
    text = error.partition(_TRACE)[0].strip()
    text = f"GraphInterrupt({text})" if text.startswith("(Interrupt(") else text
    read = parse_repr(text) if text.startswith(("GraphInterrupt(", "NodeInterrupt(")) else None
    return [row for row in _flat(read.get("__args__")) if row.get("value") is not None] if read else []


def _flat(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [row for item in value for row in _flat(item)]
    return [value] if isinstance(value, dict) and value.get("__call__") == "Interrupt" else []


def asked_for(value: Any) -> list[Call]:
    """The calls that a human is asked to allow: all of a turn, or one."""
    if not isinstance(value, dict):
        return []
    one = [value] if value.get("type") == "tool_approval" else []
    many = value.get("action_requests")
    rows = [row for row in (many if isinstance(many, list) else one) if isinstance(row, dict)]
    given = [(row, row.get("args", row.get("arguments"))) for row in rows]  # the latter in the first versions
    return [
        Call(str(row.get("name") or row.get("action")), arguments_text(args), clean(row.get("tool_call_id")))
        for row, args in given
    ]


def edited_calls(value: Any) -> list[Call]:
    """The calls that a human put in the place of others, by the ids of those."""
    rows = value.items() if isinstance(value, dict) else ()
    return [
        Call(str(row.get("name")), arguments_text(row.get("args")), clean(call))
        for call, row in rows
        if isinstance(row, dict)
    ]
