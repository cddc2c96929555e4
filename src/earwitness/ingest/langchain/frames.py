"""One record of a LangGraph stream, whichever version and dump it is of."""

import re
from dataclasses import dataclass
from typing import Any

from earwitness.ingest.langchain import names
from earwitness.ingest.langchain.eventbook import is_event
from earwitness.ingest.langchain.messages import read_message

MODES = {"values", "updates", "messages", "custom", "checkpoints", "tasks", "debug"}
_V3 = MODES | {"lifecycle", "tools", "input", "error"}
_SERVER = MODES | {
    "metadata",
    "messages-tuple",
    "messages/partial",
    "messages/complete",
    "messages/metadata",
    "events",
    "error",
    "end",
}
_NODE = re.compile(r"[A-Za-z_][\w .-]{0,80}")
_DEBUG = {"checkpoint", "task", "task_result"}


@dataclass
class Frame:
    """A record: its mode, where in the graph, and the data of the mode.

    Attributes:
        bare: nothing said where in the graph; the recording cannot hold nested graphs.
    """

    mode: str
    ns: list[str]
    data: Any
    time: Any = None
    thread: str | None = None
    run: str | None = None
    bare: bool = False


def sniff(value: Any) -> bool:
    """Whether a record is of a LangGraph stream."""
    if isinstance(value, list):
        return _is_tuple(value)
    return isinstance(value, dict) and _shape(value) not in (None, "updates")


def sniff_update(value: Any) -> bool:
    """Whether a record could be a bare update: one node, and what it returned."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((node, data),) = value.items()
    return _is_update(value) or (_NODE.fullmatch(node) is not None and (data is None or isinstance(data, dict)))


def is_update(value: Any) -> bool:
    """Whether a record is a bare update for certain."""
    return isinstance(value, dict) and _is_update(value)


def _is_tuple(value: list[Any]) -> bool:
    """`[namespace, mode, data]` or `[mode, data]`."""
    if len(value) == 3:
        return isinstance(value[0], list) and all(isinstance(n, str) for n in value[0]) and _is_mode(value[1])
    return len(value) == 2 and _is_mode(value[0]) and isinstance(value[1], dict | list)


def _is_mode(value: Any) -> bool:
    return _within(value, MODES)


def _within(value: Any, words: set[str]) -> bool:
    return isinstance(value, str) and value in words


def _shape(value: dict[str, Any]) -> str | None:
    if value.get("type") == "event" and _within(value.get("method"), _V3) and isinstance(value.get("params"), dict):
        return "v3" if "namespace" in value["params"] else None
    if "ns" in value and "data" in value and isinstance(value["ns"], list):
        return _ns_shape(value)
    if "event" in value and "data" in value and isinstance(value["event"], str):
        return "server" if _is_server(value) else None
    if _is_debug(value):
        return "debug"
    return "updates" if _is_update(value) else None


def _ns_shape(value: dict[str, Any]) -> str | None:
    if _is_mode(value.get("mode")):
        return "v1"
    if _is_mode(value.get("type")):
        return "v2"
    inner = value["data"]
    known = isinstance(inner, dict) and (_is_debug(inner) or _is_update(inner))
    return "ns" if known else None


def _is_debug(value: dict[str, Any]) -> bool:
    return _within(value.get("type"), _DEBUG) and "step" in value and isinstance(value.get("payload"), dict)


def _is_server(value: dict[str, Any]) -> bool:
    head, _, rest = value["event"].partition("|")
    if head not in _SERVER or not value.keys() <= {"id", "event", "data"}:
        return False
    data = value["data"]
    if head == "metadata":
        return isinstance(data, dict) and "run_id" in data
    if head == "events":
        return is_event(data)
    if head == "end":
        return data is None and "id" in value
    if head == "error":
        return isinstance(data, dict) and isinstance(data.get("error"), str) and isinstance(data.get("message"), str)
    return bool(rest) or head in MODES or head.startswith("messages")


def _is_update(value: dict[str, Any]) -> bool:
    """`{node: {"messages": [...]}}`, or an interrupt. Weak, so the messages must be LangChain's."""
    if len(value) != 1:
        return False
    ((node, data),) = value.items()
    if node == "__interrupt__":
        return isinstance(data, list)
    messages = data.get("messages") if isinstance(data, dict) else None
    if not isinstance(messages, list) or not messages or isinstance(messages[0], list):
        return False
    return read_message(messages[0]) is not None


def read(value: Any) -> Frame | None:
    """The frame of a record."""
    if isinstance(value, list):
        return _of_tuple(value)
    shape = _shape(value)
    if shape == "v1":
        return _framed(value["mode"], value["ns"], value["data"])
    if shape == "v2":
        return _framed(value["type"], value["ns"], value["data"])
    if shape == "v3":
        params = value["params"]
        return _framed(value["method"], params["namespace"], params.get("data"), params.get("timestamp"))
    if shape == "ns":
        inner = value["data"]
        return _framed("debug" if _is_debug(inner) else "updates", value["ns"], inner)
    if shape == "server":
        return _of_server(value)
    if shape == "debug":
        return _framed("debug", [], value)
    return Frame("updates", [], value, bare=True) if shape else None


def _of_tuple(value: list[Any]) -> Frame:
    if len(value) == 3:
        return _framed(value[1], value[0], value[2])
    frame = _framed(value[0], [], value[1])
    frame.bare = True
    return frame


def _of_server(value: dict[str, Any]) -> Frame:
    head, *ns = value["event"].split("|")
    frame = _framed(head, ns, value["data"])
    if head == "metadata":
        frame.run = str(value["data"]["run_id"])
    return frame


def _framed(mode: str, ns: Any, data: Any, time: Any = None) -> Frame:
    """With what the data themselves say of time and thread."""
    if mode == "debug" and isinstance(data, dict):
        time, kind = data.get("timestamp"), data.get("type")
        mode = {"checkpoint": "checkpoints"}.get(str(kind), "tasks")
        data = data.get("payload")
    place = [str(n) for n in ns] if isinstance(ns, list) else []
    return Frame(mode, place, data, time, thread_of(mode, data))


def thread_of(mode: str, data: Any) -> str | None:
    """The thread that the metadata of a message or an event, or the configuration of a checkpoint names."""
    where: Any = None
    if mode.startswith("messages") and isinstance(data, list) and len(data) == 2:
        where = data[1]
    elif mode == "checkpoints" and isinstance(data, dict) and isinstance(data.get("config"), dict):
        where = data["config"].get("configurable")
    elif mode == "events" and isinstance(data, dict):
        where = data.get("metadata")
    found = where.get("thread_id") if isinstance(where, dict) else None
    return found if isinstance(found, str) and found else None


def agent_in(ns: list[str], metadata: Any) -> str | None:
    """The agent that streams a message: what its metadata says, or the graph it comes from."""
    return names.of_metadata(metadata) or names.owner(ns)
