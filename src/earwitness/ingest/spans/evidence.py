"""What a span says of other traces: ids of conversations, tasks and runs, contexts that were passed on."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from earwitness.ingest.spans.span import Span
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
_RUNTIMES = ("autogen ", "agent_runtime ")


class Member(NamedTuple):
    """Who takes part in a run: the id of the run, and the name that bears it."""

    run: str
    name: str


def conversation_of(span: Span) -> str | None:
    """The id of the conversation, session or thread that a span belongs to."""
    places = [span.attributes, *(e.attributes for e in span.events if span.log)]
    for attributes in places:
        found = None if _CONVERSATION_KEYS.isdisjoint(attributes) else _first(attributes, _CONVERSATION)
        if not found and "metadata" in attributes:
            inside = _object(attributes["metadata"])
            found = None if _INSIDE_KEYS.isdisjoint(inside) else _first(inside, _INSIDE)
        if found:
            return found
    return None


def tasks_of(span: Span) -> dict[str, str]:
    """Ids of the A2A task and context that a span names."""
    found = ((_TASK.fullmatch(key), value) for key, value in span.attributes.items() if "a2a" in key)
    return {match[1]: value for match, value in found if match and isinstance(value, str) and value}


def contexts_of(span: Span) -> Iterator[tuple[str, str]]:
    """Trace and span of every `traceparent` among the attributes and in metadata."""
    for key, value in span.attributes.items():
        if value and _carries(key):
            text = as_text(value)
            if "traceparent" in key.lower() or "traceparent" in text.lower():
                yield from ((match[1], match[2]) for match in _TRACEPARENT.finditer(text[:_CARRIED]))


@lru_cache(maxsize=4096)
def _carries(key: str) -> bool:
    return "traceparent" in key.lower() or _CARRIERS.fullmatch(key) is not None


def member_of(span: Span) -> Member | None:
    """The run in whose name a runtime between actors delivered a message, or an agent was asked."""
    address = span.attributes.get("messaging.destination")
    if not isinstance(address, str) and span.name.startswith(_RUNTIMES):
        address = span.name.rpartition(" ")[2]
    match = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
    if match:
        return Member(match[2], match[1] or "")
    name, agent = span.attributes.get("gen_ai.agent.name"), span.attributes.get("gen_ai.agent.id")
    if isinstance(name, str) and isinstance(agent, str) and name and agent.startswith(name):
        match = _OF_TEAM.fullmatch(agent, len(name))
    return Member(match[1], str(name)) if match else None


def agents_of(span: Span) -> list[str]:
    """What tells an agent from others: its id, and its name within the process."""
    agent, name = span.attributes.get("gen_ai.agent.id"), span.attributes.get("gen_ai.agent.name")
    process = span.resource.get("service.instance.id")
    keys = [f"id {agent}"] if isinstance(agent, str) and agent else []
    named = isinstance(name, str) and name and isinstance(process, str) and process
    return [*keys, f"in {process}: {name}"] if named else keys


def makes_agent(span: Span) -> bool:
    """Whether a span is no step of a run but the making of an agent."""
    return span.attributes.get("gen_ai.operation.name") == "create_agent"


def _first(values: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((v for k in keys if isinstance(v := values.get(k), str) and v.strip()), None)


def _object(value: Any) -> dict[str, Any]:
    """What may hold an id of a conversation; most metadata does not, and need not be read."""
    if isinstance(value, str) and not _ID_INSIDE.search(value):
        return {}
    inner = loads(value) if isinstance(value, str) else value
    return inner if isinstance(inner, dict) else {}
