"""Semantic Kernel chat messages: agent callbacks as JSON lines, chat histories and results as JSON.

Written by the user: `agent_response_callback`, `streaming_agent_response_callback` or `on_intermediate_message`
dumping each `ChatMessageContent` (`model_dump_json`), `ChatHistory.serialize()`, or `get_chat_messages()`; package
`semantic-kernel` 1.x for Python. Messages name their author and never a recipient, carry times only on model answers,
and no id of the run: files are joined by name. What an agent was shown, agents inside of agents used as plugins,
shared memory and artifacts are not recorded; memory and files appear as arguments of plugin functions.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from earwitness.ingest.kernelchat import KernelChat, Message, is_message, items, message_id, text_of
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.tale import Tale, file_stem, named
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

_OBSERVABLE: tuple[Channel, ...] = ("C1", "C2", "C3", "C4", "C6")


class _KernelMessages:
    NAME = "sk-messages"
    TITLE = "Semantic Kernel chat messages"
    PRIORITY = 45

    def sniff(self, value: Any) -> bool:
        return is_message(value) or _is_history(value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_history(value: Any) -> bool:
    messages = value.get("messages") if isinstance(value, dict) else None
    return isinstance(messages, list) and bool(messages) and is_message(messages[0])


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.chat: KernelChat | None = None
        self.pieces: dict[str, list[tuple[Message, Place]]] = {}
        self.whole: set[str] = set()

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if not is_message(value):
            for n, message in enumerate(value["messages"]):
                if is_message(message):
                    self._open(place).take(message, place.at(f"/messages/{n}"))
        elif value.get("is_final") is False:
            self.pieces.setdefault(str(message_id(value)), []).append((value, place))
        elif not value["items"]:
            yield Skip("ignored", "end of a streamed message", place)
        elif not self._open(place).take(value, place):
            yield Skip("duplicate", "the same message was read before", place)
        else:
            self.whole |= {str(message_id(value))} if text_of(value) or items(value, "function_call") else set()

    def _open(self, place: Place) -> KernelChat:
        if self.chat is None:
            trace = Trace(id=f"sk-{file_stem(self.context.name)}", framework="semantic_kernel", observable=_OBSERVABLE)
            self.chat = KernelChat(Tale(trace, place))
        return self.chat

    def finish(self) -> Iterable[Emit]:
        for key, parts in self.pieces.items():
            if key in self.whole:
                reason = "piece of a message that stands there in full"
                yield from (Skip("ignored", reason, place) for _, place in parts)
            else:
                self._unfinished(key, parts)
        if self.chat is not None:
            self.chat.tell()
            yield from self.chat.tale.items()
            told: Counter[tuple[str, ...]] = Counter()
            for call in self.chat.calls():
                self.context.claim(*call, str(told[call]))
                told[call] += 1

    def _unfinished(self, key: str, parts: list[tuple[Message, Place]]) -> None:
        """Pieces of a message that never came in full."""
        first, place = parts[0]
        tale = self._open(place).tale
        text = "".join(str(i.get("text", "")) for m, _ in parts for i in items(m, "text"))
        if text.strip():
            name = tale.actor(named(first.get("name")))
            tale.event(place, "C6", text, key=f"{key}:pieces", kind="pieces", sender=name, flags=("truncated",))


ADAPTER = _KernelMessages()
