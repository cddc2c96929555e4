"""LlamaIndex's own OpenTelemetry integration: steps of a workflow, whose events hold objects as Python `repr`."""

from earwitness.ingest.spans.facts import Facts
from earwitness.ingest.spans.span import Span

NAME = "llama-index"
PRIORITY = 75
KEYS, BEGINNINGS, EVENTS = frozenset[str](), ("llamaindex.",), True

_EVENTS = ("step.output", "workflow.output")


def matches(span: Span) -> bool:
    """Attributes or events that only this integration writes."""
    own = any(key.startswith(BEGINNINGS) for key in span.attributes)
    return own or any(e.name in _EVENTS for e in span.events)


def facts(span: Span) -> Facts:
    """A step: what its events hold is told as notes, because no reader of `repr` can be sure who said what."""
    return Facts(dialect=NAME, role="workflow")
