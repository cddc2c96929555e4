"""AutoGen's runtime: one span a delivery, with sender, recipient and the message as JSON. Each delivery is a trace."""

import re
from collections.abc import Iterator
from typing import Any

from earwitness.ingest.spans.facts import Facts, Message, Part
from earwitness.ingest.spans.identity import clean_name
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import as_text, loads

NAME = "autogen"
PRIORITY = 45
KEYS = frozenset(("recipient_agent_type",))

_UUID = re.compile(r"_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_NO_MESSAGE = ("No Message", "Message could not be serialized", "")


def matches(span: Span) -> bool:
    """A delivery names the type of its recipient and holds a message."""
    return isinstance(span.get("message"), str) and "recipient_agent_type" in span.attributes


def facts(span: Span) -> Facts:
    """What a delivery says; a manager passes messages on and reads none."""
    agent = None if _is_manager(span) else _actor(span.get("recipient_agent_type"))
    text = str(span.get("message"))
    sender = _actor(span.get("sender_agent_type"))
    message = None if text in _NO_MESSAGE or span.name.endswith("ack") else loads(text) or text
    return Facts(
        dialect=NAME,
        role="other",
        agent=agent,
        rung="attribute" if agent else None,
        received=tuple(_messages(message, sender)) if message else (),
    )


def _is_manager(span: Span) -> bool:
    return "Manager" in str(span.get("recipient_agent_class")) or "Orchestrator" in str(
        span.get("recipient_agent_class")
    )


def _actor(value: Any) -> str | None:
    """The name of an actor without the id that a team adds to it."""
    return clean_name(_UUID.sub("", value)) if isinstance(value, str) else None


def _messages(value: Any, sender: str | None) -> Iterator[Message]:
    if isinstance(value, list):
        for item in value:
            yield from _messages(item, sender)
    elif not isinstance(value, dict):
        yield Message("assistant", (Part("text", as_text(value)),), name=sender)
    elif "source" in value and "content" in value:
        yield _message(value)
    else:
        yield from _enveloped(value, sender)


def _enveloped(value: dict[str, Any], sender: str | None) -> Iterator[Message]:
    inner = [
        value[key] for key in ("messages", "message", "response", "chat_message", "inner_messages") if value.get(key)
    ]
    for item in inner:
        yield from _messages(item, sender)
    if not inner and value:  # a message type of the program's own
        role = "assistant" if sender else "user"
        yield Message(role, tuple(Part("text", text) for text in value.values() if isinstance(text, str)), name=sender)


def _message(value: dict[str, Any]) -> Message:
    content, source = value["content"], clean_name(value["source"])
    role = "user" if source == "user" else "assistant"
    rows = content if isinstance(content, list) else [content]
    return Message(role, tuple(_part(row) for row in rows), name=source)


def _part(row: Any) -> Part:
    if isinstance(row, dict) and "arguments" in row and "name" in row:
        return Part("tool_call", as_text(row["arguments"]), clean_name(row.get("id")), clean_name(row["name"]))
    if isinstance(row, dict) and "call_id" in row:
        return Part(
            "tool_response", as_text(row.get("content")), clean_name(row["call_id"]), clean_name(row.get("name"))
        )
    return Part("text", as_text(row))
