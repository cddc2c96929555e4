"""Names: which agent a span names, and which agent a call is addressed to."""

import re
from functools import lru_cache
from typing import Any

from earwitness.ingest.naming import of_names
from earwitness.ingest.spans.facts import Rung
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import loads

_AGENT_KEYS = ("gen_ai.agent.name", "agent.name", "agent_name")
_METADATA = ("langsmith.metadata.", "traceloop.association.properties.")
_NODE_METADATA = ("langgraph_checkpoint_ns", "langgraph_node")
_FLAT = frozenset(prefix + key for prefix in _METADATA for key in (*_NODE_METADATA, "lc_agent_name"))
_WHOLE = "metadata"
_NODE_KEYS = ("graph.node.name", "graph.node.id")
# Without any of these only the span's name may say whose it is, as of most spans.
_NAMING = frozenset((*_AGENT_KEYS, *_FLAT, _WHOLE, *_NODE_KEYS))
_NO_NAMES = {"", "unknown", "none", "null", "undefined", "n/a", "root"}
# An instrumentation that writes its own name where an agent's belongs.
_STAND_INS = {"OpenAI Agents instrumentation"}
# Nodes of a graph that are plumbing inside an agent.
_PLUMBING = {"agent", "tools", "model", "call_model", "__start__", "__end__", "model_request"}
_KOOG = re.compile(r"node[A-Z]\w*$")  # steps of a Koog strategy
_SPAN_NAMES = (re.compile(r"agent_run \[(.+)\]"), re.compile(r"invoke_agent (.+)"), re.compile(r"(.+)\.agent"))
_HANDOFF = re.compile(r"(?:^|[^a-z])(?:transfer|hand_?off)(?:_back)?[_ ]to[_ ](.+)$", re.IGNORECASE)
_HANDOFF_TOOLS = ("handoff", "hand_off")  # the arguments name the agent
_DELEGATE = re.compile(r"(?:^|[^a-z])(?:delegate(?:[_ ](?:work|task))?|ask[_ ]question)[_ ]to[_ ](.+)$", re.IGNORECASE)
_ADDRESS_KEYS = ("agent_name", "coworker", "recipient", "to_agent", "target_agent", "agent", "member_id")
_GENERIC = {"agent", "coworker", "human", "user", "assistant", "member", "members"}


@of_names
def clean_name(name: str) -> str | None:
    """A name, unless it is one of the ways to say that there is none."""
    name = name.strip()
    return None if name.lower() in _NO_NAMES else name


def agent_of(span: Span, *, is_agent: bool) -> tuple[str | None, Rung | None]:
    """The agent a span names, and the rung of the sender ladder that gave it.

    Args:
        span: where to look.
        is_agent: the span is an agent's own run, so that its name may name it.
    """
    if not _NAMING.isdisjoint(span.attributes):
        if name := _stated(span):
            return name, "attribute"
        if name := _node(span):
            return name, "node"
    name = _in_span_name(span) if is_agent else None
    return (name, "span_name") if name else (None, None)


def _stated(span: Span) -> str | None:
    """The name of the agent in an attribute made for it."""
    if span.text("gen_ai.agent.description") not in _STAND_INS:
        for key in _AGENT_KEYS:
            if name := clean_name(span.attributes.get(key)):
                return name
    for prefix in () if _FLAT.isdisjoint(span.attributes) else _METADATA:
        if name := clean_name(span.get(prefix + "lc_agent_name")):
            return name
    return None


def _node(span: Span) -> str | None:
    metadata = span.get(_WHOLE)
    metadata = loads(metadata) if isinstance(metadata, str) else metadata
    metadata = _flattened(span) if metadata is None else metadata
    if isinstance(metadata, dict):
        if name := clean_name(metadata.get("lc_agent_name")):
            return name
        if name := _in_path(str(metadata.get("langgraph_checkpoint_ns") or metadata.get("langgraph_node") or "")):
            return name
    return clean_name(span.get(_NODE_KEYS[0])) or clean_name(span.get(_NODE_KEYS[1]))


@of_names
def _in_path(path: str) -> str | None:
    """The innermost step of a path through graphs that may be an agent."""
    steps = [step.partition(":")[0] for step in reversed(path.split("|"))]
    return next(filter(None, (clean_name(step) for step in steps if not _is_plumbing(step))), None)


def _is_plumbing(step: str) -> bool:
    return step in _PLUMBING or _KOOG.match(step) is not None or (step.startswith("__") and step.endswith("__"))


def _flattened(span: Span) -> dict[str, Any] | None:
    """The same metadata, one attribute a key."""
    if _FLAT.isdisjoint(span.attributes):
        return None  # most spans
    for prefix in _METADATA:
        found = {key: span.get(prefix + key) for key in _NODE_METADATA}
        if any(found.values()):
            return found
    return None


def _in_span_name(span: Span) -> str | None:
    for pattern in _SPAN_NAMES:
        match = pattern.fullmatch(span.name)
        # Some name such a span after the model.
        if match and match[1] != span.get("gen_ai.request.model"):
            return clean_name(match[1])
    return None


@lru_cache(maxsize=4096)
def slug(name: str) -> str:
    """A name as it looks inside a tool's name."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def hands_off(tool: str | None) -> bool:
    """Whether a tool's name says that it passes control to another agent."""
    return bool(tool and (_HANDOFF.search(tool) or slug(tool) in _HANDOFF_TOOLS))


def delegates(tool: str | None) -> bool:
    """Whether a tool's name says that it asks another agent."""
    return bool(tool and _DELEGATE.search(tool))


def addressed(tool: str | None, arguments: str | None) -> str | None:
    """The agent that the arguments of a handoff or delegation name."""
    given = loads(arguments) if arguments and (hands_off(tool) or delegates(tool)) else None
    if not isinstance(given, dict):
        return None
    return next((n for n in (clean_name(given.get(k)) for k in _ADDRESS_KEYS) if n), None)


def in_tool_name(tool: str | None, agents: set[str]) -> str | None:
    """The agent that a tool's name names: one the trace knows, or one that can be nothing else."""
    match = (_HANDOFF.search(tool) or _DELEGATE.search(tool)) if tool else None
    if not match or slug(match[1]) in _GENERIC:
        return None
    wanted = slug(match[1])
    known = next((a for a in sorted(agents) if slug(a) == wanted), None)
    certain = wanted.endswith("agent") or slug(tool or "").startswith("handoff_")
    return known or (match[1] if certain else None)
