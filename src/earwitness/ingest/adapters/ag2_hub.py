"""AG2 1.x hub: the write-ahead log of a network's channels, and its audit log.

`Network(...)` with a disk store writes `channels/<id>/wal.jsonl` and `audit/audit.jsonl`; package `ag2` from 1.0.
Envelopes name their sender and audience; without an audience every participant of the channel gets them, and the
audit log lists the participants. Who was not registered any more got nothing. Audit and channels are read together, so
import the folder: without the audit log agents go by their ids and nobody can be said to have heard. A list of ids and
names that a program wrote (`{agent_id: name}`) names them, too; `agents/<id>/inbox.cursors.json` says up to which
envelope an agent has read. Why a turn goes to somebody else is told beside what was said.
Tools, models and what an agent did with a message are not in it; nor is what the hub refused to send, or did not hand
to somebody whose rules forbid it.

Obtained by: `Network(...)` with a store on disk.
Versions tried: ag2 1.2.1.
Order: file order, with times.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.boundary import together
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.spans.texts import as_text
from earwitness.ingest.tale import Draft, Tale, listed, named, said
from earwitness.schema.model import Delivery, Trace
from earwitness.schema.words import Grade

# What happens to identities, channels and tasks.
_AUDIT = {
    "agent_registered",
    "channel_closed",
    "channel_created",
    "channel_expired",
    "expectation_violated",
    "resume_set",
    "rule_set",
    "skill_set",
    "task_terminated",
    "turn_failed",
}
# What the hub says by itself.
_OWN = ("ag2.channel.", "ag2.expectation.")
_CONTEXT = "channel context"
_ID = re.compile(r"[0-9a-f]{32}")
_INBOX = re.compile(r"agents[/\\]([^/\\]+)[/\\]inbox\.cursors\.json$")


_ENVELOPE = {"envelope_id", "audience", "event_type", "event_data", "channel_id"}


class _Ag2Hub:
    NAME = "ag2-hub"
    READER = "ag2-hub"
    TITLE = "AG2 1.x hub log"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if _ID.fullmatch(str(next(iter(value), ""))) and (_is_registry(value) or _is_cursors(value)):
            return True
        if "envelope_id" in value and value.keys() >= _ENVELOPE:
            return isinstance(value["event_data"], dict) and isinstance(value["event_type"], str)
        if not isinstance(value.get("kind"), str) or "type" in value:
            return False
        return "at" in value and ("agent_id" in value or "channel_id" in value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_registry(value: dict[str, Any]) -> bool:
    return bool(value) and all(
        _ID.fullmatch(str(key)) and named(name) and not _ID.fullmatch(name) for key, name in value.items()
    )


def _is_cursors(value: dict[str, Any]) -> bool:
    """Whether an object says of channels which envelope was read last."""
    return bool(value) and all(_ID.fullmatch(str(part)) for pair in value.items() for part in pair)


def _parts(event_type: str, data: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What an envelope says: suffix of its key, kind, text. A handoff has a reason, the end of a channel a summary."""
    routing = data["routing"] if isinstance(data.get("routing"), dict) else {}
    handoff = routing.get("kind") == "handoff"
    why = said(routing.get("summary") or routing.get("reason"))
    if why is not None and routing.get("kind") in ("handoff", "finish"):
        yield ":why", str(routing["kind"]), why
    texts = (data.get(key) for key in ("body", "text", "reason"))
    text = next((text for text in map(said, texts) if text is not None), None)
    if text is None and not event_type.startswith("ag2."):
        text = said(data or None)  # of a kind that a program made
    if text is not None:
        yield "", "handoff" if handoff else "message", text


