"""Who is meant: agents in checkpoint namespaces and metadata, and the nodes that are plumbing inside them."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any

from earwitness.ingest.langchain.messages import clean

_PLUMBING = re.compile(
    r"agent|model|tools|call_agent|call_model|should_continue|acall_model|model_request|Prompt|LangGraph|"
    r"__\w+__|_?route\w*|_write|Channel(?:Write|Read).*|Runnable\w*(?:<.*>)?|.*Middleware(?:\[.*\])?\..*|"
    r"AgentExecutor|OpenAIToolsAgent|\w*OutputParser|\w*PromptTemplate|Unnamed|chain|generate|\w*Retriever"
)
_HANDOFF = re.compile(r"(?:transfer|hand_?off|delegate)_(?:back_)?to_(.+)", re.IGNORECASE)


def is_plumbing(name: str) -> bool:
    """Whether a node or run of this name is a part of an agent, not one."""
    return _PLUMBING.fullmatch(name) is not None


def steps(path: str | Iterable[Any]) -> list[str]:
    """The names in a namespace, outermost first, whether text `a:1|b:2` or a list."""
    parts = path.split("|") if isinstance(path, str) else [str(p) for p in path]
    return [part.partition(":")[0] for part in parts if part]


def owner(path: str | Iterable[Any]) -> str | None:
    """The innermost agent of a namespace."""
    return next((clean(s) for s in reversed(steps(path)) if not is_plumbing(s)), None)


def containers(path: str | Iterable[Any]) -> list[tuple[str, str]]:
    """Graph and first-level member pairs of a namespace: (`research_lead`, `crm_worker`)."""
    named = [s for s in steps(path) if not is_plumbing(s)]
    return list(pairwise(named))


def of_metadata(metadata: Any) -> str | None:
    """The agent that the metadata of a run names."""
    if not isinstance(metadata, dict):
        return None
    if name := clean(metadata.get("lc_agent_name")):
        return name
    path = metadata.get("langgraph_checkpoint_ns") or metadata.get("checkpoint_ns") or ""
    if found := owner(str(path)):
        return found
    node = clean(metadata.get("langgraph_node"))
    return node if node and not is_plumbing(node) else None


@lru_cache(maxsize=1024)
def slug(name: str) -> str:
    """A name as it looks inside a tool's name."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


@lru_cache(maxsize=1024)
def handed(tool: str) -> str | None:
    """The slug of the agent to which a tool's name says it hands over; None for another tool."""
    match = _HANDOFF.fullmatch(tool)
    return slug(match[1]) if match else None
