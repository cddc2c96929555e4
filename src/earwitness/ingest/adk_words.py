"""Google ADK's vocabulary: keys in two spellings, names of built-in tools, scopes of state."""

from functools import cache
from typing import Any

from earwitness.schema.words import Channel

# Calls that no tool gets: the runtime asks the user. What is answered to the first two is kept from models.
CONFIRM, CREDENTIAL, INPUT = "adk_request_confirmation", "adk_request_credential", "adk_request_input"
ASKED, SILENT = (CONFIRM, CREDENTIAL, INPUT), (CONFIRM, CREDENTIAL)
TRANSFER, MEMORY, CODE = "transfer_to_agent", "memory", "code_executor"
MEMORY_TOOLS = ("load_memory", "preload_memory")
# An event in which none of these says anything is a mark of the runtime.
MEANT = (
    "content",
    "actions",
    "errorCode",
    "errorMessage",
    "output",
    "inputTranscription",
    "outputTranscription",
    "groundingMetadata",
)
# What a database of the first schema shows: its actions are pickled, and a pickle is never opened.
WITHOUT_ACTIONS: tuple[Channel, ...] = ("C1", "C2", "C3", "C4", "C6")


def get(value: Any, key: str) -> Any:
    """A field by its camelCase name, in either spelling."""
    if not isinstance(value, dict):
        return None
    found = value.get(key)
    return value.get(snake(key)) if found is None else found


def inner(value: Any, key: str) -> dict[str, Any]:
    """A field that is an object; an empty one where it is none."""
    found = get(value, key)
    return found if isinstance(found, dict) else {}


def name_of(value: Any, key: str) -> str | None:
    """A field that is a name or an id."""
    found = get(value, key)
    return found if isinstance(found, str) and found else None


def either(*keys: str) -> frozenset[str]:
    """Names in both spellings: what holds none of them, as most events do, need not be asked for each."""
    return frozenset({*keys, *map(snake, keys)})


@cache
def snake(key: str) -> str:
    """`invocationId` as `invocation_id`."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in key)


_WORK = ("executableCode", "codeExecutionResult", "toolResponse")
_RUN, _ALOUD = either(*_WORK), either("inputTranscription", "outputTranscription")
_GROUNDED = either("groundingMetadata")
# What is work in a part, and not words; what few events have.
WORK = either("functionCall", "functionResponse", "inlineData", "fileData", "toolCall", *_WORK)
RARE = either("errorCode", "errorMessage", "nodeInfo")


def means(value: Any) -> bool:
    """Whether a field says anything: empty deltas are written with every event."""
    return any(map(means, value.values())) if isinstance(value, dict) else value not in (None, [], "", False)


def parts_of(content: Any) -> list[dict[str, Any]]:
    """The parts of a content."""
    parts = get(content, "parts")
    return [p for p in parts if isinstance(p, dict)] if isinstance(parts, list) else []


def text_of(content: Any, *, thought: bool = False, glue: str = "\n") -> str:
    """The words of a content, or its visible thoughts."""
    return glue.join(texts_of(parts_of(content), thought=thought))


def texts_of(parts: list[dict[str, Any]], *, thought: bool = False) -> list[str]:
    """The words of parts, or their visible thoughts."""
    return [p["text"] for p in parts if isinstance(p.get("text"), str) and bool(p.get("thought")) is thought]


def words_of(parts: list[dict[str, Any]]) -> tuple[str, str]:
    """The words of parts, and their visible thoughts."""
    words, thoughts = list[str](), list[str]()
    for part in parts:
        text = part.get("text")
        if isinstance(text, str):
            (thoughts if part.get("thought") else words).append(text)
    return "\n".join(words), "\n".join(thoughts)


def done(event: dict[str, Any]) -> dict[str, Any]:
    """The actions of an event that say anything: empty ones are written with every event."""
    actions = event.get("actions")
    return actions if isinstance(actions, dict) and any(actions.values()) else {}


def concludes(parts: list[dict[str, Any]]) -> bool:
    """Whether words stand after code that was run, or a tool of the provider's, in the same event."""
    worked = any(inner(part, kind) for part in parts if not _RUN.isdisjoint(part) for kind in _WORK)
    return worked and isinstance(parts[-1].get("text"), str) and not parts[-1].get("thought")


def spoken(event: Any) -> Any:
    """An event of a live session with what was said aloud as its text."""
    if not isinstance(event, dict) or _ALOUD.isdisjoint(event):
        return event
    for key, author in (("inputTranscription", "user"), ("outputTranscription", event.get("author"))):
        text, content = get(get(event, key), "text"), event.get("content")
        if isinstance(text, str) and text and not text_of(content):
            parts = [*parts_of(content), {"text": text}]
            return {**event, "author": author, "content": {"role": "user", "parts": parts}}
    return event


def searched(event: dict[str, Any]) -> tuple[str, dict[str, Any], Any] | None:
    """What the provider searched for an answer: the tool, the queries, and what was found."""
    if _GROUNDED.isdisjoint(event):
        return None
    meta = inner(event, "groundingMetadata")
    found = get(meta, "groundingChunks")
    queries = {key: get(meta, key) for key in ("webSearchQueries", "imageSearchQueries", "retrievalQueries")}
    queries = {key: value for key, value in queries.items() if value}
    if not queries and not found:
        return None
    first = found[0] if isinstance(found, list) and found else None
    kept = "retrievalQueries" in queries or get(first, "retrievedContext") is not None
    return "retrieval" if kept else "google_maps" if get(first, "maps") is not None else "google_search", queries, found


def agents_above(event: dict[str, Any]) -> list[str]:
    """The agents in the path of an event's node, `desk@1/clerk@2`, above the node itself, which may be a function."""
    path = inner(event, "nodeInfo").get("path")
    return [step.partition("@")[0] for step in path.split("/")[:-1]] if isinstance(path, str) else []


def store_of(key: str) -> str:
    """The store a state key belongs to: the session's own, or that of the user or the app."""
    scope = key.partition(":")[0]
    return f"{scope}:state" if ":" in key and scope in ("app", "user", "temp") else "state"