@dataclass
class _Channel:
    envelopes: list[tuple[dict[str, Any], Place]] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    read: dict[str, tuple[str, Place]] = field(default_factory=dict)
    failed: list[tuple[dict[str, Any], Place]] = field(default_factory=list)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.names: dict[str, str] = {}
        self.channels: dict[str, _Channel] = {}
        self.registered = set[str]()
        self.left: dict[str, str] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if _is_registry(value):
            self.names = {**value, **self.names}  # the hub's own word goes first
        elif _is_cursors(value):
            yield from self._cursors(value, place)
        elif "event_type" not in value:
            yield from self._audit(value, place)
        elif not self.context.claim("ag2-envelope", str(value["envelope_id"])):
            yield Skip("duplicate", "the same envelope was read before", place)
        elif value["event_type"].startswith(_OWN):
            yield Skip("ignored", "opening and closing of a channel", place)
        else:
            self.channels.setdefault(str(value["channel_id"]), _Channel()).envelopes.append((value, place))

    def _cursors(self, value: dict[str, Any], place: Place) -> Iterable[Emit]:
        """How far an agent has read; the folder is named after it."""
        found = _INBOX.search(self.context.name)
        if found is None:
            yield Skip("ignored", "how far an agent has read that the name of the file does not tell", place)
            return
        for key, last in value.items():
            self.channels.setdefault(key, _Channel()).read[found[1]] = str(last), place.at(f"/{key}")

    def _audit(self, value: dict[str, Any], place: Place) -> Iterable[Emit]:
        kind, agent = value["kind"], str(value.get("agent_id"))
        if kind in ("agent_registered", "agent_unregistered") and named(value.get("name")):
            self.names[agent] = value["name"]
            self.registered.add(agent)
            if kind == "agent_unregistered":
                self.left[agent] = str(value.get("at"))
        elif kind == "channel_created":
            channel = self.channels.setdefault(str(value["channel_id"]), _Channel())
            channel.members = [str(p) for p in listed(value.get("participants"))]
        elif kind == "turn_failed" and value.get("exc_message"):
            self.channels.setdefault(str(value.get("channel_id")), _Channel()).failed.append((value, place))
        else:
            yield Skip("ignored" if kind in _AUDIT else "unknown", "an entry that names nobody", place)

    def finish(self) -> Iterable[Emit]:
        for key, channel in self.channels.items():
            if not channel.envelopes:
                continue
            places = [place for _, place in (*channel.envelopes, *channel.read.values(), *channel.failed)]
            yield from together(self._told(key, channel), places)
        self.channels.clear()

    def _told(self, key: str, channel: _Channel) -> Iterator[Emit]:
        trace = Trace(id=f"ag2-{key}", framework="ag2", observable=("C2", "C5"))
        tale = Tale(trace, channel.envelopes[0][1])
        for envelope, place in channel.envelopes:
            self._tell(tale, channel, envelope, place.at("/event_data"))
        self._read(tale, channel)
        self._failures(tale, channel)
        yield from tale.items()

    def _name(self, key: Any) -> str:
        return self.names.get(str(key), str(key))

    def _tell(self, tale: Tale, channel: _Channel, envelope: dict[str, Any], place: Place) -> None:
        data, sender = envelope["event_data"], tale.actor(self._name(envelope.get("sender_id")))
        for part, kind, text in _parts(envelope["event_type"], data):
            event = tale.event(
                place,
                "C2",
                text,
                key=str(envelope["envelope_id"]) + part,
                kind=kind,
                sender=sender,
                time=envelope.get("created_at"),
                parent=named(envelope.get("causation_id")),
            )
            self._address(tale, event, channel, envelope)
        updates = data.get("context_updates", data)
        if isinstance(updates, dict) and isinstance(updates.get("set"), dict) and updates["set"]:
            self._write(tale, updates["set"], sender, envelope, place)

    def _address(self, tale: Tale, event: Draft, channel: _Channel, envelope: dict[str, Any]) -> None:
        """Who got an envelope: its audience or its channel; the hub drops what is for nobody that it knows."""
        audience, grade = self._audience(channel, envelope)
        known, when = str(envelope.get("sender_id")) in self.registered, str(envelope.get("created_at"))
        gone = [key for key in audience if known and (key not in self.registered or self.left.get(key, "~") <= when)]
        event.reach([tale.actor(self._name(key)) or key for key in gone], grade, delivered=False)
        event.reach([tale.actor(self._name(key)) or key for key in audience], grade)
        if event.to and not any(d.delivered for d in event.to):
            event.refuse()

    def _failures(self, tale: Tale, channel: _Channel) -> None:
        """Turns that ended with an error: the agent had got the envelope, and what it would have said is lost."""
        for entry, place in channel.failed:
            name, key = self._name(entry.get("agent_id")), str(entry.get("envelope_id"))
            self._see(tale, key, name, place)
            tale.event(
                place.at("/exc_message"),
                "C6",
                str(entry["exc_message"]),
                key=f"{key}:failed:{name}",
                kind="error",
                sender=tale.actor(name),
                time=entry.get("at"),
                flags=("failed",),
                parent=key,
            )
            tale.observe_too("C6")
            tale.lose("failed_call", "C2", "a turn that ended with an error", place)

    def _read(self, tale: Tale, channel: _Channel) -> None:
        """What agents have read of what was sent to them; the rest was delivered and no more."""
        ids = [str(envelope["envelope_id"]) for envelope, _ in channel.envelopes]
        for agent, (last, place) in channel.read.items():
            name = self._name(agent)
            for key in ids[: ids.index(last) + 1] if last in ids else ():
                self._see(tale, key, name, place)

    def _see(self, tale: Tale, envelope: str, name: str, place: Place) -> None:
        """An agent has read an envelope, if it was one of those who got it."""
        for key in (f"{envelope}:why", envelope):
            draft = tale.drafts.get(key)
            if draft and any(d.actor == name and d.delivered for d in draft.to):
                tale.sighting(place, draft.content, name, "input", event=key)

    def _audience(self, channel: _Channel, envelope: dict[str, Any]) -> tuple[list[str], Grade]:
        listed = envelope.get("audience")
        if isinstance(listed, list):
            return [str(key) for key in listed], "declared"
        return channel.members, "broadcast"

    def _write(
        self, tale: Tale, values: dict[str, Any], sender: str | None, envelope: dict[str, Any], place: Place
    ) -> None:
        tale.actor(_CONTEXT, "memory", "channel")
        tale.event(
            place,
            "C5",
            as_text(values),
            key=f"{envelope['envelope_id']}:context",
            kind="memory_write",
            sender=sender,
            to=(Delivery(_CONTEXT, "declared"),),
            time=envelope.get("created_at"),
            parent=named(envelope.get("causation_id")),
        )


ADAPTER = _Ag2Hub()
