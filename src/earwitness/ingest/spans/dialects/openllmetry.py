"""OpenLLMetry before the conventions had content: `gen_ai.prompt.N.*`, `gen_ai.completion.N.*`, `llm.prompts.N.*`."""

import re
from typing import Any

from earwitness.ingest.spans.facts import Facts, Message
from earwitness.ingest.spans.identity import agent_of
from earwitness.ingest.spans.messages import read_messages
from earwitness.ingest.spans.span import Span

NAME = "openllmetry"
PRIORITY = 70

_KEY = re.compile(r"(gen_ai\.prompt|gen_ai\.completion|llm\.prompts|llm\.completions)\.(\d+)\.(.+)")
_OUTPUTS = ("gen_ai.completion", "llm.completions")
KEYS, BEGINNINGS = frozenset[str](), ("gen_ai.prompt.", "gen_ai.completion.", "llm.prompts.", "llm.completions.")


def matches(span: Span) -> bool:
    """Messages flattened under a number."""
    return any(key.startswith(BEGINNINGS) and _KEY.fullmatch(key) for key in span.attributes)


def facts(span: Span) -> Facts:
    """What a span with flattened messages says."""
    agent, rung = agent_of(span, is_agent=False)
    return Facts(
        dialect=NAME,
        role="llm",
        agent=agent,
        rung=rung,
        inputs=_messages(span, outputs=False),
        outputs=_messages(span, outputs=True),
        conversation=span.text("gen_ai.conversation.id", "traceloop.association.properties.session_id"),
        model=span.text("gen_ai.response.model", "gen_ai.request.model", "llm.request.model"),
    )


def _messages(span: Span, *, outputs: bool) -> tuple[Message, ...]:
    rows: dict[int, dict[str, Any]] = {}
    for key, value in span.attributes.items():
        match = _KEY.fullmatch(key)
        if match and (match[1] in _OUTPUTS) is outputs:
            rows.setdefault(int(match[2]), {})[match[3]] = value
    role = "assistant" if outputs else "user"
    return tuple(m for n in sorted(rows) for m in read_messages(_message(rows[n], role), role))


def _message(row: dict[str, Any], role: str) -> dict[str, Any]:
    out: dict[str, Any] = {"role": role, "content": None}
    calls: dict[int, dict[str, Any]] = {}
    for key, value in row.items():
        first, _, rest = key.partition(".")
        number, _, field = rest.partition(".")
        if first in ("tool_calls", "function_call"):
            at = int(number) if number.isdecimal() else 0
            calls.setdefault(at, {})[field or rest] = value
        else:
            out[key] = value
    out["role"] = out["role"] if isinstance(out["role"], str) and out["role"] else role
    return out | ({"tool_calls": [calls[n] for n in sorted(calls)]} if calls else {})
