"""A row of Google ADK's BigQuery analytics plugin taken apart, and one session while its rows are told."""

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from earwitness.ingest.adk_words import store_of
from earwitness.ingest.boundary import together
from earwitness.ingest.dialogue import At, Dialogue
from earwitness.ingest.record import Emit, Record
from earwitness.ingest.spans.identity import clean_name
from earwitness.ingest.spans.texts import fingerprint, loads
from earwitness.schema.model import Delivery
from earwitness.schema.words import Channel, Grade, SightingKind

_PIECE = re.compile(r" \| (?=text: |call: |resp: |other: )")


class Row(NamedTuple):
    """A row, taken apart."""

    type: str
    agent: str | None
    session: str
    content: Any
    attributes: dict[str, Any]
    raw: dict[str, Any]
    at: At

    def get(self, key: str) -> Any:
        """A field of the content."""
        return self.content.get(key) if isinstance(self.content, dict) else None


def row_of(record: Record) -> Row:
    """The row in a record: JSON columns come as text or as objects."""
    raw, place = record
    content, attributes = (_decoded(raw.get(k)) for k in ("content", "attributes"))
    attributes = attributes if isinstance(attributes, dict) else {}
    adk = attributes.get("adk")
    node = adk.get("node") if isinstance(adk, dict) else None
    path = node.get("path") if isinstance(node, dict) else None
    # On some rows `agent` is the root agent; the path ends in the one that acted.
    named = str(path).rpartition("/")[2].partition("@")[0] if path else raw.get("agent")
    at = At(place, raw.get("timestamp"))
    return Row(str(raw["event_type"]), clean_name(named), str(raw["session_id"]), content, attributes, raw, at)


def _decoded(value: Any) -> Any:
    found = loads(value) if isinstance(value, str) else None
    return value if found is None else found


class Session:
    """One session, with those of the agents it called."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self.marks = 0
        self._held: tuple[str | None, list[str], At, bool] | None = None
        self._beside: str | None = None
        self._shown: set[tuple[str | None, bytes]] = set()
        self._state: dict[str, tuple[str, str]] = {}
        self._answers: dict[tuple[str | None, bytes], str] = {}

    def hold(self, agent: str | None, texts: list[str], at: At, *, asks: bool, cut: bool) -> None:
        """Words of a model."""
        self._held = (agent, texts, at, asks) if texts else None
        if cut:
            self.dialogue.lose("truncated", "C6", "cut by the recorder", at.place)

    def ended(self) -> Iterator[Emit]:
        """What was held back; what fails here costs no other session."""
        return together(self._finished(), self.dialogue.held(), self.dialogue.trace)

    def _finished(self) -> Iterator[Emit]:
        self.release(None)
        yield from self.dialogue.finish()

    def release(self, agent: str | None, *, moving: bool = False, but: list[str] | None = None) -> None:
        """Say what was held: beside a call, beside a transfer, or before the answer (`but` that itself)."""
        held, self._held = self._held, None
        if held is None:
            return
        speaker, texts, at, _ = held
        if moving and speaker == agent:
            self._beside = "\n".join(texts)
            return
        for text in texts:
            if text not in (but or ()):
                self.dialogue.think(speaker, text, at, kind="output")

    def beside(self) -> str | None:
        """The words beside a transfer."""
        words, self._beside = self._beside, None
        return words

    def show(self, agent: str | None, text: Any, kind: SightingKind, at: At) -> None:
        """Show a text to an agent, once: every request repeats the history."""
        if isinstance(text, str) and text.strip() and (agent, fingerprint(text)) not in self._shown:
            self._shown.add((agent, fingerprint(text)))
            self.dialogue.sighting(agent, text, kind, at)

    def answer(self, agent: str | None, caller: str | None, text: str, at: At, grade: Grade) -> None:
        """An agent answers the one that called it; told by both."""
        key = (agent, fingerprint(text))
        if key in self._answers:
            self.dialogue.sighting(caller, text, "history", at, self._answers.pop(key))
            return
        to = (Delivery(caller, grade),) if caller else ()
        self.dialogue.settle(final=False)
        self._answers[key] = self.dialogue.event("C2", text, at, kind="answer", sender=agent, to=to)

    def write(self, agent: str | None, key: str, text: str, at: At) -> None:
        """A state key gets a value; the value it has is a copy."""
        store, (known, event) = store_of(key), self._state.get(key, ("", ""))
        self.dialogue.actor(store, "memory", "declared", at.place)
        if event and known == text:
            self.dialogue.sighting(store, text, "state", at, event)
            return
        event = self.dialogue.event(
            "C5", text, at, kind="memory_write", sender=agent, to=(store,), attributes={"key": key}, remember=False
        )
        self._state[key] = (text, event)

    def trouble(self, row: Row) -> None:
        """Errors and cuts."""
        message = row.raw.get("error_message")
        if isinstance(message, str) and message and row.type != "TOOL_ERROR":
            self.marks += 1
            self.dialogue.think(row.agent, message, row.at, kind="error")
        if message or row.raw.get("status") == "ERROR":
            channel: Channel | None = "C4" if row.type == "TOOL_ERROR" else None
            self.dialogue.lose("failed_call", channel, "a row with an error", row.at.place)


def pieces(response: Any) -> tuple[list[str], list[str]]:
    """`text: '..' | call: x` taken apart."""
    texts: list[str] = []
    calls: list[str] = []
    for piece in _PIECE.split(response) if isinstance(response, str) and response else ():
        kind, _, rest = piece.partition(": ")
        if kind == "call":
            calls.append(rest)
        else:
            texts.append(_unquoted(rest) if kind == "text" else piece)
    return texts, calls


def _unquoted(text: str) -> str:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, str) else text
