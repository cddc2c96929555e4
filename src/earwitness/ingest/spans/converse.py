"""Blocks of messages as Amazon Bedrock's Converse API and Strands have them: each is named by its only key."""

from typing import Any

from earwitness.ingest.spans.facts import Part
from earwitness.ingest.spans.texts import as_text, loads, word

SHAPES = frozenset(("toolUse", "toolResult", "reasoningContent", "guardContent", "cachePoint"))
_ID = "toolUseId"
_KEYS = frozenset(("text", "image", "document", "video", *SHAPES))


def converse_part(block: dict[str, Any]) -> Part | None:
    """A call, a result, a thought or a checked text; None where a block is none of them."""
    use, back, thought = block.get("toolUse"), block.get("toolResult"), block.get("reasoningContent")
    if isinstance(use, dict):
        return Part("tool_call", as_text(use.get("input", "")), word(use.get(_ID)), word(use.get("name")))
    if isinstance(back, dict):
        return Part("tool_response", text_of(back.get("content")), word(back.get(_ID)))
    if isinstance(thought, dict):
        said = thought.get("reasoningText")
        return Part("reasoning", as_text(said.get("text", "")) if isinstance(said, dict) else "")
    guarded = block.get("guardContent")
    said = guarded.get("text") if isinstance(guarded, dict) else None
    if isinstance(said, dict):
        return Part("text", as_text(said.get("text", "")))
    return Part("text", "") if "cachePoint" in block else None


def blocks_of(value: Any) -> list[dict[str, Any]] | None:
    """A list of blocks, or one that somebody turned into a string; None where a value is neither."""
    rows = loads(value) if isinstance(value, str) and value.startswith("[{") else value
    return rows if isinstance(rows, list) and rows and all(map(_is_block, rows)) else None


def _is_block(row: Any) -> bool:
    return isinstance(row, dict) and len(row) == 1 and not _KEYS.isdisjoint(row)


def failed_call(block: dict[str, Any]) -> str | None:
    """The call of which a block says that it failed."""
    back = block.get("toolResult")
    return word(back.get(_ID)) if isinstance(back, dict) and back.get("status") == "error" else None


def text_of(content: Any) -> str:
    """What a tool gave back: texts and values, one a line."""
    rows = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, map(_row, rows)))


def _row(row: Any) -> str:
    if not isinstance(row, dict):
        return as_text(row) if row is not None else ""
    return as_text(next((row[k] for k in ("text", "json") if k in row), row))
