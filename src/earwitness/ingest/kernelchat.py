"""Semantic Kernel's chat messages (`ChatMessageContent`), as callbacks, histories and its runtime write them."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec.structs import replace

from earwitness.ingest.kernelcalls import DONE, HANDOFF, Asked, Calls, summary_of
from earwitness.ingest.record import Place
from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.spans.texts import fingerprint, says_nothing
from earwitness.ingest.tale import USER, Draft, Tale, named, said
from earwitness.schema.model import Delivery
from earwitness.schema.times import as_time

_TRANSFER = "transfer_to_"
# What an agent is answered where a function failed.
_FAILED = "An error occurred while invoking the function "
_SUMMARY = "Task is completed with summary: "

Message = dict[str, Any]


def is_message(value: Any) -> bool:
    """Whether a value is a chat message of Semantic Kernel."""
    return (
        isinstance(value, dict)
        and value.get("content_type") == "message"
        and isinstance(value.get("items"), list)
        and isinstance(value.get("role"), str)
    )


class Heard(NamedTuple):
    """A message taken apart, once, for all that is asked of it.

    Attributes:
        message: as recorded.
        place: where it stands.
        whole: it is a record of its own.
        id: the model's, of an answer.
        name: of its author.
        text: of its text items.
        calls: its items that are function calls.
        results: its items that are results of them.
    """

    message: Message
    place: Place
    whole: bool
    id: str | None
    name: str | None
    text: str | None
    calls: list[dict[str, Any]]
    results: list[dict[str, Any]]


def hear(message: Message, place: Place, *, whole: bool) -> Heard:
    """Take a message apart."""
    calls, results = items(message, "function_call"), items(message, "function_result")
    name = named(message.get("name"))
    return Heard(message, place, whole, message_id(message), name, text_of(message), calls, results)


def text_of(message: Message) -> str | None:
    """The text items of a message."""
    return said("\n".join(str(i["text"]) for i in items(message, "text") if said(i.get("text")) is not None))


def items(message: Message, kind: str) -> list[dict[str, Any]]:
    """The items of one kind."""
    return [i for i in message["items"] if isinstance(i, dict) and i.get("content_type") == kind]


def _following(messages: list[Heard]) -> list[str | None]:
    """For each message the first agent with a name that speaks after it."""
    found: list[str | None] = []
    name: str | None = None
    for heard in reversed(messages):
        found.append(name)
        name = (heard.name if heard.message["role"] == "assistant" else None) or name
    return found[::-1]


def time_of(message: Message) -> Any:
    """When a message was made; only model answers know it."""
    metadata = message.get("metadata")
    return as_time(metadata.get("created")) if isinstance(metadata, dict) else None


def message_id(message: Message) -> str | None:
    """The model's id of an answer."""
    metadata = message.get("metadata")
    return named(metadata.get("id")) if isinstance(metadata, dict) else None


def identity(heard: Heard) -> tuple[str, ...]:
    """The same for the records of one message in several files; ids of model, calls and results where there are any."""
    calls = [f"call {i.get('id')}" for i in heard.calls]
    results = [f"result {i.get('id')}" for i in heard.results]
    if calls or results:
        return str(heard.id), *calls, *results
    text = heard.text or ""
    return (heard.id, text) if heard.id else (heard.message["role"], str(heard.message.get("name")), text)


def function_of(item: dict[str, Any]) -> tuple[str | None, str]:
    """Plugin and function of a call or result; some records name both in one. An agent as a plugin is named twice."""
    name, function = str(item.get("name")), named(item.get("function_name"))
    if function:
        return named(item.get("plugin_name")), function
    plugin, dash, function = name.partition("-")
    return (plugin, function) if dash else (None, name)


def newest_first(roles: list[str]) -> bool:
    """Whether messages stand in the order of `get_messages`."""
    return bool(roles) and roles[0] != "user" and roles[-1] == "user"


