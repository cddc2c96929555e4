"""OpenInference: `openinference.span.kind`, flattened `llm.*_messages`, `input.value` and `output.value`."""

from typing import Any

from earwitness.ingest.spans.facts import Facts, Message, Role
from earwitness.ingest.spans.identity import agent_of, clean_name
from earwitness.ingest.spans.messages import read_messages, text_message
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import as_text, is_repr, loads

NAME = "openinference"
PRIORITY = 50
_KIND = "openinference.span.kind"
KEYS, BEGINNINGS = frozenset((_KIND,)), ("llm.input_messages", "llm.output_messages")

_ROLES: dict[str, Role] = {
    "LLM": "llm",
    "AGENT": "agent",
    "TOOL": "tool",
    "CHAIN": "workflow",
    "PROMPT": "workflow",
    "RETRIEVER": "retriever",
    "RERANKER": "retriever",
    "EMBEDDING": "retriever",
    "GUARDRAIL": "guardrail",
    "EVALUATOR": "guardrail",
}
_HANDOFF = "handoff to "


def matches(span: Span) -> bool:
    """The span has a kind, or messages flattened as OpenInference does."""
    return isinstance(span.get(_KIND), str) or any(key.startswith(BEGINNINGS) for key in span.attributes)


def facts(span: Span) -> Facts:
    """What a span of this dialect says."""
    role = _role(span)
    agent, rung = agent_of(span, is_agent=role == "agent")
    if role == "workflow" and rung == "node" and agent == span.name:
        role = "agent"  # a chain that is the node of an agent is that agent's run
    told = _spoken(span, role) if role in ("llm", "agent", "workflow", "other") else {}
    called = _called(span, role) if role not in ("llm", "agent", "workflow", "other") else {}
    return Facts(
        dialect=NAME,
        role=role,
        agent=agent,
        rung=rung,
        conversation=span.text("session.id", "gen_ai.conversation.id"),
        model=span.text("llm.model_name", "embedding.model_name"),
        **told,
        **called,
    )


def _role(span: Span) -> Role:
    kind = str(span.get(_KIND) or "LLM").upper()
    if kind == "TOOL" and span.name.lower().startswith(_HANDOFF):
        return "handoff"
    return _ROLES.get(kind, "other")


def _called(span: Span, role: Role) -> dict[str, Any]:
    given, back = span.get("input.value"), span.get("output.value")
    if role == "handoff":  # the values are the names of the two agents, not words that were said
        target = clean_name(back) or clean_name(span.name[len(_HANDOFF) :])
        return {"handoff_from": clean_name(given), "handoff_to": target, "tool": span.text("tool.name")}
    return {
        "tool": span.text("tool.name") or span.name or None,
        "call_id": span.text("tool.id", "tool_call.id", "gen_ai.tool.call.id"),
        "arguments": _arguments(span) if given is None else as_text(given),
        "result": _documents(span) if back is None else as_text(back),
    }


def _arguments(span: Span) -> str | None:
    texts = [v for k, v in span.attributes.items() if k.endswith(".embedding.text") and isinstance(v, str)]
    query = span.get("tool_call.function.arguments", "reranker.query")
    return as_text(query) if query is not None else "\n".join(texts) or None


def _documents(span: Span) -> str | None:
    rows = [*_list(span, "retrieval.documents"), *_list(span, "reranker.output_documents")]
    texts = [row.get("document", row).get("content") for row in rows if isinstance(row.get("document", row), dict)]
    return "\n\n".join(as_text(t) for t in texts if t) or None


def _spoken(span: Span, role: Role) -> dict[str, Any]:
    inputs = _messages(span, "llm.input_messages", "user")
    outputs = _messages(span, "llm.output_messages", "assistant")
    # Some instrumentations flatten only the roles: then the raw value is where the words are.
    told = [key for key, m in (("input.value", inputs), ("output.value", outputs)) if _says(m)]
    if "input.value" not in told:
        inputs = _raw(span.get("input.value"), "user", role)
    if "output.value" not in told:
        outputs = _raw(span.get("output.value"), "assistant", role)
    raw = [span.get(key) for key in told]
    return {"inputs": inputs, "outputs": outputs, "copies": tuple(as_text(r) for r in raw if r)}


def _says(messages: tuple[Message, ...]) -> bool:
    return any(part.text for message in messages for part in message.parts)


def _raw(value: Any, role: str, of: Role) -> tuple[Message, ...]:
    """`input.value` or `output.value`: messages, a plain text, or a structure of the framework's own."""
    if value is None or value == "":
        return ()
    found = read_messages(value, role)
    if _says(found):
        return found
    text = as_text(value)
    # What a model writes may be JSON and is its words all the same; what a chain gives is its state.
    structured = is_repr(text) or (text.startswith(("{", "[")) and (of != "llm" or '"messages"' in text))
    return (text_message(text, role, "data" if structured else "text"),)


def _messages(span: Span, prefix: str, role: str) -> tuple[Message, ...]:
    return tuple(_message(row.get("message", row), role) for row in _list(span, prefix))


def _message(row: dict[str, Any], role: str) -> Message:
    plain = {"role": role, **row}
    calls = [c.get("tool_call", c) for c in _rows(row.get("tool_calls"))]
    blocks = [c.get("message_content", c) for c in _rows(row.get("contents"))]
    plain["tool_calls"] = calls
    plain["content"] = row.get("content")
    if blocks and not plain["content"]:
        plain["content"] = [_block(b) for b in blocks]
    found = read_messages([plain], role)
    return found[0] if len(found) == 1 else Message(role, tuple(p for m in found for p in m.parts))


def _block(block: dict[str, Any]) -> dict[str, Any]:
    image = block.get("image")
    if isinstance(image, dict):
        return {"type": "image_url", "image_url": image.get("image", image)}
    if block.get("type") in ("reasoning", "thinking"):
        return {"type": "reasoning", "content": block.get("text") or block.get("summary") or ""}
    return block


def _list(span: Span, prefix: str) -> list[dict[str, Any]]:
    """A flattened list put together again: numeric order, gaps closed."""
    whole = span.get(prefix)
    whole = loads(whole) if isinstance(whole, str) else whole  # a column that had to become text
    if isinstance(whole, list):
        return [_nest(row.items()) for row in whole if isinstance(row, dict)]
    start = prefix + "."
    return _rows(_nest((k[len(start) :], v) for k, v in span.attributes.items() if k.startswith(start)))


def _nest(items: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in items:
        *path, last = str(key).split(".")
        at = out
        for step in path:
            inner = at.get(step)
            at[step] = at = inner if isinstance(inner, dict) else {}
        at[last] = value
    return out


def _rows(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [_nest(v.items()) for v in value if isinstance(v, dict)]
    if not isinstance(value, dict):
        return []
    numbered = sorted((k for k in value if k.isdecimal()), key=int)
    return [value[k] for k in numbered if isinstance(value[k], dict)]
