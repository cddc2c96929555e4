"""LangChain message dumps: a conversation without the run around it.

`model_dump()` or `messages_to_dict()` of messages, `langchain_core.load.dumps` of them, the `{"messages": [...]}`
that an agent returned, or the result of a classic `AgentExecutor` with its `intermediate_steps`. One message a line,
or a whole conversation a line. There is no run structure: senders are known only where messages are named, what
happened inside of tools and sub-agents is not in it, nor are times.

Obtained by: `model_dump()` or `messages_to_dict()` of messages.
Versions tried: langchain 1.5.2, langchain-classic 1.0.8.
Order: position in the list; no times.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import PurePath
from typing import Any

from earwitness.ingest.boundary import together
from earwitness.ingest.langchain.book import Book
from earwitness.ingest.langchain.dialogue import Dialogue
from earwitness.ingest.langchain.drafts import Met
from earwitness.ingest.langchain.messages import Call, Msg, arguments_text, plain, read_message, read_messages
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.spans.texts import as_text
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

_TYPES = {"human", "ai", "tool", "system", "function", "AIMessageChunk", "remove"}
_SHOWS: tuple[Channel, ...] = ("C1", "C3", "C4", "C6")


class _LangChainMessages:
    NAME = "langchain-messages"
    TITLE = "LangChain messages"
    PRIORITY = 80

    def sniff(self, value: Any) -> bool:
        if isinstance(value, list):
            return bool(value) and _is_message(value[0])
        if not isinstance(value, dict):
            return False
        if isinstance(value.get("messages"), list) and value["messages"]:
            return "event" not in value and _is_message(value["messages"][0])
        return _is_message(value) or _is_result(value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_message(value: Any) -> bool:
    """A message in one of LangChain's own spellings; plain `role` and `content` are anybody's."""
    if isinstance(value, str):
        return "response_metadata=" in value and read_message(value) is not None
    if not isinstance(value, dict):
        return False
    if value.get("lc") and isinstance(value.get("id"), list) and "kwargs" in value:
        return str(value["id"][-1:]).endswith(("Message']", "MessageChunk']"))
    if not isinstance(value.get("type"), str) or value["type"] not in _TYPES:
        return False
    if isinstance(value.get("data"), dict):
        return "content" in value["data"]
    return "content" in value and ("additional_kwargs" in value or "response_metadata" in value)


def _is_result(value: dict[str, Any]) -> bool:
    steps = value.get("intermediate_steps")
    return isinstance(steps, list) and "output" in value and all(isinstance(s, list) and len(s) == 2 for s in steps)


# Where it begins, and its messages.
_Conversation = tuple[Place, Book[Met] | list[Met]]


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.single: tuple[Place, Book[Met]] | None = None
        self.first: _Conversation | None = None
        self.count = 0

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if isinstance(value, dict) and _is_result(value):
            yield from self._whole((place, [Met(*one) for one in _of_result(value, place)]))
        elif isinstance(value, list) or "messages" in value:
            yield from self._whole((place, [Met(msg, place.at(f"/{n}")) for n, msg in enumerate(read_messages(value))]))
        elif msg := read_message(value):
            self.single = self.single or (place, Book(Met))
            self.single[1].append(Met(msg, place))
            self.single[1].rest()
        else:
            yield Skip("unparseable", "not a message as known", place)

    def _whole(self, conversation: _Conversation) -> Iterator[Emit]:
        """A whole conversation is told at once; the first one only when it is known whether it is the only one."""
        self.count += 1
        if self.count == 1:
            self.first = conversation
            return
        yield from self._tell_first()
        yield from _tell(conversation, f"{self._stem}#{self.count}")

    def _tell_first(self) -> Iterator[Emit]:
        first, self.first = self.first, None
        if first:
            yield from _tell(first, self._stem if self.count == 1 and not self.single else f"{self._stem}#1")

    @property
    def _stem(self) -> str:
        return PurePath(self.context.name).name

    def finish(self) -> Iterator[Emit]:
        if self.single:
            yield from _tell(self.single, self._stem)
        yield from self._tell_first()


def _of_result(value: dict[str, Any], place: Place) -> Iterator[tuple[Msg, Place]]:
    """A classic executor's result: what was asked, each action with its observation, the answer."""
    yield Msg(role="human", text=as_text(value.get("input") or "")), place.at("/input")
    for n, (action, observation) in enumerate(value["intermediate_steps"]):
        at = place.at(f"/intermediate_steps/{n}")
        action = plain(action)
        action = action if isinstance(action, dict) else {}
        call_id = str(action.get("tool_call_id") or f"step{n}")
        call = Call(str(action.get("tool") or "tool"), arguments_text(action.get("tool_input")), call_id)
        thought = next(iter(read_messages(action.get("message_log"))), Msg(role="ai"))
        yield Msg(role="ai", text=thought.text, thoughts=thought.thoughts, calls=(call,), name=thought.name), at
        yield Msg(role="tool", text=as_text(observation), name=call.name, call_id=call_id), at
    yield Msg(role="ai", text=as_text(value["output"])), place.at("/output")


def _tell(conversation: _Conversation, trace: str) -> Iterator[Emit]:
    """A conversation; what fails here costs no other."""
    place, messages = conversation
    return together(_told(place, messages, trace), chain((place,), (met.place for met in messages)))


def _told(place: Place, messages: Book[Met] | list[Met], trace: str) -> Iterator[Emit]:
    dialogue = Dialogue()
    agents = {met.msg.name for met in messages if met.msg.role == "ai" and met.msg.name}
    viewer = agents.pop() if len(agents) == 1 else None
    for met in messages:
        dialogue.meet(met.msg, met.place, viewer=viewer if met.msg.role in ("human", "system") else None)
    dialogue.finish(met.msg for met in messages)
    yield from dialogue.ledger.tell(
        Trace(id=trace, framework="langchain", request=dialogue.request, observable=_SHOWS), place
    )


ADAPTER = _LangChainMessages()
