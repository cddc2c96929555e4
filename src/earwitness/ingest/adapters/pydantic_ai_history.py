"""Pydantic-AI message history: `result.all_messages_json()`, an array or lines of requests and responses.

Written by `ModelMessagesTypeAdapter` or `all_messages_json()` / `new_messages_json()`. The history is that of one
agent, whose name is not in it: it is called `assistant` here. What agents called as tools did inside is not recorded,
only what they were asked and answered, as tool call and result; messages between agents, shared memory and artifacts
cannot be seen.

Obtained by: `result.all_messages_json()`.
Versions tried: pydantic-ai-slim 2.68.0.
Order: position in the list, with times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.dialogue import At, Dialogue, trace_of_file
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.spans.texts import as_text, fingerprint_of
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel, Flag

_OBSERVABLE: tuple[Channel, ...] = ("C1", "C3", "C4", "C6")
_AGENT = "assistant"
_CALLS = ("tool-call", "builtin-tool-call", "native-tool-call")
_RETURNS = ("tool-return", "builtin-tool-return", "native-tool-return")
_FILES = ("image-url", "audio-url", "video-url", "document-url", "binary", "file")


class _PydanticAiHistory:
    NAME = "pydantic-ai-history"
    TITLE = "Pydantic-AI message history"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or value.get("kind") not in ("request", "response"):
            return False
        parts = value.get("parts")
        return isinstance(parts, list) and all(isinstance(p, dict) and "part_kind" in p for p in parts)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self._file: str | None = None
        self._told: dict[str, Dialogue] = {}
        self._instructed: set[tuple[str, str]] = set()

    def feed(self, record: Record) -> Iterator[Emit]:
        message, place = record
        trace = str(message.get("conversation_id") or message.get("run_id") or self._name())
        key = fingerprint_of([message.get("timestamp"), message["parts"]]).hex()
        if message.get("timestamp") and not self.context.claim("pydantic-ai", trace, str(message["kind"]), key):
            yield Skip("duplicate", "the same message was read before", place)
            return
        if trace not in self._told:
            head = Trace(id=trace, framework="pydantic-ai", observable=_OBSERVABLE)
            self._told[trace] = Dialogue(head, At(place), stand_in=_AGENT)
        told = self._told[trace]
        time = message.get("timestamp")
        self._instruct(told, message, place, time)
        for n, part in enumerate(message["parts"]):
            _part(told, part, At(place.at(f"/parts/{n}"), part.get("timestamp") or time))
        yield from told.drain()

    def _instruct(self, told: Dialogue, message: dict[str, Any], place: Place, time: Any) -> None:
        """Instructions stand in every request of a run; they are shown once."""
        text = message.get("instructions")
        if isinstance(text, str) and (told.trace, text) not in self._instructed:
            self._instructed.add((told.trace, text))
            told.instructions(_AGENT, text, At(place.at("/instructions"), time))

    def _name(self) -> str:
        self._file = self._file or trace_of_file(self.context, "pydantic-ai")
        return self._file

    def finish(self) -> Iterable[Emit]:
        for told in self._told.values():
            yield from told.ended()


def _part(told: Dialogue, part: dict[str, Any], at: At) -> None:
    kind, content = part["part_kind"], part.get("content")
    if kind in _CALLS:
        given, call_id = as_text(part.get("args") or ""), part.get("tool_call_id")
        told.call(_AGENT, part.get("tool_name"), given, at, call_id, hold=True)
    elif kind in _RETURNS:
        tool, call_id = part.get("tool_name"), part.get("tool_call_id")
        told.result(call_id, as_text(content), at, agent=_AGENT, tool=tool, **_fate(part))
    elif kind == "retry-prompt":
        _retry(told, part, at)
    elif kind == "thinking":
        _think(told, part, at)
    elif kind == "user-prompt":
        _prompt(told, content, at)
    else:
        _words(told, kind, as_text(content), at)


def _words(told: Dialogue, kind: Any, text: str, at: At) -> None:
    if kind == "system-prompt":
        told.instructions(_AGENT, text, at)
    elif kind == "text":
        told.say(_AGENT, text, at)
    elif kind == "file":
        told.acts(_AGENT, at.place)
        told.event("C7", text, at, kind="file", sender=_AGENT)
    else:
        told.lose("dropped", None, "a part of a kind that is not known", at.place)


def _think(told: Dialogue, part: dict[str, Any], at: At) -> None:
    if part.get("content"):
        told.think(_AGENT, as_text(part["content"]), at)
    elif part.get("signature"):
        told.lose("masked", "C6", "reasoning that the provider encrypted", at.place)


def _fate(part: dict[str, Any]) -> dict[str, Any]:
    """What became of a call: it may have failed, or not have been allowed."""
    outcome = part.get("outcome")
    flags: tuple[Flag, ...] = ("failed",) if outcome == "failed" else ()
    return {"flags": flags, "denied": outcome == "denied"}


def _retry(told: Dialogue, part: dict[str, Any], at: At) -> None:
    """What a tool, or the check of an output, objected."""
    text = as_text(part.get("content"))
    if part.get("tool_name"):
        call_id, tool, missing = part.get("tool_call_id"), part["tool_name"], is_refusal(text)
        told.result(call_id, text, at, agent=_AGENT, tool=tool, flags=("failed",), denied=missing)
    else:
        told.think(None, text, at, kind="retry")


def _prompt(told: Dialogue, content: Any, at: At) -> None:
    """The user's words; files among them are shown to the agent."""
    pieces = content if isinstance(content, list) else [content]
    texts = [as_text(p.get("content") if _is_text(p) else p) for p in pieces if not _is_file(p)]
    told.request("\n".join(texts), at)
    for piece in filter(_is_file, pieces):
        told.sighting(_AGENT, str(piece.get("url") or piece.get("data") or ""), "artifact", at)


def _is_text(piece: Any) -> bool:
    return isinstance(piece, dict) and piece.get("kind") == "text-content"


def _is_file(piece: Any) -> bool:
    return isinstance(piece, dict) and piece.get("kind") in _FILES


ADAPTER = _PydanticAiHistory()
