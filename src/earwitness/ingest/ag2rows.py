"""Rows of AG2's runtime logging, from its SQLite tables and from its log files, in one shape."""

from typing import Any, NamedTuple

from earwitness.ingest.record import Place
from earwitness.ingest.spans.texts import loads
from earwitness.ingest.tale import named, said

EMPTY, BROKEN = "table definition", "broken"
IGNORED = {"model client", "log version", "reply function"}
_NOWHERE = Place(0, 0, 0)
_TABLES = {"chat_completions", "agents", "oai_wrappers", "oai_clients", "version", "events", "function_calls"}
# What a row of each kind must have; the first that fits names it.
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("event", ("event_name", "source_name", "json_state", "agent_module")),
    ("completion", ("invocation_id", "wrapper_id", "request", "response")),
    ("function", ("function_name", "source_name", "args", "returns")),
    ("function", ("agent_module", "source_name", "input_args", "returns")),
    ("agent", ("agent_id", "wrapper_id", "session_id", "init_args")),
    ("agent", ("agent_name", "wrapper_id", "session_id", "agent_type")),
    ("model client", ("client_id", "wrapper_id", "session_id", "class")),
    ("model client", ("wrapper_id", "session_id", "init_args")),
    ("model client", ("wrapper_id", "session_id", "json_state")),
)
# One of these every row has, whatever its kind: most records of other formats have neither.
_EVERY = frozenset(("source_name", "wrapper_id"))
_TIMES = ("timestamp", "start_time", "current_time")


class Row(NamedTuple):
    """A row of the log: what kind it is, of whom, when, and its state decoded."""

    kind: str
    value: dict[str, Any]
    name: str | None
    time: str
    state: Any = None
    broken: bool = False
    place: Place = _NOWHERE
    order: int = 0

    @property
    def session(self) -> str | None:
        """The session it names itself."""
        return named(self.value.get("session_id"))


def row_of(value: Any) -> Row | None:
    """A record as a row; None for records of other formats."""
    if not isinstance(value, dict):
        return None
    if str(value.get("_table")) in _TABLES and isinstance(value.get("_schema"), str):
        return Row(EMPTY, value, None, "")
    kind = _kind(value)
    if kind is None:
        return None
    if kind == "event":
        state = value.get("json_state")
        decoded = loads(state) if isinstance(state, str) else state
        kind = kind if value.get("event_name") == "received_message" else "reply function"
        return Row(kind, value, named(value["source_name"]), _time(value), decoded, not isinstance(decoded, dict))
    name = value.get("source_name", value.get("agent_name", value.get("name")))
    return Row(kind, value, named(name), _time(value))


def _kind(value: dict[str, Any]) -> str | None:
    if value.get("_table") == "version" and "version_number" in value:
        return "log version"
    keys = value.keys()
    if _EVERY.isdisjoint(keys):
        return None
    return next((kind for kind, needed in _KINDS if all(key in keys for key in needed)), None)


def _time(value: dict[str, Any]) -> str:
    return next((str(value[key]) for key in _TIMES if value.get(key)), "")


def shown(row: Row) -> list[tuple[int, str, str]]:
    """What the model was given in a completion: number, role and text of each message that is not its own."""
    request = row.value.get("request")
    request = loads(request) if isinstance(request, str) else request
    messages = request.get("messages") if isinstance(request, dict) else None
    found = [(n, m) for n, m in enumerate(messages if isinstance(messages, list) else ()) if isinstance(m, dict)]
    texts = [(n, str(m.get("role")), said(m.get("content"))) for n, m in found if m.get("role") != "assistant"]
    return [(n, role, text) for n, role, text in texts if text is not None]
