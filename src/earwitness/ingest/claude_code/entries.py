"""Lines of a transcript as entries, message contents as blocks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from earwitness.ingest.chronicle import base_name, name_of, text_of
from earwitness.ingest.record import Place
from earwitness.ingest.shelf import packed

_AGENT_FILE = re.compile(r"agent-([0-9A-Za-z]+)(?:\.meta)?\.json")
_SESSION_FOLDER = re.compile(r"([^/\\!]+)[/\\]subagents[/\\]")
_TAIL = re.compile(r"\s*agentId: (\w+)[^\n]*(?:\n<usage>.*?</usage>)?\s*\Z", re.DOTALL)
IMAGES = ("image", "document")
# What an entry is made of, besides what the line says, what it says of a tool's result, and whose file it stands in.
_FIELDS = (
    "type",
    "uuid",
    "parentUuid",
    "isSidechain",
    "agentId",
    "madeBy",
    "timestamp",
    "agentName",
    "isMeta",
    "isCompactSummary",
)
_RESULT = ("agentId", "status", "isAsync")


class Block(NamedTuple):
    """A part of a message. `text` of a tool use is its input as JSON, of a tool result its text."""

    kind: str
    text: str
    pointer: str
    id: str = ""
    name: str = ""
    input: Any = None
    failed: bool = False
    images: int = 0
    agent: str | None = None


@dataclass(eq=False, slots=True)
class Entry:
    """One user, assistant or system line."""

    place: Place
    type: str
    uuid: str
    parent: str | None
    agent: str | None
    sidechain: bool
    time: str | None
    blocks: list[Block]
    about: str | None = None
    name: str | None = None
    asynchronous: bool = False
    meta: bool = False
    compact: bool = False
    maker: str | None = None
    after: list["Entry"] = field(default_factory=list)


@lru_cache(maxsize=64)
def agent_of_file(name: str) -> str | None:
    """The id of the sub-agent whose file this is."""
    found = _AGENT_FILE.search(name)
    return found[1] if found else None


def session_of_file(name: str) -> str | None:
    """The session whose folder a sub-agent file lies in."""
    found = _SESSION_FOLDER.search(name)
    return found[1] if found else None


def fingerprint(line: dict[str, Any]) -> bytes:
    """What a resumed session copies unchanged besides the id. A broken line never shadows a whole one."""
    return packed((line.get("type"), line.get("message"), line.get("content")))[0]


def session_of(line: dict[str, Any], file: str) -> str:
    """The id of the session that a line is of."""
    return name_of(line.get("sessionId")) or session_of_file(file) or base_name(file)


def uuid_of(line: dict[str, Any]) -> str:
    """The id of a line; empty where it has none."""
    return str(line.get("uuid") or "")


def content_of(line: dict[str, Any]) -> str | list[Any] | None:
    """What a line says, if there is something to read."""
    if line.get("type") == "system":
        content = line.get("content")
    else:
        message = line.get("message")
        content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str | list) else None


def kept_of(line: dict[str, Any], content: str | list[Any], file: str) -> tuple[Any, ...]:
    """What is kept of a line until its session is told: without its bulk, the second copy of a tool's result."""
    result = line.get("toolUseResult")
    said = tuple(map(result.get, _RESULT)) if isinstance(result, dict) else None
    return *map(line.get, _FIELDS), content, said, agent_of_file(file)


def entry_of(kept: Sequence[Any], place: Place) -> Entry:
    """The entry of what `kept_of` gave."""
    kind, uuid, parent, side, agent, maker, time, name, meta, compact, content, said, file_agent = kept
    sidechain, agent = side is True, name_of(agent)
    about, status, is_async = said or (None, None, None)
    return Entry(
        place=place,
        type=str(kind),
        uuid=str(uuid or ""),
        parent=name_of(parent),
        agent=(agent or file_agent) if sidechain else None,
        sidechain=sidechain,
        time=time if isinstance(time, str) else None,
        blocks=_blocks(content, "/content" if kind == "system" else "/message/content"),
        about=name_of(about) or (None if sidechain else agent),
        name=name_of(name),
        asynchronous=is_async is True or status in ("async_launched", "teammate_spawned"),
        meta=meta is True,
        compact=compact is True,
        maker=maker if isinstance(maker, str) else None,
    )


def _blocks(content: str | list[Any], base: str) -> list[Block]:
    if isinstance(content, str):
        return [Block("text", content, base)]
    return [_block(part, f"{base}/{n}") for n, part in enumerate(content)]


def _block(part: Any, pointer: str) -> Block:
    if not isinstance(part, dict):
        return Block("text", text_of(part), pointer)
    kind = str(part.get("type"))
    if kind.endswith("tool_use"):  # of the client, the server, or a protocol
        name = name_of(part.get("name")) or "tool"
        return Block("tool_use", text_of(part.get("input")), pointer, str(part.get("id")), name, part.get("input"))
    if kind.endswith("tool_result"):
        return _result(part, pointer)
    return Block(kind, text_of(part.get(kind) if kind in ("text", "thinking") else ""), pointer)


def _result(part: dict[str, Any], pointer: str) -> Block:
    content = part.get("content")
    said, images = _shown(content) if isinstance(content, list) else (text_of(content), 0)
    text, agent = _without_tail(said)
    return Block(
        kind="tool_result",
        text=text,
        pointer=pointer,
        id=str(part.get("tool_use_id")),
        failed=part.get("is_error") is True,
        images=images,
        agent=agent,
    )


def _shown(content: list[Any]) -> tuple[str, int]:
    """The texts of a result, and how many images it has."""
    parts = [part for part in content if isinstance(part, dict)]
    said = [_said(part) for part in parts if part.get("type") not in IMAGES]
    return "\n".join(filter(None, said)), len(parts) - len(said)


def _said(part: dict[str, Any]) -> str:
    return text_of(part.get("text") if part.get("type") == "text" else part)


def _without_tail(text: str) -> tuple[str, str | None]:
    """A result without the lines that the program adds for the model: the id of the sub-agent, and its usage."""
    found = _TAIL.search(text) if "agentId: " in text else None
    return (text[: found.start()], found[1]) if found else (text, None)
