"""Messages as the providers and frameworks write them, brought to one form.

Known: OpenTelemetry parts, OpenAI chat and responses items, Anthropic blocks, LangChain messages, Gemini contents,
and lists of them that somebody turned into a string, as JSON or as Python `repr`.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from earwitness.ingest.items import call_item, caller_of, is_consent, is_hosted, output_item
from earwitness.ingest.spans.attachments import address_of, blob_part
from earwitness.ingest.spans.converse import SHAPES, converse_part
from earwitness.ingest.spans.facts import Message, Part
from earwitness.ingest.spans.texts import as_text, loads, word
from earwitness.ingest.spans.vercelparts import is_ui_part, ui_parts, vercel_part

_ROLES = {
    "developer": "system",
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    "environment": "tool",
    "tool-call": "assistant",  # of smolagents
    "tool-response": "tool",
}
# Where an envelope of messages keeps them, first hit wins.
_NESTED = (list, dict)
_HOLDERS = ("messages", "input_messages", "output_messages", "choices", "output", "contents", "generations", "message")
_THOUGHTS = ("reasoning", "thinking", "thought", "redacted_thinking", "compaction")
_CALLS = (
    "tool_call",
    "function_call",
    "tool_use",
    "server_tool_call",
    "custom_tool_call",
    "server_tool_use",
    "mcp_tool_use",
)
_RETURNS = (
    "tool_call_response",
    "tool_response",
    "tool_result",
    "function_call_output",
    "server_tool_call_response",
    "custom_tool_call_output",
    "server_tool_result",
)
_SERVER = ("server_tool_call", "server_tool_use", "mcp_tool_use")
# A tool of Anthropic's own, or one it reached by MCP, names itself in the type of what it gave back.
_HOSTED = "_tool_result"
_ITEMS = frozenset((*_CALLS, *_RETURNS, "reasoning"))
_BODIES = frozenset(("content", "parts", "tool_calls", "contents", "tool_call_id"))
_IDS = ("call_id", "tool_call_id", "tool_use_id", "id")
_GIVEN = ("arguments", "args", "input", "raw_arguments", "server_tool_call")
_BACK = ("response", "result", "output", "content", "server_tool_call_response")
# Keys of parts that do not go by a type: of Gemini, of the Vercel AI SDK, of a call outside of its message.
_SHAPES = frozenset(
    (
        *("function_call", "function_response", "executable_code", "code_execution_result"),
        *("functionCall", "functionResponse", "executableCode", "codeExecutionResult"),
        *("thought", "toolCallId", "function"),
        *SHAPES,
    )
)
_ANSWERS = frozenset(("function_response", "functionResponse", "toolResult"))
# Gemini's name for running code that the model wrote.
_CODE = "code_execution"
_FILE_KEYS = frozenset(("inline_data", "file_data"))
_FILES = ("uri", "file", "input_file", "image_url", "input_image", "file_id")
_DEPTH = 6
_REMEMBERED = 4096
_ROWS = msgspec.json.Decoder(list[msgspec.Raw])
_ANY = msgspec.json.Decoder()


def read_messages(value: Any, role: str) -> tuple[Message, ...]:
    """The messages in a value; none where it is no such thing.

    Args:
        value: a list, an object or the text of one.
        role: of messages that name none.
    """
    if isinstance(value, str) and value.startswith("["):
        try:
            rows = _ROWS.decode(value)
            return tuple(m for row in rows for m in _read_row(row, role))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass  # not quite JSON, or no JSON: the slow way knows more
    return tuple(_from_dict(value, role, _DEPTH) if isinstance(value, dict) else _walk(value, role, _DEPTH))


def _read_row(row: msgspec.Raw, role: str) -> tuple[Message, ...]:
    raw = bytes(row)
    return _remembered_row(raw, role) if len(raw) <= _REMEMBERED else _row(raw, role)


def _row(raw: bytes, role: str) -> tuple[Message, ...]:
    return tuple(_walk(_ANY.decode(raw), role, _DEPTH - 1))


# Every model call repeats its history: a message is taken apart once.
_remembered_row = lru_cache(maxsize=2048)(_row)


def text_message(text: str, role: str, kind: str = "text") -> Message:
    """A message that is one text."""
    return Message(role, (Part("data" if kind == "data" else "text", text),))


def _walk(value: Any, role: str, depth: int) -> list[Message]:
    if isinstance(value, str):
        value = loads(value)
    if depth <= 0:
        return []
    if isinstance(value, list):
        return [m for item in value for m in _walk(item, role, depth - 1)]
    return _from_dict(value, role, depth) if isinstance(value, dict) else []


def _from_dict(value: dict[str, Any], role: str, depth: int) -> list[Message]:
    inner = _langchain(value) if "lc" in value or "data" in value else None
    if inner is not None:
        return _from_dict(inner, role, depth - 1)
    if _is_item(value):
        return [_item(value)]
    if _is_message(value):
        return _message(value, role, depth)
    if is_hosted(value):
        return list(_hosted(value))
    for holder in _HOLDERS:
        if isinstance(held := value.get(holder), _NESTED):
            return _walk(held, role, depth - 1)
    if isinstance(value.get("content"), dict) and "parts" in value["content"]:  # a Gemini response
        return _walk(value["content"], role, depth - 1)
    return []


def _langchain(value: dict[str, Any]) -> dict[str, Any] | None:
    """The plain message in one of LangChain's two serialised forms."""
    if isinstance(value.get("data"), dict) and value.get("type") in ("human", "ai", "system", "tool", "function"):
        return {"role": value["type"], **value["data"]}
    names, kwargs = value.get("id"), value.get("kwargs")
    if value.get("lc") and isinstance(names, list) and isinstance(kwargs, dict):
        name = str(names[-1]).removesuffix("Chunk").removesuffix("Message").lower()
        return {"role": name, **kwargs} if str(names[-1]).endswith(("Message", "MessageChunk")) else None
    return None


