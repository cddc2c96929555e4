"""Lines of a transcript as entries, message contents as blocks."""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from earwitness.ingest.chronicle import base_name, name_of, text_of
from earwitness.ingest.record import Place

_AGENT_FILE = re.compile(r"agent-([0-9A-Za-z]+)(?:\.meta)?\.json")
_SESSION_FOLDER = re.compile(r"([^/\\!]+)[/\\]subagents[/\\]")
_TAIL = re.compile(r"\s*agentId: (\w+)[^\n]*(?:\n<usage>.*?</usage>)?\s*\Z", re.DOTALL)
_RAW = msgspec.json.Encoder(enc_hook=str).encode
IMAGES = ("image", "document")


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


@dataclass(eq=False)
class Entry:
    """One user, assistant or system line."""

    place: Place
    session: str
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
    after: list["Entry"] = field(default_factory=list)


def agent_of_file(name: str) -> str | None:
    """The id of the sub-agent whose file this is."""
    found = _AGENT_FILE.search(name)
    return found[1] if found else None


def session_of_file(name: str) -> str | None:
    """The session whose folder a sub-agent file lies in."""
    found = _SESSION_FOLDER.search(name)
    return found[1] if found else None


def fingerprint(line: dict[str, Any]) -> str:
    """What a resumed session copies unchanged: id and message. A broken line never shadows a whole one."""
    told = [line.get("type"), line.get("message"), line.get("content")]
    try:
        raw = _RAW(told)
    except (UnicodeEncodeError, OverflowError):  # half of a surrogate pair, a number of many digits
        raw = text_of(told).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def without_bulk(line: dict[str, Any]) -> dict[str, Any]:
    """A line without the second copy of a tool's result."""
    result = line.get("toolUseResult")
    if not isinstance(result, dict):
        return {key: value for key, value in line.items() if key != "toolUseResult"}
    return {**line, "toolUseResult": {k: result[k] for k in ("agentId", "status", "isAsync") if k in result}}


def session_of(line: dict[str, Any], file: str) -> str:
    """The id of the session that a line is of."""
    return name_of(line.get("sessionId")) or session_of_file(file) or base_name(file)


def uuid_of(line: dict[str, Any]) -> str:
    """The id of a line; empty where it has none."""
    return str(line.get("uuid") or "")


def has_message(line: dict[str, Any]) -> bool:
    """Whether there is a message to read in a line."""
    return isinstance(_content(line)[0], str | list)


def entry_of(line: dict[str, Any], place: Place, file: str) -> Entry | None:
    """The entry of a line; None where there is no message to read."""
    blocks = _blocks(line)
    if blocks is None:
        return None
    sidechain = line.get("isSidechain") is True
    agent = name_of(line.get("agentId"))
    result = line.get("toolUseResult")
    result = result if isinstance(result, dict) else {}
    about = name_of(result.get("agentId")) or (None if sidechain else agent)
    return Entry(
        place=place,
        session=session_of(line, file),
        type=str(line.get("type")),
        uuid=uuid_of(line),
        parent=name_of(line.get("parentUuid")),
        agent=(agent or agent_of_file(file)) if sidechain else None,
        sidechain=sidechain,
        time=line.get("timestamp") if isinstance(line.get("timestamp"), str) else None,
        blocks=blocks,
        about=about,
        name=name_of(line.get("agentName")),
        asynchronous=result.get("isAsync") is True or result.get("status") in ("async_launched", "teammate_spawned"),
        meta=line.get("isMeta") is True,
        compact=line.get("isCompactSummary") is True,
    )


def _content(line: dict[str, Any]) -> tuple[Any, str]:
    """What a line says, and where."""
    message = line.get("message")
    if line.get("type") == "system":
        return line.get("content"), "/content"
    return (message.get("content") if isinstance(message, dict) else None), "/message/content"


def _blocks(line: dict[str, Any]) -> list[Block] | None:
    content, base = _content(line)
    if isinstance(content, str):
        return [Block("text", content, base)]
    if not isinstance(content, list):
        return None
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
    parts = content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]
    texts = [_said(p) for p in parts if isinstance(p, dict) and p.get("type") not in IMAGES]
    text, agent = _without_tail("\n".join(t for t in texts if t))
    return Block(
        kind="tool_result",
        text=text,
        pointer=pointer,
        id=str(part.get("tool_use_id")),
        failed=part.get("is_error") is True,
        images=sum(isinstance(p, dict) and p.get("type") in IMAGES for p in parts),
        agent=agent,
    )


def _said(part: dict[str, Any]) -> str:
    return text_of(part.get("text") if part.get("type") == "text" else part)


def _without_tail(text: str) -> tuple[str, str | None]:
    """A result without the lines that the program adds for the model: the id of the sub-agent, and its usage."""
    found = _TAIL.search(text) if "agentId: " in text else None
    return (text[: found.start()], found[1]) if found else (text, None)
