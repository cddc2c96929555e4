"""A first mapping file for a JSON trace nobody knows: guesses from names, for a person to correct."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from earwitness.schema.words import CHANNELS

# Names that recorders use for a field, best first.
_NAMES: dict[str, tuple[str, ...]] = {
    "trace": (
        "trace_id",
        "traceId",
        "run_id",
        "runId",
        "session_id",
        "sessionId",
        "conversation_id",
        "thread_id",
        "trace",
    ),
    "channel": ("channel", "type", "event_type", "eventType", "event", "kind", "category"),
    "content": ("content", "text", "message", "body", "output", "payload", "data", "value"),
    "sender": ("sender", "source", "from", "author", "agent", "agent_name", "actor", "speaker", "role", "name"),
    "to": ("recipient", "recipients", "target", "to", "receiver", "destination"),
    "id": ("id", "event_id", "eventId", "message_id", "uuid"),
    "parent": ("parent_id", "parentId", "parent", "parent_uuid"),
    "time": ("timestamp", "time", "ts", "created_at", "createdAt", "date"),
}
_GUESSES = (
    ("C1", ("final", "answer", "reply", "user_message", "response")),
    ("C2", ("message", "handoff", "delegat", "agent", "transfer", "chat")),
    ("C4", ("tool_result", "tool_output", "tool_response", "observation", "function_response")),
    ("C3", ("tool", "function", "action", "call")),
    ("C5", ("memory", "state", "blackboard", "store")),
    ("C7", ("artifact", "file", "document")),
    ("C6", ("log", "thought", "reason", "debug", "error", "trace")),
)
_MANY = 30


def draft(values: list[dict[str, Any]]) -> str:
    """A mapping file for records like these. It quotes names of keys and of event types, never content."""
    each = _events_key(values)
    events = [e for v in values for e in (v.get(each) or [] if each else [v]) if isinstance(e, dict)]
    keys = Counter(key for e in events for key in e)
    outer = Counter(key for v in values for key in v)
    fields = {field: _best(names, keys) for field, names in _NAMES.items()}
    fields["trace"] = fields["trace"] or _best(_NAMES["trace"], outer)
    channels = ["", "[channels]", *_channels(events, fields["channel"])]
    return "\n".join([*_records(each), "[event]", *_lines(fields), *channels]) + "\n"


def _events_key(values: list[dict[str, Any]]) -> str | None:
    """The key under which records hold lists of objects, if most of them do."""
    lists = Counter(k for v in values for k, x in v.items() if isinstance(x, list) and x and isinstance(x[0], dict))
    return next((key for key, n in lists.most_common(1) if n * 2 >= len(values)), None)


def _best(names: tuple[str, ...], keys: Counter[str]) -> str | None:
    return next((n for n in names if n in keys), None)


def _records(each: str | None) -> list[str]:
    return ["[records]", f'each = "{_quoted(each)}[]"', ""] if each else []


def _quoted(key: str) -> str:
    return key if key.replace("_", "a").isalnum() else f"'{key}'"


def _lines(fields: dict[str, str | None]) -> Iterator[str]:
    for field, key in fields.items():
        if key:
            yield f'{field} = "{_quoted(key)}"'
        elif field in ("channel", "content"):
            yield f'{field} = "?"  # required: the expression that finds it'
        else:
            yield f'# {field} = "..."'


def _channels(events: list[dict[str, Any]], key: str | None) -> Iterator[str]:
    """Every event type seen, with a guess; short plain words only, so that no content is quoted."""
    kinds = Counter(str(e.get(key)) for e in events) if key else Counter()
    for kind, n in kinds.most_common(_MANY):
        if len(kind) <= 40 and kind.replace("_", "a").replace("-", "a").replace(".", "a").isalnum():
            yield f'"{kind}" = "{_guess(kind)}"  # {n} seen'


def _guess(kind: str) -> str:
    if kind in CHANNELS:
        return kind
    low = kind.lower()
    return next((channel for channel, marks in _GUESSES if any(m in low for m in marks)), "ignore")
