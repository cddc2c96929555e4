"""AG2 1.x hub: the write-ahead log of a network's channels, and its audit log.

`Network(...)` with a disk store writes `channels/<id>/wal.jsonl` and `audit/audit.jsonl`; package `ag2` from 1.0.
Envelopes name their sender and audience; without an audience every participant of the channel gets them, and the
audit log lists the participants. Audit and channels are read together, so import the folder: without the audit log
agents go by their ids and nobody can be said to have heard. A list of ids and names that a program wrote
(`{agent_id: name}`) names them, too; `agents/<id>/inbox.cursors.json` says up to which envelope an agent has read.
Tools, models and what an agent did with a message are not in it.

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
from earwitness.ingest.tale import Tale, listed, named, said
from earwitness.schema.model import Delivery, Trace
from earwitness.schema.words import Grade

_AUDIT = {"agent_registered", "channel_created", "channel_closed"}
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


@dataclass
class _Channel:
    envelopes: list[tuple[dict[str, Any], Place]] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    read: dict[str, tuple[str, Place]] = field(default_factory=dict)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.names: dict[str, str] = {}
        self.channels: dict[str, _Channel] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if _is_registry(value):
            self.names = {**value, **self.names}  # the hub's own word goes first
        elif _is_cursors(value):
            yield from self._cursors(value, place)
        elif "envelope_id" not in value:
            yield from self._audit(value, place)
        elif not self.context.claim("ag2-envelope", str(value["envelope_id"])):
            yield Skip("duplicate", "the same envelope was read before", place)
        elif value["event_type"].startswith("ag2.channel."):
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
        if value["kind"] == "agent_registered" and named(value.get("name")):
            self.names[str(value["agent_id"])] = value["name"]
        elif value["kind"] == "channel_created":
            channel = self.channels.setdefault(str(value["channel_id"]), _Channel())
            channel.members = [str(p) for p in listed(value.get("participants"))]
        else:
            yield Skip("ignored" if value["kind"] in _AUDIT else "unknown", "an entry that names nobody", place)

    def finish(self) -> Iterable[Emit]:
        for key, channel in self.channels.items():
            if not channel.envelopes:
                continue
            places = [place for _, place in (*channel.envelopes, *channel.read.values())]
            yield from together(self._told(key, channel), places)
        self.channels.clear()

    def _told(self, key: str, channel: _Channel) -> Iterator[Emit]:
        trace = Trace(id=f"ag2-{key}", framework="ag2", observable=("C2", "C5"))
        tale = Tale(trace, channel.envelopes[0][1])
        for envelope, place in channel.envelopes:
            self._tell(tale, channel, envelope, place.at("/event_data"))
        self._read(tale, channel)
        yield from tale.items()

    def _name(self, key: Any) -> str:
        return self.names.get(str(key), str(key))

    def _tell(self, tale: Tale, channel: _Channel, envelope: dict[str, Any], place: Place) -> None:
        data, sender = envelope["event_data"], tale.actor(self._name(envelope.get("sender_id")))
        text = said(data.get("body", data.get("text")))
        if text is not None:
            routing = data.get("routing")
            handoff = isinstance(routing, dict) and routing.get("kind") == "handoff"
            event = tale.event(
                place,
                "C2",
                text,
                key=str(envelope["envelope_id"]),
                kind="handoff" if handoff else "message",
                sender=sender,
                time=envelope.get("created_at"),
                parent=named(envelope.get("causation_id")),
            )
            audience, grade = self._audience(channel, envelope)
            event.reach([tale.actor(name) or name for name in audience], grade)
        updates = data.get("context_updates", data)
        if isinstance(updates, dict) and isinstance(updates.get("set"), dict) and updates["set"]:
            self._write(tale, updates["set"], sender, envelope, place)

    def _read(self, tale: Tale, channel: _Channel) -> None:
        """What agents have read of what was sent to them; the rest was delivered and no more."""
        ids = [str(envelope["envelope_id"]) for envelope, _ in channel.envelopes]
        for agent, (last, place) in channel.read.items():
            name = self._name(agent)
            for key in ids[: ids.index(last) + 1] if last in ids else ():
                draft = tale.drafts.get(key)
                if draft and any(d.actor == name for d in draft.to):
                    tale.sighting(place, draft.content, name, "input", event=key)

    def _audience(self, channel: _Channel, envelope: dict[str, Any]) -> tuple[list[str], Grade]:
        listed = envelope.get("audience")
        if isinstance(listed, list):
            return [self._name(key) for key in listed], "declared"
        return [self._name(key) for key in channel.members], "broadcast"

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
