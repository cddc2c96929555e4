"""Parts of messages in the words of the Vercel AI SDK: as models are given them, and as chats are stored."""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.spans.facts import Part
from earwitness.ingest.spans.texts import as_text, word

_TOOL, _DYNAMIC, _OLD, _STEP = "tool-", "dynamic-tool", "tool-invocation", "step-start"
# States in which a tool has not run: its input is not whole, or somebody has yet to allow it.
_WAITING = frozenset(("input-streaming", "approval-requested"))
_DENIED = "output-denied"
_OF_MODELS = frozenset(("tool-call", "tool-result", "tool-error", "tool-approval-request", "tool-approval-response"))


def vercel_part(block: dict[str, Any]) -> Part:
    """A call or a result, as a model is given it."""
    call, tool = word(block["toolCallId"]), word(block.get("toolName"))
    if block.get("type") == "tool-result" or "result" in block or "output" in block:
        back = block.get("result", block.get("output"))
        if isinstance(back, dict) and back.keys() == {"type", "value"}:
            back = back["value"]
        return Part("tool_response", as_text(back), call, tool)
    return Part("tool_call", as_text(block.get("args", block.get("input", ""))), call, tool)


def is_ui_part(block: dict[str, Any]) -> bool:
    """Whether a part is one of a stored chat that no model is given in this form: a tool with all that came of it."""
    kind = block.get("type")
    if not isinstance(kind, str) or kind in _OF_MODELS:
        return False
    return kind == _STEP or (
        kind.startswith((_TOOL, _DYNAMIC)) and ("toolCallId" in block or "toolInvocation" in block)
    )


def ui_parts(block: dict[str, Any]) -> Iterator[Part]:
    """A call, and what came back if something did."""
    if block["type"] == _STEP:
        return
    inner = block.get("toolInvocation")
    tool = word(block.get("toolName")) or block["type"].removeprefix(_TOOL)
    block = {**inner, "toolName": inner.get("toolName") or tool} if isinstance(inner, dict) else block
    tool, call, state = word(block.get("toolName")) or tool, word(block.get("toolCallId")), block.get("state")
    given = as_text(block.get("input", block.get("args", "")))
    waits, hosted = isinstance(state, str) and state in _WAITING, block.get("providerExecuted") is True
    yield Part("tool_call", given, call, tool, ("not_delivered",) if waits else (), hosted=hosted)
    back = _came_back(block, state)
    if back is not None:
        yield Part("tool_response", back, call, tool)


def _came_back(block: dict[str, Any], state: Any) -> str | None:
    """What an agent was answered; of a call that was denied what the SDK tells the model."""
    if state == _DENIED:
        return as_text({"type": "execution-denied", "reason": _reason(block.get("approval"))})
    found = next((block[k] for k in ("output", "result", "errorText") if block.get(k) is not None), None)
    return None if found is None else as_text(found)


def _reason(approval: Any) -> Any:
    return approval.get("reason") if isinstance(approval, dict) else None
