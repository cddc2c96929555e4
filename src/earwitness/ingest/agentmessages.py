"""AutoGen's agentchat messages one by one: which types there are, and what stands in them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from earwitness.ingest.record import Place
from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.spans.texts import loads
from earwitness.ingest.tale import listed
from earwitness.schema.model import Delivery

SPOKEN = {
    "TextMessage",
    "StopMessage",
    "MultiModalMessage",
    "StructuredMessage",
    "ToolCallSummaryMessage",
    "HandoffMessage",
}
CHUNK = "ModelClientStreamingChunkEvent"
ROUTING = {"SelectSpeakerEvent"}
EVENTS = {
    "ToolCallRequestEvent",
    "ToolCallExecutionEvent",
    "ThoughtEvent",
    "MemoryQueryEvent",
    "SelectorEvent",
    "CodeGenerationEvent",
    "CodeExecutionEvent",
    "UserInputRequestedEvent",
    CHUNK,
    *ROUTING,
}
Message = dict[str, Any]


def is_message(value: Any) -> bool:
    """Whether a value is an agentchat message or event."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("source"), str)
        and ("models_usage" in value or "metadata" in value)
        and isinstance(value.get("type"), str)
        and (value["type"] in EVENTS or is_spoken(value["type"]))
    )


def is_spoken(kind: str) -> bool:
    """Whether messages of a type are said to the team (a structured one names its model in brackets)."""
    return kind in SPOKEN or kind.startswith("StructuredMessage[")


@dataclass
class Call:
    """A tool call that was asked for."""

    id: str
    name: str
    caller: str | None
    arguments: str
    place: Place
    time: Any
    seen: bool = False

    @property
    def task(self) -> Any:
        """The words an agent that is used as a tool is given."""
        given = loads(self.arguments)
        return given.get("task") if isinstance(given, dict) else None


def parts_of(message: Message) -> list[dict[str, Any]]:
    """The calls or results of an event."""
    return [part for part in listed(message.get("content")) if isinstance(part, dict)]


def handed_over(results: list[dict[str, Any]], handoff: Message) -> set[str]:
    """The call a handoff came from: its result is the handoff's text, its name commonly the target's."""
    same = [r for r in results if r.get("content") == handoff.get("content") and r.get("call_id")]
    target = str(handoff.get("target", "")).lower()
    best = [r for r in same if str(r.get("name", "")).lower().endswith(target)] or same
    return {str(r["call_id"]) for r in best[:1]}


def context_of(handoff: Message) -> Iterator[tuple[int, str, str | None]]:
    """Texts that a handoff carries from the turn it ended, with the events they are of: thoughts, calls, results."""
    for n, item in enumerate(listed(handoff.get("context"))):
        if not isinstance(item, dict):
            continue
        content = item.get("content")
        parts = [p for p in content if isinstance(p, dict)] if isinstance(content, list) else [item]
        texts = [(item.get("thought"), None), *((p.get("arguments") or p.get("content"), _event_of(p)) for p in parts)]
        yield from ((n, text, key) for text, key in texts if isinstance(text, str) and text.strip())


def _event_of(part: dict[str, Any]) -> str | None:
    """The event of a call or of its result."""
    if part.get("call_id"):
        return f"{part['call_id']}:result"
    return str(part["id"]) if part.get("id") and "arguments" in part else None


def one_hearer(name: str | None, *, agent: bool = False) -> tuple[Delivery, ...]:
    """The delivery to one party, if its name is known."""
    return (Delivery(name, "structural" if agent else "declared"),) if name else ()


def snake(name: str) -> str:
    """The kind of an event from the name of its class."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name.removesuffix("Event")).lstrip("_")


def result_of(message: Message) -> dict[str, Any]:
    """What code gave back; empty where it is none."""
    result = message.get("result")
    return result if isinstance(result, dict) else {}


def is_unmade(failed: dict[str, Any], arguments: Any) -> bool:
    """Whether a call was not made: its arguments do not fit the function, are no JSON, or something else forbade it.

    The library makes a model of the arguments, named after the function, before it calls that.
    """
    words, name = str(failed.get("content")), re.escape(str(failed.get("name")))
    unfit = re.match(rf"\d+ validation errors? for {name}args\n", words)
    return is_refusal(words) or unfit is not None or words == f"Error: {_no_json(arguments)}"


def _no_json(arguments: Any) -> str | None:
    """What Python says of a text that is no JSON."""
    try:
        json.loads(arguments)
    except (TypeError, ValueError) as error:
        return str(error)
    return None
