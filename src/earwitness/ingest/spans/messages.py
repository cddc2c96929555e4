"""Messages as the providers and frameworks write them, brought to one form.

Known: OpenTelemetry parts, OpenAI chat and responses items, Anthropic blocks, LangChain messages, Gemini contents,
and lists of them that somebody turned into a string, as JSON or as Python `repr`.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from earwitness.ingest.spans.attachments import address_of, blob_part
from earwitness.ingest.spans.facts import Message, Part
from earwitness.ingest.spans.texts import as_text, loads

_ROLES = {
    "developer": "system",
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    "environment": "tool",
}
# Where an envelope of messages keeps them, first hit wins.
_HOLDERS = ("messages", "input_messages", "output_messages", "choices", "output", "contents", "generations", "message")
_THOUGHTS = ("reasoning", "thinking", "thought", "redacted_thinking", "compaction")
_CALLS = ("tool_call", "function_call", "tool_use", "server_tool_call", "custom_tool_call")
_RETURNS = (
    "tool_call_response",
    "tool_response",
    "tool_result",
    "function_call_output",
    "server_tool_call_response",
    "custom_tool_call_output",
)
_ITEMS = frozenset((*_CALLS, *_RETURNS, "reasoning"))
_BODIES = frozenset(("content", "parts", "tool_calls", "contents", "tool_call_id"))
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
    return tuple(_walk(value, role, _DEPTH))


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


def _walk(value: Any, role: str, depth: int) -> Iterator[Message]:
    if isinstance(value, str):
        value = loads(value)
    if depth <= 0:
        return
    if isinstance(value, list):
        for item in value:
            yield from _walk(item, role, depth - 1)
    elif isinstance(value, dict):
        yield from _from_dict(value, role, depth)


def _from_dict(value: dict[str, Any], role: str, depth: int) -> Iterator[Message]:
    inner = _langchain(value) if "lc" in value or "data" in value else None
    if inner is not None:
        yield from _from_dict(inner, role, depth - 1)
    elif _is_item(value):
        yield _item(value)
    elif _is_message(value):
        yield from _message(value, role, depth)
    else:
        holder = next((k for k in _HOLDERS if isinstance(value.get(k), list | dict)), None)
        if holder:
            yield from _walk(value[holder], role, depth - 1)
        elif isinstance(value.get("content"), dict) and "parts" in value["content"]:  # a Gemini response
            yield from _walk(value["content"], role, depth - 1)


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
    return Message("tool" if part.kind == "tool_response" else "assistant", (part,), id=_name(value.get("id")))


def _message(value: dict[str, Any], role: str, depth: int) -> Iterator[Message]:
    said = str(value["role"] or role).lower()
    said = _ROLES.get(said, said)
    content = value.get("parts", value.get("content", value.get("contents")))
    nested = _double_encoded(content, depth)
    if nested:
        yield from nested
        return
    content = value.get("refusal") if content is None else content
    parts = tuple(_parts(content, said, value))
    if value.get("tool_calls"):
        parts += tuple(_calls(value["tool_calls"]))
    yield Message(said, parts, name=_name(value.get("name")), id=_name(value.get("id")))


def _double_encoded(content: Any, depth: int) -> list[Message]:
    """The trap: a whole list of messages kept as the content string of one."""
    items = loads(content) if isinstance(content, str) else None
    if not isinstance(items, list) or not all(isinstance(i, dict) and (_is_message(i) or _is_item(i)) for i in items):
        return []
    return [m for item in items for m in _walk(item, "user", depth - 1)]


def _parts(content: Any, role: str, message: dict[str, Any]) -> Iterator[Part]:
    if role == "tool" and not (isinstance(content, list) and content and _is_return(content[0])):
        text = as_text(content) if content is not None else ""
        yield Part("tool_response", _joined(content) or text, _call_id(message), _name(message.get("name")))
    elif isinstance(content, str):
        if content.strip():
            yield Part("text", content)
    elif isinstance(content, list):
        yield from (_part(c) if isinstance(c, dict) else Part("text", as_text(c)) for c in content if c)
    elif isinstance(content, dict):
        yield _part(content)


def _is_return(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("type") in (*_RETURNS, "tool-result") or "function_response" in value)


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
    given = next((call[k] for k in ("arguments", "args", "input", "raw_arguments") if call.get(k) is not None), "")
    return Part("tool_call", as_text(given), _call_id(call), _name(call.get("name")))


def _call_id(block: dict[str, Any]) -> str | None:
    keys = ("call_id", "tool_call_id", "tool_use_id", "id")
    return next((block[k] for k in keys if isinstance(block.get(k), str) and block[k]), None)


def _part(block: dict[str, Any]) -> Part:
    if block.get("type") == "text":  # most parts are
        text = block.get("content", block.get("text"))
        if isinstance(text, str) and not text.startswith("{") and "thought" not in block:
            return Part("text", text)
    return _gemini(block) or _vercel(block) or _bare_call(block) or _typed_part(block)


def _bare_call(block: dict[str, Any]) -> Part | None:
    """A call as chat APIs have it, outside its message."""
    if _is_function(block.get("function")) and block.get("type") in (None, "function"):
        return _call({**block["function"], "id": block.get("id")})
    return None


def _typed_part(block: dict[str, Any]) -> Part:
    kind = block.get("type")
    if kind in _CALLS:
        return _call(block)
    if kind in _RETURNS:
        return Part("tool_response", _returned(block), _call_id(block), _name(block.get("name")))
    if kind in _THOUGHTS:
        return Part("reasoning", _thought(block))
    if kind == "refusal" and isinstance(block.get("refusal"), str):
        return Part("text", block["refusal"])
    if kind == "blob" or block.get("inline_data"):
        return blob_part(block.get("inline_data") or block)
    if kind in _FILES or block.get("file_data") or (kind in ("image", "document") and "source" in block):
        return Part("reference", address_of(block), flags=("reference",))
    text = _text_of(block)
    inner = loads(text) if isinstance(text, str) else None
    if isinstance(inner, dict) and inner.get("type") in ("text", "output_text", "input_text", *_CALLS, *_RETURNS):
        return _part(inner)  # a block that somebody turned into a string
    return Part("text", text) if isinstance(text, str) else Part("data", as_text(block))


def _gemini(block: dict[str, Any]) -> Part | None:
    call, answer = block.get("function_call"), block.get("function_response")
    if isinstance(call, dict):
        return _call(call)
    if isinstance(answer, dict):
        return Part("tool_response", as_text(answer.get("response")), _call_id(answer), _name(answer.get("name")))
    if block.get("thought") is True and isinstance(block.get("text"), str):
        return Part("reasoning", block["text"])
    return None


def _vercel(block: dict[str, Any]) -> Part | None:
    """A call or a result in the words of the Vercel AI SDK."""
    if "toolCallId" not in block:
        return None
    call, tool = _name(block["toolCallId"]), _name(block.get("toolName"))
    if block.get("type") == "tool-result" or "result" in block or "output" in block:
        back = block.get("result", block.get("output"))
        if isinstance(back, dict) and back.keys() == {"type", "value"}:
            back = back["value"]
        return Part("tool_response", as_text(back), call, tool)
    return Part("tool_call", as_text(block.get("args", block.get("input", ""))), call, tool)


def _returned(block: dict[str, Any]) -> str:
    keys = ("response", "result", "output", "content")
    value = next((block[k] for k in keys if block.get(k) is not None), "")
    return _joined(value) or as_text(value)


def _thought(block: dict[str, Any]) -> str:
    content, summary = _joined(block.get("content")), _joined(block.get("summary"))
    if content and summary:  # what was thought, and what the provider made of it
        return content if content == summary else f"{content}\n{summary}"
    value = next(
        (block[k] for k in ("content", "thinking", "reasoning", "text", "summary", "data") if block.get(k)), ""
    )
    return _joined(value) or (as_text(value) if value else "")


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