def _is_item(value: dict[str, Any]) -> bool:
    """An item of the responses API that stands beside messages, not inside one."""
    if "role" in value:
        return False
    if isinstance(value.get("type"), str) and value["type"] in _ITEMS:
        return True
    return "toolCallId" in value or ("id" in value and _is_function(value.get("function")))


def _is_function(value: Any) -> bool:
    return isinstance(value, dict) and "name" in value and "arguments" in value


def _is_message(value: dict[str, Any]) -> bool:
    return isinstance(value.get("role"), str) and not _BODIES.isdisjoint(value)


def _item(value: dict[str, Any]) -> Message:
    part = _part(value)
    return Message("tool" if part.kind == "tool_response" else "assistant", (part,), id=word(value.get("id")))


def _hosted(value: dict[str, Any]) -> Iterator[Message]:
    """A call of a tool of the provider's own with what it gave back, or that alone; what waits for consent is none."""
    call, output = call_item(value), output_item(value)
    if call and not call.asks:
        parts = [Part("tool_call", call.arguments, call.id, call.tool, caller=call.caller, hosted=True)]
        if call.result is not None:
            parts.append(Part("tool_response", call.result, call.id, call.tool))
        yield Message("assistant", tuple(parts), id=word(value.get("id")))
    elif output and not is_consent(output):
        yield Message("tool", (Part("tool_response", output.text, output.id),), id=word(value.get("id")))


def _message(value: dict[str, Any], role: str, depth: int) -> list[Message]:
    said = str(value["role"] or role).lower()
    said = _ROLES.get(said, said)
    content = value.get("parts", value.get("content", value.get("contents")))
    nested = _double_encoded(content, depth)
    if nested:
        return nested
    content = value.get("refusal") if content is None else content
    parts = tuple(_parts(content, said, value))
    if value.get("tool_calls"):
        parts += tuple(_calls(value["tool_calls"]))
    return [Message(said, parts, name=word(value.get("name")), id=word(value.get("id")))]


def _double_encoded(content: Any, depth: int) -> list[Message]:
    """The trap: a whole list of messages kept as the content string of one."""
    items = loads(content) if isinstance(content, str) and content.lstrip().startswith("[") else None
    if not isinstance(items, list) or not all(isinstance(i, dict) and (_is_message(i) or _is_item(i)) for i in items):
        return []
    return [m for item in items for m in _walk(item, "user", depth - 1)]


def _parts(content: Any, role: str, message: dict[str, Any]) -> Iterator[Part]:
    if role == "tool" and not (isinstance(content, list) and content and _is_return(content[0])):
        text = as_text(content) if content is not None else ""
        yield Part("tool_response", _joined(content) or text, _call_id(message), word(message.get("name")))
    elif isinstance(content, str):
        if content.strip():
            yield Part("text", content)
    elif isinstance(content, list):
        for block in content:
            yield from _block(block) if block else ()
    elif isinstance(content, dict):
        yield _part(content)


def _block(block: Any) -> Iterator[Part]:
    if not isinstance(block, dict):
        yield Part("text", as_text(block))
    elif is_ui_part(block):
        yield from ui_parts(block)
    elif is_hosted(block):
        yield from (part for message in _hosted(block) for part in message.parts)
    else:
        yield _part(block)


