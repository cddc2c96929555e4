"""Codex's stream of events: what `codex exec --json` and the Codex SDK give an application.

An event a line: a thread begins, turns begin and end, items are started, updated and completed. A completed item holds
a call and what came back. Items are told as those of a rollout are (see `codex-rollout`); of one thread import the
rollout or the stream, for calls have other ids in each.

The format cannot show what the user asked, instructions, what files hold that were changed, nor what a search found;
of other threads it shows what they were told and what they said last.

Obtained by: `codex exec --json`, or the events of `thread.runStreamed()`, dumped.
Versions tried: types of @openai/codex-sdk 0.163.0.
Order: file order.
"""

from collections.abc import Iterable
from typing import Any

from earwitness.ingest.chronicle import text_of
from earwitness.ingest.codex.reader import Reader
from earwitness.ingest.record import Context, Place, Record, Skip

_ENDED = ("item.completed", "item.started", "item.updated")
_TURNS = ("turn.started", "turn.completed", "turn.failed")
_TWINS = {"agent_message": ("agent_message", "message"), "reasoning": ("agent_reasoning", "text")}
_BAD, _DECLINED = ("failed", "declined"), "declined"


class _CodexExec:
    NAME = "codex-exec"
    TITLE = "Codex stream of events"
    READER = "codex"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            return False
        kind, item = value["type"], value.get("item")
        if kind == "thread.started":
            return isinstance(value.get("thread_id"), str)
        if kind in _ENDED:
            return isinstance(item, dict) and isinstance(item.get("type"), str) and isinstance(item.get("id"), str)
        return kind in _TURNS and value.keys() <= {"type", "usage", "error"}

    def split(self, record: Record) -> Iterable[Record]:
        """The event as records of a rollout: none, one, or a call and its output."""
        value, place = record
        kind, error = value["type"], value.get("error")
        if kind == "item.completed":
            return _parts(value["item"], place)
        if kind == "thread.started":
            return (Record({"type": "session_meta", "payload": {"id": value["thread_id"], "stream": True}}, place),)
        if kind == "turn.failed" and isinstance(error, dict):
            return (Record(_event("error", "message", error.get("message")), place.at("/error")),)
        return (Record(Skip("ignored", "a note that a turn or an item began or ended", place), place),)

    def open(self, context: Context) -> Reader:
        return Reader(context)


def _parts(item: dict[str, Any], place: Place) -> Iterable[Record]:
    kind, here = item["type"], place.at("/item")
    if kind in _CALLS:
        return _call(item, here, *_CALLS[kind](item))
    if kind in _TWINS:
        return (Record(_event(*_TWINS[kind], item.get("text"), item["id"]), here),)
    if kind == "error":
        return (Record(_event("error", "message", item.get("message"), item["id"]), here),)
    return (Record({"type": "response_item", "payload": {"type": kind, "id": item["id"]}}, here),)


def _call(item: dict[str, Any], here: Place, tool: str, given: Any, back: str | None) -> Iterable[Record]:
    """A call, and its output if there is one."""
    name = item["id"]
    call = {"type": "function_call", "call_id": name, "name": tool, "arguments": given}
    made = Record({"type": "response_item", "payload": call}, here)
    if back is None:
        return (made,)
    state = item.get("status")
    output = {"content": back, "success": state not in _BAD, "refused": state == _DECLINED}
    told = {"type": "function_call_output", "call_id": name, "output": output}
    return made, Record({"type": "response_item", "payload": told}, here.at("/result"))


def _event(kind: str, key: str, text: Any, name: Any = None) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": kind, key: text_of(text), "id": name}}


_Call = tuple[str, Any, str | None]


def _command(item: dict[str, Any]) -> _Call:
    return "shell", item.get("command"), text_of(item.get("aggregated_output"))


def _change(item: dict[str, Any]) -> _Call:
    return "file_change", text_of(item.get("changes")), "" if item.get("status") in _BAD else None


def _mcp(item: dict[str, Any]) -> _Call:
    result, error = item.get("result"), item.get("error")
    said = result.get("content") if isinstance(result, dict) else None
    texts = [p.get("text", p) if isinstance(p, dict) else p for p in said] if isinstance(said, list) else []
    back = text_of(error.get("message")) if isinstance(error, dict) else "\n".join(map(text_of, texts))
    return f"{item.get('server')}__{item.get('tool')}", text_of(item.get("arguments")), back


def _other(item: dict[str, Any]) -> _Call:
    """Another thread: it is started, told something, or waited for."""
    threads = item.get("receiver_thread_ids")
    target = threads[0] if isinstance(threads, list) and threads else None
    states = item.get("agents_states")
    return str(item.get("tool")), {"message": item.get("prompt"), "target": target}, text_of(states) if states else None


_CALLS = {
    "command_execution": _command,
    "file_change": _change,
    "mcp_tool_call": _mcp,
    "web_search": lambda item: ("web_search", text_of(item.get("query")), None),
    "todo_list": lambda item: ("update_plan", text_of(item.get("items")), None),
    "collab_tool_call": _other,
}


ADAPTER = _CodexExec()
