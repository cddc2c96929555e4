"""Which channels a trace of spans can show: all of them, less those that its instrumentations never record.

Shared memory and files are least often there. Frameworks keep them in their own stores, and what an agent reads or
writes stands in a span only where it went through a tool: it is a call then. A channel that was met in a trace is one
that its spans can show, whatever the table says.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from earwitness.ingest.spans.facts import Facts
from earwitness.ingest.spans.span import KINDS, Span
from earwitness.ingest.spans.tree import of_logs
from earwitness.schema.words import CHANNELS, Channel

_MEMORY: tuple[Channel, ...] = ("C5",)
_STORES: tuple[Channel, ...] = ("C5", "C7")
# Spans with this scope are of the run of one agent, whatever it called.
ONE_AGENT = "any_agent"
_ALONE: tuple[Channel, ...] = ("C2", "C5", "C7")
# A log record is one message of one model call: that it goes to an agent, only the spans around it tell.
_LOGS: tuple[Channel, ...] = ("C2", "C5", "C7")

# By dialect. Not here: OpenTelemetry's own conventions and MLflow, which have spans for memories and parts for files.
_OF_DIALECT: dict[str, tuple[Channel, ...]] = {
    "autogen": _STORES,
    "google-adk": _STORES,
    "llama-index": _STORES,
    "openai-agents": _STORES,
    "openllmetry": _STORES,
    "otel-genai-events": _STORES,
    "openinference": _MEMORY,
    "pydantic-ai": _MEMORY,
    "vercel-ai": _MEMORY,
}
# By framework, of whose stores no instrumentation tells, whatever conventions it follows.
_FRAMEWORKS = (
    "ag2",
    "agents",
    "autogen",
    "autogen_agentchat",
    "crewai",
    "google_adk",
    "langchain",
    "langgraph",
    "llama_index",
    "llamaindex",
    "openai_agents",
)
# What tells a framework or a maker where no scope stands, as in console dumps.
_KEYS: dict[str, tuple[Channel, ...]] = {
    "ag2.span.type": _STORES,
    "crew_key": _STORES,
    "sk.available_functions": _STORES,
    "traceloop.span.kind": _STORES,
    "langfuse.observation.type": _MEMORY,
    "langsmith.span.kind": _MEMORY,
    "meta.span.kind": _MEMORY,
    "weave.kind": _MEMORY,
}
_INSTRUMENTED = re.compile(rf"(?:openinference|opentelemetry)\.instrumentation\.(?:{'|'.join(_FRAMEWORKS)})\b")
_OWN = re.compile(r"gcp\.vertex\.agent|openai_agents|autogen|semantic_kernel|agent_runtime ")


def observable(told: Iterable[tuple[Span, Facts]], seen: Iterable[Channel]) -> tuple[Channel, ...] | None:
    """The channels that a trace can show; None: all of them.

    Args:
        told: its spans with what they say, without plain spans.
        seen: the channels on which something was told.
    """
    told = list(told)
    dark = {channel for span, facts in told for channel in _dark(span, facts)}
    if all(of_logs(span) for span, _ in told):
        dark.update(_LOGS)
    dark.difference_update(seen)
    return tuple(c for c in CHANNELS if c not in dark) if dark else None


def _dark(span: Span, facts: Facts) -> tuple[Channel, ...]:
    if span.scope and (known := _of_scope(span.scope)):
        return known
    if span.get("gen_ai.system") == "autogen" or span.name.startswith("agent_runtime "):
        return _STORES
    by_key = _of_keys(tuple(span.attributes))
    return tuple(c for dialect in (facts.dialect, *facts.also) for c in _OF_DIALECT.get(dialect, ())) + by_key


@lru_cache(maxsize=KINDS)
def _of_scope(scope: str) -> tuple[Channel, ...]:
    if scope == ONE_AGENT:
        return _ALONE
    return _STORES if _OWN.match(scope) or _INSTRUMENTED.match(scope) else ()


@lru_cache(maxsize=KINDS)
def _of_keys(keys: tuple[str, ...]) -> tuple[Channel, ...]:
    return tuple(c for key in keys for c in _KEYS.get(key, ()))
