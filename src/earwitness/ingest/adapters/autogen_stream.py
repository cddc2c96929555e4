"""AutoGen agentchat: messages of `run_stream()` as JSON lines, and `TaskResult` as JSON.

Written by the user: `for await m in team.run_stream(task=...)`, each dumped with `model_dump(mode="json")`; or the
result of `team.run(...)` dumped at once. AutoGen 0.4 to 0.7. A message names its source; the recipient only on a
handoff. Neither the run, the team nor its members are recorded, so who heard a message to the team cannot be told
from such a file (a core log or a saved state of the same run tells it). Writes to memories are never recorded, and
files only as arguments of tools. The run is known by the id of its first message; older files without ids by name.

Obtained by: `async for m in team.run_stream(...)`, each message dumped.
Versions tried: autogen-agentchat 0.7.5.
Order: file order, with times from 0.6.2 on.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.agentchat import Chat
from earwitness.ingest.agentmessages import CHUNK, ROUTING, is_message
from earwitness.ingest.boundary import together
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.tale import Tale
from earwitness.schema.model import Trace
from earwitness.schema.times import as_time


class _AutoGenStream:
    NAME = "autogen-stream"
    TITLE = "AutoGen agentchat stream or task result"

    def sniff(self, value: Any) -> bool:
        return is_message(value) or _is_result(value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_result(value: Any) -> bool:
    if not isinstance(value, dict) or "stop_reason" not in value or not isinstance(value.get("messages"), list):
        return False
    return bool(value["messages"]) and is_message(value["messages"][0])


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.chat: Chat | None = None
        self.runs = 0
        self.pieces: list[tuple[str, Place]] = []

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if is_message(value):
            yield from self._keep(value, place)
            return
        messages = [m for m in value["messages"] if is_message(m)]
        kept = [self._take(m, place.at(f"/messages/{n}")) for n, m in enumerate(value["messages"]) if is_message(m)]
        if not any(kept):
            yield Skip("duplicate", "a task result whose messages were read before", place)
        elif len(messages) < len(value["messages"]):
            yield Skip("unknown", "a task result with messages of an unknown type", place)
        yield from self.finish()

    def _keep(self, message: dict[str, Any], place: Place) -> Iterable[Emit]:
        if not self._take(message, place):
            yield Skip("duplicate", "the same message was read before", place)
        elif message["type"] in ROUTING:
            yield Skip("ignored", "choice of the next speaker", place)
        elif message["type"] == CHUNK:
            self.pieces.append((str(message.get("full_message_id")), place))

    def _take(self, message: dict[str, Any], place: Place) -> bool:
        chat = self.chat or self._begin(message, place)
        key = message.get("id")
        fresh = not key or self.context.claim("autogen-message", str(key))
        return fresh and chat.take(message, place)

    def _begin(self, message: dict[str, Any], place: Place) -> Chat:
        key = message.get("id") or f"{self.context.stem}/{self.runs}"
        self.runs += 1
        trace = Trace(
            id=f"autogen-{key}",
            framework="autogen",
            started_at=as_time(message.get("created_at")),
            observable=("C1", "C2", "C3", "C4", "C6"),
        )
        self.chat = Chat(Tale(trace, place))
        return self.chat

    def finish(self) -> Iterable[Emit]:
        chat, self.chat = self.chat, None
        if chat is None or not chat.messages:
            return
        yield from together(_told(chat), chat.places())
        # Where the whole message never came, the pieces are all there is of it.
        whole = [place for key, place in self.pieces if key in chat.ids]
        yield from (Skip("ignored", "piece of a message that stands there in full", place) for place in whole)
        self.pieces.clear()


def _told(chat: Chat) -> Iterator[Emit]:
    chat.tell()
    chat.close()
    yield from chat.tale.items()


ADAPTER = _AutoGenStream()
