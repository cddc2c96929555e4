"""Pydantic Evals, mostly in Logfire: an evaluator's span, under which a judge is a model or an agent of its own.

What it decided, and why, stands in the span of the case: `assertions`, `scores` and `labels`.
"""

from earwitness.ingest.spans.facts import Facts
from earwitness.ingest.spans.identity import clean_name
from earwitness.ingest.spans.span import Span

NAME = "pydantic-evals"
PRIORITY = 50
KEYS = frozenset(("evaluator_name",))

_NAMES = ("evaluator: ", "report_evaluator: ")


def matches(span: Span) -> bool:
    """A span that names its evaluator; the name of the span is a template, whose fields may be filled in."""
    return "evaluator_name" in span.attributes and span.name.startswith(_NAMES)


def facts(span: Span) -> Facts:
    """Who judges."""
    return Facts(dialect=NAME, role="guardrail", tool=clean_name(span.get("evaluator_name")))
