"""Tools of a model's provider in Inspect's messages: calls and results stand in the message that was made with them."""

from typing import Any

from earwitness.ingest.script import Script, text
from earwitness.schema.words import Flag


def tell_hosted(script: Script, actor: str, content: Any, pointer: str, time: Any) -> None:
    """Tell such calls in a content, a text or a list of parts, and what came back."""
    for n, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part, dict) and part.get("type") == "tool_use" and isinstance(part.get("name"), str):
            _tell(script, actor, part, f"{pointer}/{n}", time)


def _tell(script: Script, actor: str, part: dict[str, Any], at: str, time: Any) -> None:
    tool, error = part["name"], part.get("error")
    script.actor(tool, "tool")
    given = {"sender": actor, "to": (tool,), "kind": "tool_arguments", "time": time}
    call = script.event("C3", part.get("arguments"), f"{at}/arguments", **given)
    flags: tuple[Flag, ...] = ("failed",) if error else ()
    if error:
        script.loss("failed_call", "tool call", "C4")
    back = "\n".join(text(s) for s in (part.get("result"), error) if s)
    rest: dict[str, Any] = {"sender": tool, "to": (actor,), "time": time, "parent": call, "flags": flags}
    script.event("C4", back, f"{at}/result", kind="tool_result", **rest)