def _is_return(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    return kind in (*_RETURNS, "tool-result") or gives_back(kind) or not _ANSWERS.isdisjoint(value)


def gives_back(kind: Any) -> bool:
    """Whether a block of this type is what a tool of the provider's gave back."""
    return isinstance(kind, str) and kind.endswith(_HOSTED)


def is_provided(block: Any) -> bool:
    """Whether a block of a message is about a tool of the provider's own: a call, or what came back."""
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return False
    kind = block["type"]
    return kind in _SERVER or kind == "server_tool_result" or gives_back(kind) or is_hosted(block)


def _joined(content: Any) -> str | None:
    """The text of a tool result that is a list of text blocks."""
    if not isinstance(content, list) or not all(isinstance(c, dict) and isinstance(_text_of(c), str) for c in content):
        return None
    return "\n".join(str(_text_of(c)) for c in content)


def _text_of(block: dict[str, Any]) -> Any:
    return block.get("text", block.get("content"))


def _calls(calls: Any) -> Iterator[Part]:
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            inner = call.get("function")
            named = inner if isinstance(inner, dict) else call
            yield _call({**named, "id": call.get("id") or call.get("call_id")})


def _call(call: dict[str, Any]) -> Part:
    given, caller = as_text(_first(call, _GIVEN)), caller_of(call) if "caller" in call else None
    hosted = call.get("type") in _SERVER
    return Part("tool_call", given, _call_id(call), word(call.get("name")), caller=caller, hosted=hosted)


def _first(block: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The first of these fields that says something; an empty text if none does."""
    for key in keys:
        found = block.get(key)
        if found is not None:
            return found
    return ""


def _call_id(block: dict[str, Any]) -> str | None:
    for key in _IDS:
        found = block.get(key)
        if isinstance(found, str) and found:
            return found
    return None


def _part(block: dict[str, Any]) -> Part:
    if block.get("type") == "text":  # most parts are
        text = block.get("content", block.get("text"))
        if isinstance(text, str) and not text.startswith("{") and "thought" not in block:
            return Part("text", text)
    if _SHAPES.isdisjoint(block):
        return _typed_part(block)
    return (
        converse_part(block)
        or _gemini(block)
        or (vercel_part(block) if "toolCallId" in block else None)
        or _bare_call(block)
        or _typed_part(block)
    )


def _bare_call(block: dict[str, Any]) -> Part | None:
    """A call as chat APIs have it, outside its message."""
    if _is_function(block.get("function")) and block.get("type") in (None, "function"):
        return _call({**block["function"], "id": block.get("id")})
    return None


def _typed_part(block: dict[str, Any]) -> Part:
    kind = block.get("type")
    if kind in ("output_text", "input_text") and _FILE_KEYS.isdisjoint(block):
        return _text_part(block)
    if kind in _CALLS:
        return _call(block)
    if kind in _RETURNS or gives_back(kind):
        return Part("tool_response", _returned(block), _call_id(block), word(block.get("name")))
    if kind in _THOUGHTS:
        return Part("reasoning", _thought(block))
    if kind == "refusal" and isinstance(block.get("refusal"), str):
        return Part("text", block["refusal"])
    if kind == "blob" or block.get("inline_data"):
        return blob_part(block.get("inline_data") or block)
    if kind in _FILES or block.get("file_data") or (kind in ("image", "document") and "source" in block):
        return Part("reference", address_of(block), flags=("reference",))
    return _text_part(block)


def _text_part(block: dict[str, Any]) -> Part:
    text = _text_of(block)
    inner = loads(text) if isinstance(text, str) else None
    if isinstance(inner, dict) and inner.get("type") in ("text", "output_text", "input_text", *_CALLS, *_RETURNS):
        return _part(inner)  # a block that somebody turned into a string
    return Part("text", text) if isinstance(text, str) else Part("data", as_text(block))


def _gemini(block: dict[str, Any]) -> Part | None:
    if call := _either(block, "function_call", "functionCall"):
        return _call(call)
    if answer := _either(block, "function_response", "functionResponse"):
        return Part("tool_response", as_text(answer.get("response")), _call_id(answer), word(answer.get("name")))
    if code := _either(block, "executable_code", "executableCode"):
        return Part("tool_call", as_text(code.get("code", code)), _call_id(code), _CODE, hosted=True)
    if outcome := _either(block, "code_execution_result", "codeExecutionResult"):
        return Part("tool_response", as_text(outcome.get("output", outcome)), _call_id(outcome), _CODE)
    if block.get("thought") is True and isinstance(block.get("text"), str):
        return Part("reasoning", block["text"])
    return None


def _either(block: dict[str, Any], *keys: str) -> dict[str, Any] | None:
    """The first of these fields that is an object."""
    return next((block[k] for k in keys if isinstance(block.get(k), dict) and block[k]), None)


def _returned(block: dict[str, Any]) -> str:
    value = _first(block, _BACK)
    return _joined(value) or printed(value) or as_text(value)


def printed(value: Any) -> str | None:
    """What a program of the provider's printed, if that is all that came of it."""
    if not isinstance(value, dict) or "stdout" not in value or value.get("content"):
        return None
    return "\n".join(s for s in (value["stdout"], value.get("stderr")) if isinstance(s, str) and s)


def _thought(block: dict[str, Any]) -> str:
    content, summary = _joined(block.get("content")), _joined(block.get("summary"))
    if content and summary:  # what was thought, and what the provider made of it
        return content if content == summary else f"{content}\n{summary}"
    value = next(
        (block[k] for k in ("content", "thinking", "reasoning", "text", "summary", "data") if block.get(k)), ""
    )
    return _joined(value) or (as_text(value) if value else "")
