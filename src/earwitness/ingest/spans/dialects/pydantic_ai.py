"""Pydantic-AI before the conventions' messages: `all_messages_events` and `events`, lists of message events."""

from typing import Any

from earwitness.ingest.spans.dialects.genai_events import read_body
from earwitness.ingest.spans.facts import Facts, Message
from earwitness.ingest.spans.identity import agent_of
from earwitness.ingest.spans.messages import text_message
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import as_text, loads

NAME = "pydantic-ai"
PRIORITY = 58

_ALL, _EVENTS = "all_messages_events", "events"
KEYS = frozenset((_ALL, _EVENTS, "agent_name"))


def matches(span: Span) -> bool:
    """One of the two lists of events, or a run that says what it gave."""
    return _ALL in span.attributes or _is_list(span.get(_EVENTS)) or ("agent_name" in span.attributes)


def facts(span: Span) -> Facts:
    """What a span of Pydantic-AI says."""
    is_agent = _ALL in span.attributes or span.name.endswith((" run", "agent run")) or "final_result" in span.attributes
    agent, rung = agent_of(span, is_agent=is_agent)
    told, choices = _conversation(span.get(_EVENTS))
    final = span.get("final_result")
    return Facts(
        dialect=NAME,
        role="agent" if is_agent else "llm" if told or choices else "other",
        agent=agent,
        rung=rung,
        inputs=tuple(m for m in told if m.role != "system"),
        outputs=choices or ((text_message(as_text(final), "assistant"),) if final is not None else ()),
        instructions=tuple(p.text for m in told if m.role == "system" for p in m.parts),
        transcript=sum(_conversation(span.get(_ALL)), ()),
        model=span.text("gen_ai.response.model", "gen_ai.request.model", "model_name"),
    )


def _is_list(value: Any) -> bool:
    rows = loads(value) if isinstance(value, str) else value
    return isinstance(rows, list) and any(isinstance(r, dict) and "event.name" in r for r in rows)


def _conversation(value: Any) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """What was shown, and what was said in answer."""
    rows = loads(value) if isinstance(value, str) else value
    told: list[Message] = []
    said: list[Message] = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            name = str(row.get("event.name") or "")
            (said if name == "gen_ai.choice" else told).extend(read_body(row, name))
    return tuple(told), tuple(said)
