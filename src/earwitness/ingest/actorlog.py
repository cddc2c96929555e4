"""Records of an actor runtime, as AutoGen core and Semantic Kernel write them to their event loggers."""

import re
from typing import Any, NamedTuple

from earwitness.ingest.spans.texts import loads

_ID = re.compile(r"(.*?)(?:_([0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}))?/(.*)", re.DOTALL)
_KERNEL = re.compile(r"(^|_)[0-9a-f]{32}/")
_CALLS = {"LLMCall", "LLMStreamStart", "LLMStreamEnd", "ToolCall"}
LOST = "Message could not be serialized"


class Party(NamedTuple):
    """An agent or topic id taken apart: name, the team or orchestration it belongs to, and the key behind the slash."""

    name: str
    team: str | None
    key: str


def party(raw: Any) -> Party | None:
    """The parts of `<name>_<team>/<key>` or `<name>/<key>`; None where there is no id."""
    found = _ID.fullmatch(raw) if isinstance(raw, str) else None
    return Party(found[1], found[2], found[3]) if found else None


def is_delivery(value: Any) -> bool:
    """Whether a record tells of a message that was sent, delivered or answered."""
    return (
        isinstance(value, dict) and value.get("type") == "Message" and "delivery_stage" in value and "payload" in value
    )


def is_call(value: Any) -> bool:
    """Whether a record tells of a model or tool call, or of trouble in the runtime."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if value["type"] in _CALLS:
        return "agent_id" in value and ("messages" in value or "response" in value or "tool_name" in value)
    if value["type"] == "MessageDropped":
        return "payload" in value and "receiver" in value
    return value["type"] == "MessageHandlerException" and "handling_agent" in value


def of_kernel(value: dict[str, Any]) -> bool:
    """Whether a record is one of Semantic Kernel's, whose ids end in 32 hex digits without dashes."""
    return any(isinstance(value.get(k), str) and _KERNEL.search(value[k]) for k in ("sender", "receiver", "agent_id"))


def stage(value: dict[str, Any]) -> tuple[str, str]:
    """Kind (`DIRECT`, `PUBLISH`, `RESPOND`) and stage (`SEND`, `DELIVER`), without the names of their enums."""
    return str(value.get("kind")).rsplit(".", 1)[-1], str(value.get("delivery_stage")).rsplit(".", 1)[-1]


def payload(value: dict[str, Any]) -> Any:
    """What a message carried; None where the log lost it."""
    raw = value.get("payload")
    if raw == LOST or raw is None:
        return None
    found = loads(raw) if isinstance(raw, str) else raw
    return raw if found is None else found
