"""JSON-RPC 2.0 in logs: bare messages, messages one level down in a proxy's line, and which protocol they are of."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

from earwitness.ingest.record import Record, Skip, first_scalar
from earwitness.schema.model import Time

_INNER = ("msg", "body", "payload", "message", "data")
_TIMES = ("ts", "timestamp", "time")
_DIRECTIONS = ("dir", "direction")
_SESSIONS = ("session", "session_id", "sessionId", "mcp_session_id", "mcp-session-id", "connection", "connection_id")
# Which of a batch a part is, in the line that it was taken from.
_NUMBER = "_number"
_PEERS = ("server", "peer", "server_name", "url")
_A2A_METHODS = frozenset(
    (
        "SendMessage",
        "SendStreamingMessage",
        "GetTask",
        "ListTasks",
        "CancelTask",
        "SubscribeToTask",
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
        "GetExtendedAgentCard",
    )
)
_A2A_KINDS = frozenset(("message", "task", "status-update", "artifact-update"))
_A2A_RESULTS = ("task", "message", "statusUpdate", "artifactUpdate")


class Call(NamedTuple):
    """A JSON-RPC message and what the line around it says.

    Attributes:
        message: request, notification or answer.
        inner: JSON pointer of the message in its record.
        from_client: who sent it, where the line says so.
        peer: name or address of the server, where the line says so.
        session: which connection, where the line says so: ids are used again in the next.
    """

    message: dict[str, Any]
    inner: str = ""
    time: Time | None = None
    from_client: bool | None = None
    peer: str | None = None
    session: str | None = None


def batch_in(value: Any) -> tuple[str, list[Any]] | None:
    """The messages of a record that holds a batch, behind their JSON pointer, or None."""
    if isinstance(value, list):
        return ("", value) if _is_batch(value) else None
    for key in _INNER if isinstance(value, dict) else ():
        if _is_batch(value.get(key)):
            return f"/{key}", value[key]
    return None


def _is_batch(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and value[0].get("jsonrpc") == "2.0"


def parts_of(record: Record) -> Iterator[Record]:
    """The messages of a batch one by one, each with what the line around them says; any other record as it is."""
    value, place = record
    found = batch_in(value)
    if found is None:
        yield record
        return
    inner, messages = found
    for n, message in enumerate(messages):
        at = place.at(f"{inner}/{n}")
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            yield Record(Skip("unparseable", "a part of a batch that is no message", at), at)
        elif inner:
            yield Record({**value, inner[1:]: message, _NUMBER: n}, place)
        else:
            yield Record(message, at)


def message_in(value: Any) -> tuple[str, dict[str, Any]] | None:
    """The JSON-RPC message of a record behind its JSON pointer, or None."""
    if not isinstance(value, dict):
        return None
    if value.get("jsonrpc") == "2.0":
        return "", value
    for key in _INNER:
        inner = value.get(key)
        if isinstance(inner, dict) and inner.get("jsonrpc") == "2.0":
            return f"/{key}", inner
    return None


def unwrap(value: Any) -> Call | None:
    """The JSON-RPC message of a record with what the line around it says, or None."""
    found = message_in(value)
    if found is None:
        return None
    inner, message = found
    if not inner:
        return Call(message)
    session, at = first_scalar(value, _SESSIONS), f"{inner}/{value[_NUMBER]}" if _NUMBER in value else inner
    named = None if session is None else str(session)
    return Call(message, at, first_scalar(value, _TIMES), _from_client(value), _peer(value), named)


def _peer(value: dict[str, Any]) -> str | None:
    peer = first_scalar(value, _PEERS)
    return peer if isinstance(peer, str) and peer else None


def _from_client(value: dict[str, Any]) -> bool | None:
    way = str(first_scalar(value, _DIRECTIONS)).lower()
    return (
        True
        if way.startswith(("client", "c2s", "c->s"))
        else False
        if way.startswith(("server", "s2c", "s->c"))
        else None
    )


def is_a2a(message: dict[str, Any]) -> bool | None:
    """Whether a message is of A2A; None where it could be of any protocol (an error, an empty answer)."""
    method, result = message.get("method"), message.get("result")
    if isinstance(method, str):
        # Tasks of MCP go by `taskId`.
        params = message.get("params")
        task = method.startswith("tasks/") and not (isinstance(params, dict) and "taskId" in params)
        return (
            method.startswith(("message/", "agent/", "tasks/pushNotificationConfig/")) or method in _A2A_METHODS or task
        )
    if not isinstance(result, dict) or not result:
        return None
    return (
        str(result.get("kind")) in _A2A_KINDS
        or any(isinstance(result.get(k), dict) and not _is_mcp_task(k, result[k]) for k in _A2A_RESULTS)
        or {"id", "status"} <= result.keys()
        or {"name", "skills"} <= result.keys()
        or "pushNotificationConfig" in result
    )


def _is_mcp_task(key: str, task: dict[str, Any]) -> bool:
    """Tasks of A2A go by `id`, and their status is an object."""
    return key == "task" and "taskId" in task and isinstance(task.get("status"), str)


def log_name(name: str) -> str:
    """The name of a log without folder and endings: the only name its run has."""
    return PurePath(name.replace("!", "/")).name.split(".")[0] or "log"
