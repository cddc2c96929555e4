"""What messages of MCP say, as text."""

from typing import Any

from earwitness.ingest.jsontext import DecodeError, decode
from earwitness.ingest.script import text


def question(params: dict[str, Any]) -> str:
    """What a user is shown of a question: its words, an address, and a form made of a schema."""
    schema = params.get("requestedSchema")
    form = schema.get("properties") if isinstance(schema, dict) else None
    return "\n".join(text(part) for part in (params.get("message"), params.get("url"), form) if part)


def problem_text(problem: dict[str, Any]) -> str:
    """What an error says, with what came beside it."""
    return "\n".join(text(problem[key]) for key in ("message", "data") if problem.get(key))


def said_in(content: Any) -> str:
    """The text of content parts; parts that are no text as JSON."""
    parts = content if isinstance(content, list) else [content]
    return "\n".join(p["text"] if isinstance(p, dict) and isinstance(p.get("text"), str) else text(p) for p in parts)


def result_text(result: Any) -> str:
    """What a result says; a structured copy of the text is not said twice."""
    if not isinstance(result, dict):
        return text(result)
    parts = result.get("content", result.get("contents", result.get("messages", result.get("completion"))))
    said = "" if parts is None else said_in(parts)
    structured = result.get("structuredContent")
    if structured is None or (said and _is_copy(said, structured)):
        return said
    return f"{said}\n{text(structured)}".strip()


def _is_copy(said: str, structured: Any) -> bool:
    try:
        spoken = decode(said.encode("utf-8", "surrogatepass"))
    except DecodeError:
        spoken = said
    return bool(spoken == structured or (isinstance(structured, dict) and [spoken] == list(structured.values())))
