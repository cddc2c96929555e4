"""What kind of party a tool is, where only its name tells: memories and files are reached through tools."""

import re
from typing import NamedTuple

from earwitness.schema.words import ActorKind, Channel

_MEMORY = re.compile(r"(^|[_\W])(memory|memories|blackboard|scratchpad|shared_state)([_\W]|$)", re.IGNORECASE)
_FILES = re.compile(r"(^|[_\W])(write|save|create|export|publish)_?(file|artifact|report|document)", re.IGNORECASE)


class ToolKind(NamedTuple):
    """Channels of a tool's arguments and results, what it is, and on which rung of evidence that stands."""

    arguments: Channel
    result: Channel
    kind: ActorKind
    evidence: str


def tool_kind(name: str) -> ToolKind:
    """The kind of a tool."""
    if _MEMORY.search(name):
        return ToolKind("C5", "C5", "memory", "name-pattern")
    if _FILES.search(name):
        return ToolKind("C7", "C4", "artifact_store", "name-pattern")
    return ToolKind("C3", "C4", "tool", "declared")
