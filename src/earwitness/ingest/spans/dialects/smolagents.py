"""smolagents as OpenInference records it: a run is an agent's, and only its span's name says whose.

A step holds its state before and what the agent observes behind it: copies, for tools and answers have spans.
"""

import re

from earwitness.ingest.spans.facts import Facts, Message
from earwitness.ingest.spans.identity import clean_name
from earwitness.ingest.spans.messages import text_message
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import as_text, loads

NAME = "smolagents"
PRIORITY = 35

_OWN, _RUN = "smolagents.", ".run"
KEYS, BEGINNINGS = frozenset(("input.value",)), (_OWN,)
_STEP, _STATE = re.compile(r"Step \d+"), '{"memory_step"'


def matches(span: Span) -> bool:
    """A step, or attributes that only this framework's runs have."""
    if not span.name.endswith(_RUN):
        return _is_step(span)
    return any(key.startswith(_OWN) for key in span.attributes)


def facts(span: Span) -> Facts:
    """A run: the task that it was given, among other parameters, and the answer."""
    if _is_step(span):
        copies = tuple(as_text(span.attributes[k]) for k in ("input.value", "output.value") if k in span.attributes)
        return Facts(dialect=NAME, role="workflow", copies=copies)
    agent = clean_name(span.name.removesuffix(_RUN))
    answer = span.get("output.value")
    return Facts(
        dialect=NAME,
        role="agent",
        agent=agent,
        rung="span_name" if agent else None,
        inputs=_task(span.text("input.value")),
        outputs=(text_message(as_text(answer), "assistant"),) if answer is not None else (),
    )


def _is_step(span: Span) -> bool:
    state = span.get("input.value") if span.name.startswith("Step ") else None
    return isinstance(state, str) and state.startswith(_STATE) and _STEP.fullmatch(span.name) is not None


def _task(given: str | None) -> tuple[Message, ...]:
    parameters = loads(given) if given else None
    task = parameters.get("task") if isinstance(parameters, dict) else given
    return (text_message(task, "user"),) if isinstance(task, str) and task else ()
