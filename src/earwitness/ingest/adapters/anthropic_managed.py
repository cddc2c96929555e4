"""Anthropic managed-agent sessions: the event log of a session, one event or one recorded API call a line.

Users write the events of `client.beta.sessions.events.stream` or `.list` to a file; recorders of the client write
arrays of method and payload, where events that were sent come again from the stream. The arguments of a tool call that
the user denied never reached the tool. Messages of an agent go to the user; between threads, to another agent.

The format cannot show reasoning, nor files that tools write; sub-agents show in full only where the events of their
threads were recorded, too.

Obtained by: the events of `client.beta.sessions.events`, written to a file.
Versions tried: recordings in langchain-ai/langsmith-sdk at commit bc8dd67.
Order: file order; times on some events.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from hashlib import blake2b
from typing import Any

from earwitness.ingest.chronicle import USER, Chronicle, name_of, run_name, text_of, undelivered
from earwitness.ingest.codex.items import parts_text
from earwitness.ingest.record import Context, Emit, Made, Place, Record, Skip, is_array
from earwitness.ingest.shelf import Row, Shelf
from earwitness.schema.model import Delivery

_CALLS = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
_RESULTS = ("agent.tool_result", "agent.mcp_tool_result", "user.custom_tool_result")
_PREFIXES = ("agent.", "user.", "session.", "span.")
_CALLER = ("name", "session_thread_id", "agent_name")
_ANSWERS = ("tool_use_id", "mcp_tool_use_id", "custom_tool_use_id")
AGENT = "agent"


class _AnthropicManaged:
    NAME = "anthropic-managed"
    TITLE = "Anthropic managed-agent session"
    PIECES = ("/data",)

    def sniff(self, value: Any) -> bool:
        if isinstance(value, list):
            method = value[0] if len(value) == 2 else None
            return isinstance(method, str) and method.startswith("client.beta.sessions.")
        if not isinstance(value, dict):
            return False
        if isinstance(value.get("data"), list) and value["data"] and isinstance(value["data"][0], dict):
            return _is_event(value["data"][0])
        return _is_event(value) or (value.get("type") == "session" and "environment_id" in value)

    def split(self, record: Record) -> Iterator[Record]:
        """A page of the list of events is an envelope."""
        value, place = record
        if isinstance(value, dict) and is_array(value.get("data")):
            return (Record(event, place.at(f"/data/{n}")) for n, event in enumerate(value["data"]))
        return iter((record,))

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_event(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    own = "processed_at" in value or str(value.get("id")).startswith("sevt_")
    return own and isinstance(kind, str) and kind.startswith(_PREFIXES)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.session: str | None = None
        self.default = AGENT
        self.shelf = Shelf()
        self.events = Row(self.shelf)
        self.system: tuple[str, Place] | None = None
        self.sent: dict[bytes, int] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if isinstance(value, list):
            yield from self._recorded(value[0], value[1], place)
        elif isinstance(value, dict) and value.get("type") == "session":
            self._created(value, place)
        elif isinstance(value, dict) and isinstance(value.get("type"), str):
            yield from self._event(value, place)
        else:
            yield Skip("unparseable", "not an event of a session", place)

    def finish(self) -> Iterable[Emit]:
        with closing(self.shelf):
            if self.events or self.system:
                yield from _tell(self)

    def _recorded(self, method: str, payload: Any, place: Place) -> Iterator[Emit]:
        at = place.at("/1")
        if method.endswith("sessions.create") and isinstance(payload, dict):
            self._created(payload, at)
        elif method.endswith("events.send") and isinstance(payload, list) and len(payload) == 2:
            self.session = self.session or name_of(payload[0])
            events = payload[1].get("events") if isinstance(payload[1], dict) else None
            for n, event in enumerate(events if isinstance(events, list) else []):
                where = at.at(f"/1/events/{n}")
                if isinstance(event, dict) and isinstance(event.get("type"), str):
                    key = _key(event)
                    self.sent[key] = self.sent.get(key, 0) + 1
                    self.events.append((event, where))
                else:
                    yield Skip("unparseable", "not an event of a session", where)
        elif isinstance(payload, dict) and isinstance(payload.get("type"), str):
            yield from self._event(payload, at)
        else:
            yield Skip("ignored", "a call that is no event", place)

    def _created(self, session: dict[str, Any], place: Place) -> None:
        self.session = name_of(session.get("id")) or self.session
        agent = session.get("agent")
        if isinstance(agent, dict):
            self.default = name_of(agent.get("name")) or AGENT
            self.system = (text_of(agent.get("system")), place.at("/agent/system"))

    def _event(self, event: dict[str, Any], place: Place) -> Iterator[Emit]:
        key, own = _key(event), name_of(event.get("id"))
        self.session = self.session or name_of(event.get("session_id"))
        if own and not self.context.claim("anthropic-managed", own):
            yield Skip("duplicate", "the same event was read before", place)
        elif self.sent.get(key):
            self.sent[key] -= 1
            yield Skip("duplicate", "an event that was read when it was sent", place)
        elif event["type"].startswith("span."):
            yield Skip("ignored", "start or end of a model request", place)
        elif event["type"].startswith("session.") and not _names(event) and "error" not in event:
            yield Skip("ignored", "a change of status", place)
        else:
            self.events.append((event, place))


def _key(event: dict[str, Any]) -> bytes:
    answers = [text_of(event.get(k)) for k in (*_ANSWERS, "result")]
    text = "\n".join([text_of(event.get("type")), *answers, parts_text(event.get("content"))])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _names(event: dict[str, Any]) -> bool:
    return "agent_name" in event and isinstance(event.get("session_thread_id"), str)


def _tell(reader: _Reader) -> Iterator[Emit]:
    told = _Telling(reader)
    first = reader.system[1] if reader.system else reader.events[0][1]
    seen = ("C1", "C2", "C3", "C4", "C6")
    yield told.book.head(first, framework="anthropic-managed", started_at=told.started, observable=seen)
    if reader.system:
        yield from told.book.actor(first, reader.default)
        yield from told.book.shown(reader.system[1], reader.default, reader.system[0], "initial")
    for event, place in reader.events:
        yield from told.event(event, place)


class _Telling:
    def __init__(self, reader: _Reader) -> None:
        self.book = Chronicle(reader.session or run_name(reader.context))
        self.threads: dict[Any, str | None] = {}
        self.calls: dict[str, dict[str, Any]] = {}
        self.denied: set[str] = set()
        self.started: str | None = None
        for event, _ in reader.events:
            self._survey(event)
        names = {name for name in self.threads.values() if name}
        self.default = names.pop() if len(names) == 1 and not reader.system else reader.default

    def _survey(self, event: dict[str, Any]) -> None:
        """What must be known of an event before the first one is told."""
        if _names(event):
            self.threads[event["session_thread_id"]] = name_of(event["agent_name"])
        if event["type"] in _CALLS:
            own = str(event.get("id"))
            self.calls[own] = {key: event.get(key) for key in _CALLER if key in event}
            if event.get("evaluated_permission") == "deny":
                self.denied.add(own)
        elif event["type"] == "user.tool_confirmation" and event.get("result") == "deny":
            self.denied.add(str(event.get("tool_use_id")))
        time = event.get("processed_at")
        if isinstance(time, str):
            self.started = min(time, self.started or time)

    def who(self, event: dict[str, Any]) -> str:
        return self._named(event, "session_thread_id", "agent_name") or self.default

    def _named(self, event: dict[str, Any], thread: str, agent: str) -> str | None:
        """Who an event names, by the thread or by the name."""
        return self.threads.get(str(event.get(thread))) or name_of(event.get(agent))

    def event(self, event: dict[str, Any], place: Place) -> Iterator[Emit]:
        kind, who, time = event["type"], self.who(event), event.get("processed_at")
        text = parts_text(event.get("content"))
        if kind in _CALLS:
            yield from self._call(event, who, place)
        elif kind in _RESULTS:
            yield from self._result(event, who, place)
        elif kind == "agent.message":
            yield from self._say("C1", event, place.at("/content"), text, who, (Delivery(USER),))
        elif kind == "agent.thinking":
            if text.strip():
                yield from self._say("C6", event, place.at("/content"), text, who, ())
            else:
                yield self.book.loss(place, "masked", "C6", "reasoning is not in the log")
        elif kind in ("agent.thread_message_sent", "agent.thread_message_received"):
            yield from self._between(event, who, place, text)
        elif kind in ("user.message", "user.define_outcome", "system.message"):
            shown = text or text_of(event.get("description"))
            yield from self.book.shown(place.at("/content"), who, shown, "initial", time)
        else:
            yield from self._rest(event, who, place)

    def _rest(self, event: dict[str, Any], who: str, place: Place) -> Iterator[Emit]:
        kind = event["type"]
        if kind == "user.tool_confirmation":
            text, time = text_of(event.get("deny_message")), event.get("processed_at")
            yield from self.book.shown(place.at("/deny_message"), who, text, "input", time)
        elif kind == "session.error" or "error" in event:
            yield from self._say("C6", event, place.at("/error"), text_of(event.get("error")), None, ())
        elif kind.startswith("session."):
            yield from self.book.actor(place, who)
        else:
            yield Skip("unknown", "an event of a type that is not read", place)

    def _call(self, event: dict[str, Any], who: str, place: Place) -> Iterator[Made]:
        tool, own = name_of(event.get("name")) or "tool", str(event.get("id"))
        to = (undelivered(tool) if own in self.denied else Delivery(tool),)
        yield from self._say("C3", event, place.at("/input"), text_of(event.get("input")), who, to)

    def _result(self, event: dict[str, Any], who: str, place: Place) -> Iterator[Made]:
        own = next((str(event[k]) for k in _ANSWERS if k in event), "")
        call = self.calls.get(own)
        failed, denied = event.get("is_error") is True, own in self.denied
        if failed and not denied:  # what was denied did not run: nothing of it is lost
            yield self.book.loss(place, "failed_call", "C4", "a tool call failed")
        yield from self.book.event(
            place.at("/content"),
            "C4",
            parts_text(event.get("content")),
            sender=(name_of(call.get("name")) or "tool") if call and not denied else None,
            to=(self.who(call) if call else who,),
            id=f"{own}/result",
            time=event.get("processed_at"),
            kind="tool_result",
            flags=("failed",) if failed else (),
            sender_kind="tool",
        )

    def _between(self, event: dict[str, Any], who: str, place: Place, text: str) -> Iterator[Made]:
        """A message between threads stands twice: as sent, and as received."""
        sent = event["type"].endswith("sent")
        keys = ("to_session_thread_id", "to_agent_name") if sent else ("from_session_thread_id", "from_agent_name")
        other = self._named(event, *keys)
        sender, target = (who, other) if sent else (other, who)
        if self.book.said(sender, text):
            yield from self.book.shown(place.at("/content"), target, text, "input", event.get("processed_at"))
        else:
            yield from self._say("C2", event, place.at("/content"), text, sender, (Delivery(target),) if target else ())

    def _say(
        self,
        channel: Any,
        event: dict[str, Any],
        place: Place,
        text: str,
        sender: str | None,
        to: tuple[Delivery, ...],
    ) -> Iterator[Made]:
        yield from self.book.event(
            place,
            channel,
            text,
            sender=sender,
            to=to,
            id=name_of(event.get("id")),
            time=event.get("processed_at"),
            kind=event["type"].rpartition(".")[2],
            flags=("not_delivered",) if any(not d.delivered for d in to) else (),
        )


ADAPTER = _AnthropicManaged()