@dataclass
class KernelChat:
    """The messages of one chat, told at its end: handoffs count only where their target spoke after them.

    Attributes:
        tale: what is told of it.
        calls: what a filter saw of the same run.
        messages: the messages kept so far.
    """

    tale: Tale
    calls: Calls
    messages: list[Heard] = field(default_factory=list)
    _thoughts: set[tuple[str, str]] = field(default_factory=set)
    _answers: set[tuple[str, str]] = field(default_factory=set)
    _keys: set[tuple[str, ...]] = field(default_factory=set)
    _count: Counter[tuple[str, ...]] = field(default_factory=Counter)
    _tools: dict[str, tuple[str, bool]] = field(default_factory=dict)
    _results: dict[str, str] = field(default_factory=dict)
    _authors: set[str | None] = field(default_factory=set)
    _last: Draft | None = None

    def know(self, heard: Heard) -> None:
        """What is said with an id, or as the end of a task: the result of a run is a copy of it without any."""
        name = str(heard.message.get("name"))
        if heard.text and heard.id:
            self._answers.add((name, heard.text))
        for call in heard.calls:
            summary = summary_of(str(call.get("arguments"))) if function_of(call) == (HANDOFF, DONE) else None
            self._answers |= {(name, summary)} if summary else set()

    def take(self, heard: Heard) -> bool:
        """Keep a message; False says it is a copy: callbacks repeat the first text of a turn at its end."""
        key, text, called = identity(heard), heard.text or "", bool(heard.calls or heard.results)
        speech = (str(heard.message.get("name")), text)
        if heard.id or called:
            seen = key in self._keys
            self._keys |= {key, (str(heard.id), text)} if called else {key}
        else:
            answer = (speech[0], text.removeprefix(_SUMMARY))
            seen = heard.message["role"] == "assistant" and bool(text) and answer in self._answers
        if seen:
            return False
        if heard.calls:
            self._thoughts.add(speech)
        elif text and speech in self._thoughts:
            return False
        self.messages.append(heard)
        return True

    def tell(self) -> None:
        """Tell all messages, and the calls that only a filter saw in between."""
        self._authors = {m.name for m in self.messages if m.message["role"] == "assistant"}
        self._results = {str(i.get("id")): str(i.get("result")) for m in self.messages for i in m.results}
        self._spoke = {m.name: n for n, m in enumerate(self.messages)}
        self._following = _following(self.messages)
        for author in sorted(name for name in self._authors if name):
            self.tale.actor(author)
        asked = _asked(self.messages)
        self.calls.match(asked, self._authors | {one.tool for one in asked if one.agent})
        for n, heard in enumerate(self.messages):
            self._catch_up(n, heard)
            self._one(n, heard)
        self.calls.rest()
        self._to_user()

    def _catch_up(self, n: int, heard: Heard) -> None:
        """An agent's calls come before its next words, and everything before the last."""
        if heard.message["role"] == "assistant":
            if n == len(self.messages) - 1 and not heard.calls:
                self.calls.rest()
            self.calls.catch_up(lambda call: call.caller == heard.name)

    def _to_user(self) -> None:
        if self._last is not None:
            self._last.channel = "C1"
            self._last.reach([self.tale.actor(USER, "user", "structural") or USER], "structural")

    def _one(self, n: int, heard: Heard) -> None:
        message, place, _, _, name, text, calls, results = heard
        role = message["role"]
        if role in ("user", "system", "developer"):
            actor = self._following[n] if name is None else None
            if text is not None:
                self.tale.sighting(place.at("/items"), text, self.tale.actor(actor), "initial")
            return
        if message.get("is_final") is False:
            self._broken_off(heard)
            return
        if text is not None:
            self._say(text, name, message, place, aside=bool(calls))
            if not calls and n + 1 < len(self.messages) and self.messages[n + 1].message["role"] == "user":
                self._to_user()  # who answered
        for call in calls:
            self._ask(call, name, n, message, place)
        for result in results:
            self._answer(result, name, place)

    def _broken_off(self, heard: Heard) -> None:
        """Pieces of a message that never came in full."""
        if heard.text is None:
            return
        name, key = self.tale.actor(heard.name), f"{heard.id}:pieces"
        self.tale.event(heard.place, "C6", heard.text, key=key, kind="pieces", sender=name, flags=("truncated",))

    def _say(self, text: str, name: str | None, message: Message, place: Place, *, aside: bool) -> None:
        """Words beside a call are thoughts; all others are said, the last of them to the user."""
        text = text.removeprefix(_SUMMARY)
        occasion = (str(name), text)
        self._count[occasion] += 1
        key = f"{message_id(message) or self._count[occasion]}:{name}:{fingerprint(text).hex()[:12]}"
        draft = self.tale.event(
            place.at("/items"),
            "C6" if aside else "C2",
            text,
            key=key,
            kind="thought" if aside else "message",
            sender=self.tale.actor(name),
            time=time_of(message),
        )
        self._last = self._last if aside else draft

    def _ask(self, call: dict[str, Any], name: str | None, n: int, message: Message, place: Place) -> None:
        (plugin, function), tool = function_of(call), str(call.get("name"))
        arguments = said(call.get("arguments")) or "{}"
        key = _key_of(call, n)
        agent = plugin == function  # an agent that is used as a plugin
        if plugin == HANDOFF:
            self._hand_over(function, arguments, name, key, n, message, place)
            return
        self._tools[key] = (function if agent else tool, agent)
        self.tale.event(
            place.at("/items"),
            "C2" if agent else "C3",
            arguments,
            key=key,
            kind="request" if agent else "tool_arguments",
            sender=self.tale.actor(name),
            to=(replace(self._party(key), delivered=not self._is_missing(key)),),
            time=time_of(message),
            flags=("not_delivered",) if self._is_missing(key) else (),
        )
        seen = self.calls.begin(key)
        if seen and key not in self._results:
            self.calls.answer(seen, key, self.tale.actor(name))

    def _is_missing(self, key: str) -> bool:
        """Whether there is no function that a call asked for."""
        return is_refusal(self._results.get(key, ""))

    def _party(self, key: str) -> Delivery:
        tool, agent = self._tools[key]
        self.tale.actor(tool, "agent" if agent else "tool", "name-pattern" if agent else "declared")
        return Delivery(tool, "structural" if agent else "declared")

    def _hand_over(
        self, function: str, arguments: str, name: str | None, key: str, n: int, message: Message, place: Place
    ) -> None:
        """A handoff passes no words; the end of the task passes its summary to the user."""
        if function == DONE:
            self.calls.begin(key)
            text = summary_of(arguments)
            if text is not None:
                self._say(text, name, {**message, "metadata": {}}, place, aside=False)
            return
        target = function.removeprefix(_TRANSFER)
        spoke = self._spoke.get(target, -1) > n
        self.tale.event(
            place.at("/items"),
            "C2",
            function if says_nothing(arguments) else arguments,
            key=key,
            kind="handoff",
            sender=self.tale.actor(name),
            to=(Delivery(self.tale.actor(target) or target, "structural"),) if spoke else (),
            time=time_of(message),
        )

    def _answer(self, result: dict[str, Any], name: str | None, place: Place) -> None:
        key, text = str(result.get("id")), said(result.get("result"))
        plugin, function = function_of(result)
        if text is None or plugin == HANDOFF:
            return
        if key not in self._tools:
            agent = plugin == function
            self._tools[key] = (function if agent else str(result.get("name")), agent)
        sender = self._party(key).actor
        agent = self._tools[key][1]
        if agent:  # what agents did of whom there is no message was done inside of others
            self.calls.catch_up(lambda call: call.caller not in self._authors)
        to = (Delivery(self.tale.actor(name) or name, "structural" if agent else "declared"),) if name else ()
        self.tale.event(
            place.at("/items"),
            "C2" if agent else "C4",
            text,
            key=f"{key}:result",
            kind="answer" if agent else "tool_result",
            sender=None if self._is_missing(key) else sender,
            to=to,
            parent=key,
            flags=("failed",) if self._is_missing(key) or text.startswith(_FAILED) else (),
        )


def _key_of(call: dict[str, Any], n: int) -> str:
    return str(call.get("id") or f"{n}:{call.get('name')}")


def _asked(messages: list[Heard]) -> list[Asked]:
    """The calls in messages that a filter may have seen, too."""
    found = []
    for n, heard in enumerate(messages):
        for call in heard.calls:
            plugin, function = function_of(call)
            agent = plugin == function
            tool = function if agent else str(call.get("name"))
            arguments = said(call.get("arguments")) or "{}"
            found.append(Asked(_key_of(call, n), heard.name, tool, arguments, agent))
    return found
