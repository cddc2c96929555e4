"""What a span says of other traces: ids of conversations, tasks and runs, contexts that were passed on."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from earwitness.ingest.spans.span import KINDS, Span
from earwitness.ingest.spans.texts import as_text, loads

_CONVERSATION = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "gcp.vertex.agent.session_id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.threadId",
    "langsmith.metadata.thread_id",
    "conversation_id",
    "session_id",
    "thread_id",
)
_INSIDE = ("conversation_id", "session_id", "thread_id", "conversationId", "sessionId", "threadId")
_CONVERSATION_KEYS, _INSIDE_KEYS = frozenset(_CONVERSATION), frozenset(_INSIDE)
_ID_INSIDE = re.compile("|".join(_INSIDE))
_TASK = re.compile(r"(?:.*[._])?a2a[._](?:.*[._])?(task|context)[._]?id")
# Where a context is passed on. Elsewhere the word stands in contents, which may quote anything.
_CARRIERS = re.compile(r"(?:.*[._])?(?:metadata|meta|_meta|headers?|carrier|context|message_context)", re.IGNORECASE)
_TRACEPARENT = re.compile(r"\b[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}\b")
_CARRIED = 1 << 16
_ID = r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# Runtimes between actors name a topic or an agent `<type>_<id of the team>.(<key>)-T`.
_ADDRESS = re.compile(rf"(?:(.+)_)?({_ID})\.\([^()]*\)-[AT]")
_OF_TEAM = re.compile(rf"_({_ID})(?:/.*)?")
_DESTINATION, _AGENT, _AGENT_ID = "messaging.destination", "gen_ai.agent.name", "gen_ai.agent.id"
_OPERATION = "gen_ai.operation.name"
_TELLING = _CONVERSATION_KEYS | {"metadata", _DESTINATION, _AGENT, _AGENT_ID, _OPERATION}
_RUNTIMES = ("autogen ", "agent_runtime ")


class Member(NamedTuple):
    """Who takes part in a run: the id of the run, and the name that bears it."""

    run: str
    name: str


def may_tell(span: Span) -> bool:
    """Whether a span may say any of this: most of what is no agent's does not."""
    return bool(span.links or span.log) or _may(tuple(span.attributes)) or span.name.startswith(_RUNTIMES)


@lru_cache(maxsize=KINDS)
def _may(keys: tuple[str, ...]) -> bool:
    return not _TELLING.isdisjoint(keys) or bool(_carriers(keys))


def conversation_of(span: Span) -> str | None:
    """The id of the conversation, session or thread that a span belongs to."""
    found = _conversation_in(span.attributes)
    if found or not span.log:
        return found
    return next(filter(None, (_conversation_in(e.attributes) for e in span.events)), None)


def _conversation_in(attributes: dict[str, Any]) -> str | None:
    found = None if _CONVERSATION_KEYS.isdisjoint(attributes) else _first(attributes, _CONVERSATION)
    if not found and "metadata" in attributes:
        inside = _object(attributes["metadata"])
        found = None if _INSIDE_KEYS.isdisjoint(inside) else _first(inside, _INSIDE)
    return found


def tasks_of(span: Span) -> dict[str, str]:
    """Ids of the A2A task and context that a span names."""
    found = ((word, span.attributes[key]) for key, word in _tasks(tuple(span.attributes)))
    return {word: value for word, value in found if isinstance(value, str) and value}


@lru_cache(maxsize=KINDS)
def _tasks(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Which of the attributes of a kind of span name a task or a context, and which of the two."""
    found = ((key, _TASK.fullmatch(key)) for key in keys if "a2a" in key)
    return tuple((key, match[1]) for key, match in found if match)


def contexts_of(span: Span) -> Iterator[tuple[str, str]]:
    """Trace and span of every `traceparent` among the attributes and in metadata."""
    for key in _carriers(tuple(span.attributes)):
        if value := span.attributes[key]:
            text = as_text(value)
            if "traceparent" in key.lower() or "traceparent" in text.lower():
                yield from ((match[1], match[2]) for match in _TRACEPARENT.finditer(text[:_CARRIED]))


@lru_cache(maxsize=KINDS)
def _carriers(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the attributes of a kind of span that may hold a context."""
    return tuple(key for key in keys if _carries(key))


@lru_cache(maxsize=4096)
def _carries(key: str) -> bool:
    return "traceparent" in key.lower() or _CARRIERS.fullmatch(key) is not None


def member_of(span: Span) -> Member | None:
    """The run in whose name a runtime between actors delivered a message, or an agent was asked."""
    address = span.attributes.get(_DESTINATION)
    if not isinstance(address, str) and span.name.startswith(_RUNTIMES):
        address = span.name.rpartition(" ")[2]
    match = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
    if match:
        return Member(match[2], match[1] or "")
    name, agent = span.attributes.get(_AGENT), span.attributes.get(_AGENT_ID)
    if isinstance(name, str) and isinstance(agent, str) and name and agent.startswith(name):
        match = _OF_TEAM.fullmatch(agent, len(name))
    return Member(match[1], str(name)) if match else None


def agents_of(span: Span) -> list[str]:
    """What tells an agent from others: its id, and its name within the process."""
    agent, name = span.attributes.get(_AGENT_ID), span.attributes.get(_AGENT)
    process = span.resource.get("service.instance.id")
    keys = [f"id {agent}"] if isinstance(agent, str) and agent else []
    named = isinstance(name, str) and name and isinstance(process, str) and process
    return [*keys, f"in {process}: {name}"] if named else keys


def makes_agent(span: Span) -> bool:
    """Whether a span is no step of a run but the making of an agent."""
    return span.attributes.get(_OPERATION) == "create_agent"


def _first(values: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:  # a plain loop: most spans are asked
        value = values.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _object(value: Any) -> dict[str, Any]:
    """What may hold an id of a conversation; most metadata does not, and need not be read."""
    if isinstance(value, str) and not _ID_INSIDE.search(value):
        return {}
    inner = loads(value) if isinstance(value, str) else value
    return inner if isinstance(inner, dict) else {}
