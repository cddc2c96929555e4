"""LangChain messages in every spelling: `model_dump`, `message_to_dict`, `load.dumps`, OpenAI dicts, Python `repr`."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from earwitness.ingest.items import caller_of
from earwitness.ingest.langchain.reprs import parse_repr
from earwitness.ingest.spans.facts import Part
from earwitness.ingest.spans.messages import is_provided
from earwitness.ingest.spans.messages import read_messages as of_provider
from earwitness.ingest.spans.texts import as_text, loads

_ROLES = {
    "human": "human",
    "humanmessage": "human",
    "user": "human",
    "ai": "ai",
    "aimessage": "ai",
    "aimessagechunk": "ai",
    "assistant": "ai",
    "tool": "tool",
    "toolmessage": "tool",
    "function": "tool",
    "functionmessage": "tool",
    "system": "system",
    "systemmessage": "system",
    "developer": "system",
    "remove": "remove",
    "removemessage": "remove",
}
# Where a message says of which class it is.
_CLASSES = ("role", "type", "__call__")
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking")
_CALLS = ("tool_use", "tool_call", "function_call")
_NAMELESS = {"", "unknown", "none", "null"}
_DEPTH = 8
_REMEMBERED = 4096
_PLACES = ("messages", "message", "output", "generations", "choices", "update")
# Keys of what models and handoffs return.
_WRAPPERS = {"generations", "generation_info", "choices", "index", "finish_reason", "goto"}


class Call(msgspec.Struct, frozen=True):
    """A request for a tool, as the model made it; `caller` is the call that runs a program which made it instead."""

    name: str
    arguments: str
    id: str | None = None
    caller: str | None = None


class Hosted(msgspec.Struct, frozen=True):
    """A call of a tool of the model provider's own, or (`arguments` is None) what it gave back."""

    id: str | None
    tool: str | None
    arguments: str | None
    result: str | None


class Msg(msgspec.Struct, frozen=True, kw_only=True):
    """A message, whatever it was spelled like.

    Attributes:
        role: human, ai, tool, system or remove.
        thoughts: visible reasoning.
        call_id: of a tool message, the call it answers.
        goto: the agent to which a handoff tool says control went.
        back: the framework's own note that a worker returned control.
        piece: of a chunk's class; whether it is a whole message the record around it says.
        source: the part of the framework that made it, where it says so.
        decision: what a human decided of the call that it answers.
        hosted: calls of tools of the provider's own and what they gave back, in order.
    """

    role: str
    text: str = ""
    thoughts: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    id: str | None = None
    name: str | None = None
    call_id: str | None = None
    goto: str | None = None
    back: bool = False
    failed: bool = False
    artifact: str | None = None
    piece: bool = False
    references: int = 0
    source: str | None = None
    decision: str | None = None
    hosted: tuple[Hosted, ...] = ()


def clean(value: Any) -> str | None:
    """A name, unless it is a way to say that there is none."""
    return _cleaned(value) if isinstance(value, str) else None


@lru_cache(maxsize=1024)
def _cleaned(name: str) -> str | None:
    bare = name.strip()
    return bare if bare.lower() not in _NAMELESS else None


def plain(value: Any) -> Any:
    """The dict behind one of the serialised spellings; anything else as it is."""
    if isinstance(value, str):
        value = parse_repr(value) or value
    if not isinstance(value, dict):
        return value
    if value.get("lc") and isinstance(value.get("id"), list) and value["id"]:
        return _constructor(value)
    if isinstance(value.get("data"), dict) and str(value.get("type")).lower() in _ROLES:
        return {"type": value["type"], **value["data"]}
    return value


def _constructor(value: dict[str, Any]) -> Any:
    name = str(value["id"][-1])
    if isinstance(value.get("kwargs"), dict):
        return {"type": name, **value["kwargs"], **({"type": name} if name.lower() in _ROLES else {})}
    return (parse_repr(value["repr"]) if isinstance(value.get("repr"), str) else None) or value


def read_message(value: Any) -> Msg | None:
    """The message that a value is, or None."""
    return value if isinstance(value, Msg) else _understood(value)[0]


def _understood(value: Any) -> tuple[Msg | None, Any]:
    """The message that a value is, or else the value plain."""
    if isinstance(value, str) and len(value) <= _REMEMBERED:
        return _remembered(value)
    return _taken_apart(value)


def _taken_apart(value: Any) -> tuple[Msg | None, Any]:
    bare = plain(value)
    found = _read(bare)
    return found, None if found else bare


def _read(value: Any) -> Msg | None:
    if not isinstance(value, dict) or not ("content" in value or "tool_calls" in value):
        return None
    role = _role(value)
    if role is None:
        return None
    content, extra = value.get("content"), value.get("additional_kwargs")
    extra = extra if isinstance(extra, dict) else {}
    hosted: tuple[Hosted, ...] = ()
    if role == "ai" and (isinstance(content, list) or extra):
        content, hosted = _apart(content, extra.get("tool_outputs"))
    text, thoughts, calls, references = _content(content, role)
    told = value.get("response_metadata")
    told = told if isinstance(told, dict) else {}
    if isinstance(extra.get("reasoning_content"), str) and extra["reasoning_content"]:
        thoughts = (*thoughts, extra["reasoning_content"])
    listed = tuple(_calls(value.get("tool_calls") or extra.get("tool_calls")))
    return Msg(
        role=role,
        text=text,
        thoughts=thoughts,
        calls=_with_callers(listed, calls) if listed else calls,
        id=value["id"] if isinstance(value.get("id"), str) and value["id"] else None,
        name=clean(value.get("name")),
        call_id=value["tool_call_id"] if isinstance(value.get("tool_call_id"), str) else None,
        goto=clean(told.get("__handoff_destination")),
        back=told.get("__is_handoff_back") is True,
        failed=value.get("status") == "error",
        artifact=as_text(value["artifact"]) if value.get("artifact") not in (None, "", [], {}) else None,
        piece=str(value.get("type")).endswith("Chunk"),
        references=references,
        source=clean(extra.get("lc_source")),
        decision=_decision(extra.get("lc_data")),
        hosted=hosted,
    )


