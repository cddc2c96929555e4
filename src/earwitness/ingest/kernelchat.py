"""Semantic Kernel's chat messages (`ChatMessageContent`), as callbacks, histories and its runtime write them."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.record import Place
from earwitness.ingest.spans.texts import as_text, fingerprint, loads, says_nothing
from earwitness.ingest.tale import USER, Draft, Tale, named, said
from earwitness.schema.model import Delivery

_HANDOFF, _TRANSFER, _DONE = "Handoff", "transfer_to_", "complete_task"
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


def text_of(message: Message) -> str | None:
    """The text items of a message."""
    return said("\n".join(str(i["text"]) for i in items(message, "text") if said(i.get("text")) is not None))


def items(message: Message, kind: str) -> list[dict[str, Any]]:
    """The items of one kind."""
    return [i for i in message["items"] if isinstance(i, dict) and i.get("content_type") == kind]


def time_of(message: Message) -> Any:
    """When a message was made; only model answers know it."""
    metadata = message.get("metadata")
    created = metadata.get("created") if isinstance(metadata, dict) else None
    return created if isinstance(created, int | float | str) and not isinstance(created, bool) else None


def message_id(message: Message) -> str | None:
    """The model's id of an answer."""
    metadata = message.get("metadata")
    return named(metadata.get("id")) if isinstance(metadata, dict) else None


def call_key(trace: str, tool: str, arguments: str) -> tuple[str, ...]:
    """The same for the records of one call in files of different kinds; filters add an override to the arguments."""
    given = loads(arguments)
    if isinstance(given, dict):
        given = {k: v for k, v in given.items() if k != "instructions_override"}
    return "sk-call", trace, tool, fingerprint(arguments if given is None else as_text(given)).hex()


@dataclass
class KernelChat:
    """The messages of one chat, told at its end: handoffs count only where their target spoke after them.

    Attributes:
        tale: what is told of it.
        messages: the messages kept so far.
    """

    tale: Tale
    messages: list[tuple[Message, Place]] = field(default_factory=list)
    _thoughts: set[tuple[str, str]] = field(default_factory=set)
    _keys: set[tuple[str, ...]] = field(default_factory=set)
    _count: Counter[tuple[str, ...]] = field(default_factory=Counter)
    _tools: dict[str, tuple[str, bool]] = field(default_factory=dict)
    _last: Draft | None = None

    def take(self, message: Message, place: Place) -> bool:
        """Keep a message; False says it is a copy: callbacks repeat the first text of a turn at its end."""
        calls = [str(i.get("id")) for i in items(message, "function_call")]
        results = [str(i.get("id")) for i in items(message, "function_result")]
        key = (str(message_id(message)), *(f"call {c}" for c in calls), *(f"result {r}" for r in results))
        text = text_of(message) or ""
        if len(key) > 1 or message_id(message):
            seen = key in self._keys or (len(key) == 1 and (*key, text) in self._keys)
            self._keys |= {key, (key[0], text)} if len(key) > 1 else {(*key, text)}
            if seen:
                return False
        speech = (str(message.get("name")), text)
        if calls:
            self._thoughts.add(speech)
        elif text and speech in self._thoughts:
            return False
        self.messages.append((message, place))
        return True

    def tell(self) -> None:
        """Tell all messages."""
        roles = [m["role"] for m, _ in self.messages]
        if roles and roles[0] != "user" and roles[-1] == "user":
            self.messages.reverse()  # `get_messages` gives the newest first
        for n, (message, place) in enumerate(self.messages):
            self._one(n, message, place)
        self._to_user()

    def _to_user(self) -> None:
        if self._last is not None:
            self._last.channel = "C1"
            self._last.reach([self.tale.actor(USER, "user", "structural") or USER], "structural")

    def _one(self, n: int, message: Message, place: Place) -> None:
        text, name, role = text_of(message), named(message.get("name")), message["role"]
        if role in ("user", "system", "developer"):
            actor = self._next(n) if name is None else None
            if text is not None:
                self.tale.sighting(place.at("/items"), text, self.tale.actor(actor), "initial")
            return
        calls = items(message, "function_call")
        if text is not None:
            self._say(text, name, message, place, aside=bool(calls))
            if not calls and n + 1 < len(self.messages) and self.messages[n + 1][0]["role"] == "user":
                self._to_user()  # who answered
        for call in calls:
            self._ask(call, name, n, message, place)
        for result in items(message, "function_result"):
            self._answer(result, name, place)

    def _next(self, n: int) -> str | None:
        names = (named(m.get("name")) for m, _ in self.messages[n + 1 :] if m["role"] == "assistant")
        return next((name for name in names if name), None)

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
        tool, plugin = str(call.get("name")), call.get("plugin_name")
        function, arguments = str(call.get("function_name")), said(call.get("arguments")) or "{}"
        key = str(call.get("id") or f"{n}:{tool}")
        agent = plugin == function  # an agent that is used as a plugin
        if plugin == _HANDOFF:
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
            to=(self._party(key),),
            time=time_of(message),
        )

    def _party(self, key: str) -> Delivery:
        tool, agent = self._tools[key]
        self.tale.actor(tool, "agent" if agent else "tool", "name-pattern" if agent else "declared")
        return Delivery(tool, "structural" if agent else "declared")

    def _hand_over(
        self, function: str, arguments: str, name: str | None, key: str, n: int, message: Message, place: Place
    ) -> None:
        """A handoff passes no words; the end of the task passes its summary to the user."""
        if function == _DONE:
            summary = loads(arguments)
            text = said(summary.get("task_summary")) if isinstance(summary, dict) else None
            if text is not None:
                self._say(text, name, {**message, "metadata": {}}, place, aside=False)
            return
        target = function.removeprefix(_TRANSFER)
        spoke = any(named(m.get("name")) == target for m, _ in self.messages[n + 1 :])
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
        if text is None or result.get("plugin_name") == _HANDOFF:
            return
        if key not in self._tools:
            agent = result.get("plugin_name") == result.get("function_name") and "plugin_name" in result
            self._tools[key] = (str(result.get("function_name") if agent else result.get("name")), agent)
        sender = self._party(key).actor
        agent = self._tools[key][1]
        to = (Delivery(self.tale.actor(name) or name, "structural" if agent else "declared"),) if name else ()
        self.tale.event(
            place.at("/items"),
            "C2" if agent else "C4",
            text,
            key=f"{key}:result",
            kind="answer" if agent else "tool_result",
            sender=sender,
            to=to,
            parent=key,
        )

    def calls(self) -> list[tuple[str, ...]]:
        """Keys of the calls that were told."""
        drafts = [d for key, d in self.tale.drafts.items() if key in self._tools and d.to]
        return [call_key(self.tale.trace.id, d.to[0].actor, d.content) for d in drafts]
