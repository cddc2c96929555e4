"""Records of a rollout as items of one shape, whichever of its two spellings they come in."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from earwitness.ingest.chronicle import name_of, text_of
from earwitness.ingest.jsontext import decode_text
from earwitness.ingest.record import Place

_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output")
_READ = frozenset(("message", "reasoning", *_CALLS, *_OUTPUTS))
_INSTRUCTIONS = ("user_instructions", "developer_instructions")
_ERRORS = ("error", "stream_error")
_TWINS = {"user_message": "user", "agent_message": "assistant", "agent_reasoning": "reasoning"}


class Item(NamedTuple):
    """Something said in a thread: kind is a role, or reasoning, call, output, error, history."""

    kind: str
    text: str
    place: Place
    time: str | None
    call: str = ""
    tool: str = ""
    given: Any = None
    failed: bool = False
    refused: bool = False
    hidden: bool = False
    twin: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """What a call was given, by name; empty where it was given something else."""
        value = decode_text(self.given)
        return value if isinstance(value, dict) else {}


# What `Item` does, without a call of Python: there are many of them.
_item: Callable[[tuple[Any, ...]], Item] = partial(tuple.__new__, Item)


def says(kind: str, payload: Any) -> bool | None:
    """Whether there are items in a record; None where its type is not read."""
    if not isinstance(payload, dict):
        return None
    sort = str(payload.get("type"))
    if kind == "response_item":
        return False if sort == "ghost_snapshot" else sort in _READ or None
    if kind == "event_msg":
        return sort in _TWINS or sort in _ERRORS
    if kind == "turn_context":
        return any(text_of(payload.get(k)) for k in _INSTRUCTIONS)
    return True if kind == "compacted" else None


def items_of(kind: str, time: Any, payload: Any, place: Place) -> list[Item] | None:
    """The items of a record; None where its type is not read, an empty list where it says nothing."""
    if not isinstance(payload, dict):
        return None
    time, sort = time if isinstance(time, str) else None, str(payload.get("type"))
    if kind == "response_item":
        return _response(payload, sort, place, time)
    if kind == "event_msg":
        return _event(payload, sort, place, time)
    if kind == "compacted":
        return [Item("history", text_of(payload.get("message")), place.at("/payload/message"), time)]
    if kind != "turn_context":
        return None
    texts = (text_of(payload.get(k)) for k in _INSTRUCTIONS)
    return [Item("system", text, place.at("/payload"), time) for text in texts if text]


def _event(payload: dict[str, Any], sort: str, place: Place, time: str | None) -> list[Item]:
    if sort in _TWINS:
        key = "text" if sort == "agent_reasoning" else "message"
        text, place = text_of(payload.get(key)), place.at(f"/payload/{key}")
        return [_item((_TWINS[sort], text, place, time, "", "", None, False, False, False, True))]
    if sort in _ERRORS:
        return [Item("error", text_of(payload.get("message")), place.at("/payload/message"), time)]
    return []


def _response(payload: dict[str, Any], sort: str, place: Place, time: str | None) -> list[Item] | None:
    if sort == "message":
        text = parts_text(payload.get("content"))
        role, place = str(payload.get("role")), place.at("/payload/content")
        return [_item((role, text, place, time, "", "", None, False, False, False, False))]
    if sort == "reasoning":
        text = parts_text(payload.get("summary")) or parts_text(payload.get("content"))
        hidden = not text and bool(payload.get("encrypted_content"))
        return [Item("reasoning", text, place.at("/payload/summary"), time, hidden=hidden)]
    if sort in _CALLS:
        return [_call(payload, sort, place, time)]
    if sort in _OUTPUTS:
        return [_output(payload, place, time)]
    return [] if sort == "ghost_snapshot" else None


def _output(payload: dict[str, Any], place: Place, time: str | None) -> Item:
    output, call = payload.get("output"), str(payload.get("call_id"))
    told = output if isinstance(output, dict) else {}
    failed, refused = told.get("success") is False, told.get("refused") is True
    text, place = parts_text(told.get("content", output)), place.at("/payload/output")
    return _item(("output", text, place, time, call, "", None, failed, refused, False, False))


def _call(payload: dict[str, Any], sort: str, place: Place, time: str | None) -> Item:
    key = "arguments"
    if key not in payload:
        key = "input" if "input" in payload else "action" if "action" in payload else key
    given = payload.get(key)
    own = name_of(payload.get("call_id")) or name_of(payload.get("id")) or ""
    tool = name_of(payload.get("name")) or sort.removesuffix("_call")
    place = place.at(f"/payload/{key}")
    return _item(("call", text_of(given), place, time, own, tool, given, False, False, False, False))


def parts_text(value: Any) -> str:
    """Text of a message, a summary or an output: text as it is, or a list of parts."""
    if not isinstance(value, list):
        return text_of(value)
    if len(value) == 1 and type(value[0]) is dict:  # as nearly all are
        return text_of(value[0].get("text"))
    texts = (p.get("text") if isinstance(p, dict) else p for p in value)
    return "\n".join(t for t in map(text_of, texts) if t)