def _with_callers(listed: tuple[Call, ...], blocks: tuple[Call, ...]) -> tuple[Call, ...]:
    """The calls of a message, with what only the blocks of its content say of who made them."""
    made = {c.id: c.caller for c in blocks if c.caller}
    return tuple(msgspec.structs.replace(c, caller=made.get(c.id)) for c in listed) if made else listed


def _apart(content: Any, beside: Any) -> tuple[Any, tuple[Hosted, ...]]:
    """A content without what is about tools of the provider's own, and that."""
    blocks = [b for b in content if is_provided(b)] if isinstance(content, list) else []
    given = blocks + (beside if isinstance(beside, list) else [])
    if not given:
        return content, ()
    parts = [p for b in given for m in of_provider({"role": "assistant", "content": [b]}, "assistant") for p in m.parts]
    rest = [b for b in content if b not in blocks] if isinstance(content, list) else content
    return rest, tuple(_hosted(p) for p in parts if p.kind in ("tool_call", "tool_response"))


def _hosted(part: Part) -> Hosted:
    asks = part.kind == "tool_call"
    return Hosted(part.id, clean(part.name), part.text if asks else None, None if asks else part.text)


def _decision(data: Any) -> str | None:
    return clean(data.get("decision")) if isinstance(data, dict) else None


# What tells a format by its messages reads them before its reader does, and histories repeat them.
_remembered = lru_cache(maxsize=1024)(_taken_apart)


def _role(value: dict[str, Any]) -> str | None:
    told = False
    for key in _CLASSES:
        name = value.get(key)
        if isinstance(name, str):
            told = True
            role = _ROLES.get(name) or _ROLES.get(name.lower())
            if role:
                return role
    if told or ("response_metadata" not in value and "tool_call_id" not in value):
        return None
    # The `str` of a message does not say its class; its fields do.
    return "tool" if "tool_call_id" in value else "ai" if "tool_calls" in value else "human"


def _content(content: Any, role: str) -> tuple[str, tuple[str, ...], tuple[Call, ...], int]:
    if not isinstance(content, list):
        return ("" if content is None else as_text(content)), (), (), 0
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Call] = []
    references = 0
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in _THOUGHTS:
            thoughts.append(_thought(block))
        elif kind in _CALLS and role == "ai":
            calls.extend(_calls([block]))
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif isinstance(block, dict) and kind in ("image", "image_url", "file", "audio", "video", "document"):
            references += 1
            texts.append(as_text(block))
        elif block:
            texts.append(as_text(block))
    return "\n".join(filter(None, texts)), tuple(filter(None, thoughts)), tuple(calls), references


def _thought(block: dict[str, Any]) -> str:
    for key in ("reasoning", "thinking", "text", "summary", "data"):
        if block.get(key):
            value = block[key]
            rows = [v.get("text") for v in value if isinstance(v, dict)] if isinstance(value, list) else []
            return "\n".join(str(r) for r in rows if r) or as_text(value)
    return ""


def _calls(calls: Any) -> Iterator[Call]:
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, dict):
            continue
        nested = call.get("function")
        inner: dict[str, Any] = nested if isinstance(nested, dict) else call
        given: Any = next((inner[k] for k in ("args", "arguments", "input") if inner.get(k) is not None), {})
        if isinstance(inner.get("name"), str) and inner["name"]:
            call_id = call.get("id") or call.get("call_id")
            call_id, caller = call_id if isinstance(call_id, str) else None, caller_of(call)
            yield Call(inner["name"], arguments_text(given), call_id, caller)


# Injected by the framework: the whole state, handed to a tool beside its arguments.
_INJECTED = ("state", "tool_call_id", "store", "config", "runtime")


def arguments_text(given: Any) -> str:
    """The arguments of a call as text; none is the empty text."""
    if isinstance(given, str):
        read = loads(given)
        given = given if read is None else read
    if isinstance(given, dict):
        given = {k: v for k, v in given.items() if not (k in _INJECTED and _injected(k, v))}
    return as_text(given) if given not in (None, {}, [], "") else ""


def _injected(key: str, value: Any) -> bool:
    if key == "state":
        return isinstance(value, dict) and ("messages" in value or "remaining_steps" in value)
    if key == "tool_call_id":
        return True
    return value.startswith("<") if isinstance(value, str) else not isinstance(value, int | float)


def read_messages(value: Any, depth: int = _DEPTH) -> list[Msg]:
    """The messages in a value: one, a list (also of lists), or whatever `messages`, `output`, `generations` hold."""
    if depth <= 0 or value is None:
        return []
    if isinstance(value, list):
        return [m for item in value for m in read_messages(item, depth - 1)]
    found, value = (value, None) if isinstance(value, Msg) else _understood(value)
    if found:
        return [found]
    if not isinstance(value, dict):
        return []
    return [m for key in holders(value) for m in read_messages(value[key], depth - 1)]


def holders(value: dict[str, Any]) -> tuple[str, ...]:
    """The keys under which an object may hold messages; one of several keys is a state, told as it is written."""
    wrapped = len(value) == 1 or not _WRAPPERS.isdisjoint(value) or value.get("__call__") == "Command"
    return tuple(key for key in (_PLACES if wrapped else _PLACES[:1]) if key in value)
