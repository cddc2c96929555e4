"""Items of the Responses API that are neither messages nor functions: tools of the provider's own, shells, consent."""

from typing import Any, NamedTuple

from earwitness.ingest.spans.identity import clean_name
from earwitness.ingest.spans.texts import as_text

APPROVAL = "mcp_approval_response"
_ASKS = "mcp_approval_request"
_RESULTS = ("output", "result", "results", "outputs", "error")
_BESIDE = frozenset(("id", "call_id", "type", "status", "approval_request_id", "caller", *_RESULTS))
_FUNCTIONS = frozenset(
    f"{kind}_call{end}" for kind in ("tool", "function", "custom_tool", "server_tool") for end in ("", "_output")
)
# A program that a model wrote, which calls tools and gets what they give back, and what it gave the model.
_PROGRAM, _PRINTED, _TOOLS = "program", "program_output", "tool_search_output"
_SHELL = frozenset(("stdout", "stderr", "outcome", "type", "text"))
# How the OpenAI Agents SDK begins a summary of what was said before a handoff, and what it puts between.
_NESTED = "For context, here is the conversation so far"
_MARK = "<CONVERSATION HISTORY>"
# What it keeps in the place of results once a guardrail held back the answer that was made of them.
_WITHHELD = "Output withheld by an output guardrail."


class CallItem(NamedTuple):
    """A call, with what came back where the same item holds it.

    Attributes:
        answered_apart: its result is an item of its own.
        asks: it was not made, but a human is asked to allow it.
        approval: the id of the question that allowed it.
        caller: the call that runs the program which made this one.
    """

    id: str | None
    tool: str | None
    arguments: str
    result: str | None
    failed: bool
    answered_apart: bool
    asks: bool
    approval: str | None
    caller: str | None


class OutputItem(NamedTuple):
    """What came of a call; `tool` is what its kind says of it."""

    kind: str
    id: str | None
    text: str
    failed: bool
    denied: bool
    tool: str | None = None


def is_nested_history(text: str) -> bool:
    """Whether a text is the SDK's summary of a conversation: a copy, said by nobody."""
    return text.startswith((_NESTED, _MARK)) and _MARK in text


def is_withheld(text: str) -> bool:
    """Whether a result was taken out of the record."""
    return text == _WITHHELD


def is_hosted(raw: dict[str, Any]) -> bool:
    """Whether an item is a call of a tool that is no function, what came of one, or a question of consent to one."""
    kind = raw.get("type")
    if not isinstance(kind, str) or "role" in raw or kind in _FUNCTIONS:
        return False
    return kind.endswith(("_call", "_call_output")) or kind in (_ASKS, APPROVAL, _PROGRAM, _PRINTED, _TOOLS)


def is_consent(output: "OutputItem") -> bool:
    """Whether it says how a human decided."""
    return output.kind == APPROVAL


def caller_of(call: dict[str, Any]) -> str | None:
    """The call that runs the program which made this one; None where the model made it."""
    caller = call.get("caller")
    if not isinstance(caller, dict) or caller.get("type") == "direct":
        return None
    return _id(caller, "tool_id", "caller_id")


def call_item(raw: dict[str, Any]) -> CallItem | None:
    """The call in an item; None where it is none."""
    kind = str(raw.get("type", ""))
    if not kind.endswith("_call") and kind not in (_ASKS, _PROGRAM):
        return None
    given = {k: v for k, v in raw.items() if k not in _BESIDE and v is not None}
    back = next((raw[k] for k in _RESULTS if raw.get(k) is not None), None)
    return CallItem(
        id=_id(raw, "call_id", "id"),
        tool=clean_name(raw.get("name")) or kind.removesuffix("_call"),
        arguments=as_text(raw.get("code") if kind == _PROGRAM else given),
        result=None if back is None else _words(back),
        failed=raw.get("status") == "failed" or bool(raw.get("error")),
        answered_apart=kind == _ASKS or "call_id" in raw,
        asks=kind == _ASKS,
        approval=_id(raw, "approval_request_id"),
        caller=caller_of(raw),
    )


def output_item(raw: dict[str, Any]) -> OutputItem | None:
    """What came of a call, or how a human decided; None where an item is neither."""
    kind = str(raw.get("type", ""))
    if kind == APPROVAL:
        denied = raw.get("approve") is False
        return OutputItem(kind, _id(raw, "approval_request_id"), str(raw.get("reason") or ""), False, denied)
    if not kind.endswith("_call_output") and kind not in (_PRINTED, _TOOLS):
        return None
    back = next((raw[k] for k in ("output", "result", "tools") if raw.get(k) is not None), None)
    failed, tool = raw.get("status") == "failed", kind.removesuffix("_output").removesuffix("_call")
    return OutputItem(kind, _id(raw, "call_id", "id"), _words(back), failed, False, tool)


def _id(raw: dict[str, Any], *keys: str) -> str | None:
    return next((raw[k] for k in keys if isinstance(raw.get(k), str) and raw[k]), None)


def _words(output: Any) -> str:
    """What a shell wrote, or an error's text; anything else as it is."""
    rows = output.get("content") if isinstance(output, dict) else output
    rows = rows if isinstance(rows, list) else []
    texts = [row.get(k) for row in rows if isinstance(row, dict) for k in ("stdout", "stderr", "text")]
    plain = all(isinstance(row, dict) and row.keys() <= _SHELL for row in rows)
    return "\n".join(t for t in texts if isinstance(t, str) and t) if rows and plain else as_text(output)
