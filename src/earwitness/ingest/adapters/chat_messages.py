"""Chat-message JSONL: messages and items as the providers' APIs write them, without a framework around.

Conversations a line (`{"messages": [...]}`: fine-tuning files, request logs, with `response` beside or not), batch
input and output files, responses of the chat, Responses, Anthropic and Gemini APIs, stored chats of the Vercel AI SDK,
ShareGPT (`conversations` of `from` and `value`), or one message or item a line or in an array
(`result.to_input_list()`). There are no ids of runs, no times and no agents: a conversation is a line or a file, the
speaker is a message's `name`, else `assistant`. The last words before a request or the end went to the user. Tools
that the provider runs are tools; what a program of the model's calls and gets (`caller`) is the program's, not the
agent's. Agents behind tools, shared memory and artifacts cannot be seen; reasoning is there only where the provider
returns it.

Obtained by: a log of requests, a batch file, a fine-tuning file, or `result.to_input_list()`.
Versions tried: openai 3.57.0, openai-agents 0.24.0; the other APIs after their documentation.
Order: position in the list; no times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.dialogue import At, Dialogue, trace_of_file
from earwitness.ingest.record import Context, Emit, Place, Record, Skip, first_scalar
from earwitness.ingest.talk import Talk, is_item, is_message
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

_OBSERVABLE: tuple[Channel, ...] = ("C1", "C3", "C4", "C6")
_AGENT = "assistant"
_SHARED = ("conversation_id", "session_id", "thread_id")
_KEYS = (*_SHARED, "custom_id", "id", "requestId", "recordId")
_TIMES = ("timestamp", "created_at", "created", "time", "ts")
_INSTRUCTIONS = ("system", "instructions", "systemInstruction", "system_instruction")
_SHAREGPT = {
    "human": "user",
    "gpt": "assistant",
    "observation": "tool",
    "function_response": "tool",
    "chatgpt": "assistant",
}
# The answers of a batch are numbered after whatever its requests may hold.
_ANSWERS = 1 << 20


class _ChatMessages:
    NAME = "chat-messages"
    TITLE = "Chat messages (OpenAI, Anthropic, Gemini, Vercel AI SDK, ShareGPT, batch files)"
    PRIORITY = 90

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        batch = isinstance(value.get("custom_id"), str) and ("response" in value or "body" in value)
        return is_message(value) or is_item(value) or batch or any(True for _ in _lists(value))

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


# Where lists of messages stand, requests before what answers them.
_BEDROCK = (("input", "inputBodyJson"), ("modelInput",))
_PATHS = (
    *(("body",), ("request",), ("request", "body"), *_BEDROCK, ("input",), ()),
    *(("response",), ("response", "body"), ("output", "outputBodyJson"), ("modelOutput",)),
)


def _lists(value: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The lists of messages in a record, in the order in which they were said."""
    for path in _PATHS:
        inner = _at(value, path) if not path or path[0] in value else None
        if isinstance(inner, dict):
            pointer = "".join(f"/{key}" for key in path)
            yield from ((pointer + name, found) for name, found in _messages(inner))


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _messages(value: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for key in ("messages", "conversations", "contents", "input", "output", "choices", "candidates"):
        found = value.get(key)
        if isinstance(found, list) and found and _spoken(found[0]):
            yield f"/{key}", found
    if value.get("type") == "message" and value.get("role") == "assistant" and "stop_reason" in value:
        yield "", [value]
    answer = value.get("output")
    if isinstance(answer, dict) and is_message(answer.get("message")):  # of Bedrock's Converse API
        yield "/output", [answer["message"]]


def _spoken(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    return is_message(_plain(item)) or is_item(item)


def _plain(item: Any) -> Any:
    """A message in the form of the APIs: of a choice its message, of ShareGPT its role."""
    if not isinstance(item, dict):
        return item
    if isinstance(item.get("message"), dict):
        return item["message"]
    if isinstance(item.get("content"), dict) and "parts" in item["content"]:  # a candidate of Gemini's
        return {"role": "model", **item["content"]}
    if isinstance(item.get("parts"), list) and "role" not in item:
        return {"role": "user", **item}
    if isinstance(item.get("from"), str) and "value" in item:
        role = _SHAREGPT.get(item["from"], item["from"])
        if role == "function_call":
            return {"role": "assistant", "content": [{"type": "tool_call", "arguments": item["value"]}]}
        return {"role": role, "content": item["value"]}
    return item


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self._file: str | None = None
        self._talks: dict[str, Talk] = {}
        self._lines = 0

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        self._lines += 1
        if (is_message(value) and "stop_reason" not in value) or is_item(value):
            return self._line(value, place)
        return self._conversation(value, place)

    def _line(self, value: dict[str, Any], place: Place) -> Iterator[Emit]:
        """One message of a conversation that goes over many records."""
        key = _key(value, _SHARED) or ""
        talk = self._talks.get(key)
        if talk is None:
            talk = self._talks[key] = self._open(key or self._name(), At(place))
        if not talk.tell(value, At(place, first_scalar(value, _TIMES))):
            yield Skip("ignored", "a message without content", place)
        yield from talk.dialogue.drain()

    def _conversation(self, value: dict[str, Any], place: Place) -> Iterator[Emit]:
        key = _key(value, _KEYS)
        lists = list(_lists(value))
        answers = key is not None and isinstance(value.get("response"), dict) and len(lists) == 1
        if key and not self.context.claim("chat-messages", key, "answers" if answers else "conversation"):
            yield Skip("duplicate", "the same conversation was read before", place)
            return
        trace = key or f"{self._name()}#{self._lines}"
        talk = self._open(trace, At(place), first=_ANSWERS if answers else 0)
        self._tell_all(talk, value, lists, place)
        if not lists:
            talk.dialogue.lose("failed_call", "C1", "a request of a batch without an answer", place)
        elif talk.agent == _AGENT:  # a request that nobody answers was put to the model all the same
            talk.dialogue.settle(final=True)
            talk.dialogue.acts(_AGENT, place)
        yield from talk.dialogue.finish()

    def _tell_all(self, talk: Talk, value: dict[str, Any], lists: list[tuple[str, list[Any]]], place: Place) -> None:
        time, lost = first_scalar(value, _TIMES), 0
        for path in ((), ("body",), ("request",), ("request", "body"), *_BEDROCK):
            inner = _at(value, path)
            for key in _INSTRUCTIONS if isinstance(inner, dict) else ():
                said = inner[key].get("parts") if isinstance(inner.get(key), dict) else inner.get(key)
                if isinstance(said, str | list):
                    at = At(place.at("".join(f"/{p}" for p in (*path, key))), time)
                    talk.tell({"role": "system", "content": said}, at)
        for pointer, messages in lists:
            for n, item in enumerate(messages):
                where = pointer if item is value else f"{pointer}/{n}"
                lost += not talk.tell(_plain(item), At(place.at(where), time))
        if lost:
            talk.dialogue.lose("dropped", None, "messages without content or of a kind not known", place, lost)

    def _open(self, trace: str, at: At, *, first: int = 0) -> Talk:
        return Talk(Dialogue(Trace(id=trace, observable=_OBSERVABLE), at, first=first, stand_in=_AGENT), _AGENT)

    def _name(self) -> str:
        self._file = self._file or trace_of_file(self.context, "chat")
        return self._file

    def finish(self) -> Iterator[Emit]:
        for talk in self._talks.values():
            yield from talk.dialogue.ended()


def _key(value: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    """The id of a conversation, by the first of these keys that is a text."""
    for key in keys:
        found = value.get(key)
        if type(found) is str:
            return found
    return None


ADAPTER = _ChatMessages()
