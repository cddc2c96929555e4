"""Semantic Kernel runtime log: one JSON line a message between actors of an orchestration.

Written to the logger `in_process_runtime.events`; a user attaches a handler that writes `record.getMessage()`. Same
shape as AutoGen's core log; the ids end in the orchestration's number, which is the run. Direct messages name the
recipient; publications go to every member, and members are named in the log. A handoff passes a name and no words.
Members answer with nothing, which the log calls `Message could not be serialized`. Lost for good: results, but for
those of sequential and concurrent orchestrations, since all others are handed to a callback (a loss); tools, agents
used as plugins, memory, times.

Obtained by: a handler on the logger `in_process_runtime.events`.
Versions tried: semantic-kernel 1.45.0 for Python.
Order: file order; no times.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.actorlog import Party, is_call, is_delivery, of_kernel, party, payload, stage
from earwitness.ingest.boundary import together
from earwitness.ingest.kernelchat import is_message, message_id, text_of, time_of
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.shelf import Whereabouts
from earwitness.ingest.spans.texts import as_text, fingerprint
from earwitness.ingest.tale import USER, Tale, named
from earwitness.schema.model import Delivery, Trace

_HEX = re.compile(r"[0-9a-f]{32}")
_COLLECTION, _MANAGER = "CollectionActor", "ManagerActor"


class _KernelRuntime:
    NAME = "sk-runtime"
    TITLE = "Semantic Kernel runtime log"
    PRIORITY = 45

    def sniff(self, value: Any) -> bool:
        return (is_delivery(value) or is_call(value)) and of_kernel(value)

    def open(self, context: Context) -> "_Reader":
        return _Reader()


@dataclass
class _Run:
    tale: Tale
    members: dict[str, None] = field(default_factory=dict)
    steps: list[Callable[[], None]] = field(default_factory=list)
    places: Whereabouts = field(default_factory=Whereabouts)


class _Reader:
    def __init__(self) -> None:
        self.runs: dict[str, _Run] = {}
        self.count = 0

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        self.count += 1
        if not is_delivery(value):
            yield Skip("unknown", "a record of the runtime that no version is known to write", place)
            return
        kind, at = stage(value)
        sender, receiver, body = _party(value.get("sender")), _party(value.get("receiver")), payload(value)
        run = self._run(sender, receiver, place)
        run.places.append(place)
        for who in (sender, receiver):
            if who and who.name and who.name != _COLLECTION:
                run.members[who.name] = None
        if at == "DELIVER":
            return
        if body is None and kind == "RESPOND" and sender and sender.team:
            yield Skip("ignored", "acknowledgement of a message, which holds nothing", place)
        elif body is None:
            channel = "C1" if receiver is None else "C2"
            lost = f"{kind.lower()} that the log could not write"
            run.tale.lose("content_missing", "C1" if channel == "C1" else "C2", lost, place)
        elif isinstance(body, dict) and is_message(body.get("body")):
            self._say(run, body["body"], sender, receiver, place.at("/payload"))
        else:
            yield from self._other(run, body, sender, place)

    def _say(self, run: _Run, message: dict[str, Any], by: Party | None, to: Party | None, place: Place) -> None:
        text = text_of(message)
        if text is None:
            return
        topic = to is None or not to.name
        key = f"{message_id(message) or self.count}:{fingerprint(text).hex()[:12]}"

        def tell() -> None:
            tale, hearers = run.tale, list(run.members) if topic else [to.name if to else ""]
            if by is None or _of_user(message):
                for name in hearers:
                    tale.sighting(place, text, tale.actor(name), "initial")
                return
            sender = tale.actor(named(message.get("name")) or by.name)
            final = hearers == [_COLLECTION]
            event = tale.event(
                place,
                "C1" if final else "C2",
                text,
                key=key,
                kind="final" if final else "message",
                sender=sender,
                time=time_of(message),
            )
            if final:
                event.to.append(Delivery(tale.actor(USER, "user", "structural") or USER, "structural"))
            else:
                names = [tale.actor(n) or n for n in hearers if n != by.name]
                event.reach(names, "broadcast" if topic else "declared")

        run.steps.append(tell)

    def _other(self, run: _Run, body: Any, by: Party | None, place: Place) -> Iterable[Emit]:
        """A name alone is a turn given by a manager, or handed over by an agent."""
        target = named(body.get("agent_name")) if isinstance(body, dict) else None
        key, text = f"m{self.count}", as_text(body)
        if by is None or by.name.endswith(_MANAGER) or body == {}:
            yield Skip("ignored", "request to speak", place)
            return

        def tell() -> None:
            tale = run.tale
            to = (Delivery(tale.actor(target) or target, "declared"),) if target else ()
            kind = "handoff" if target else "message"
            tale.event(place.at("/payload"), "C2", text, key=key, kind=kind, sender=tale.actor(by.name), to=to)

        run.steps.append(tell)

    def _run(self, sender: Party | None, receiver: Party | None, place: Place) -> _Run:
        key = next((who.team for who in (receiver, sender) if who and who.team), "default")
        if key not in self.runs:
            trace = Trace(id=f"sk-{key}", framework="semantic_kernel", observable=("C1", "C2"))
            self.runs[key] = _Run(Tale(trace, place))
        return self.runs[key]

    def finish(self) -> Iterable[Emit]:
        for run in self.runs.values():
            yield from together(_told(run), run.places)
        self.runs.clear()


def _told(run: _Run) -> Iterator[Emit]:
    for step in run.steps:
        step()
    if run.tale.drafts and all(draft.channel != "C1" for draft in run.tale.drafts.values()):
        run.tale.lose("content_missing", "C1", "result that was handed to a callback", run.tale.place)
    yield from run.tale.items()


def _of_user(message: dict[str, Any]) -> bool:
    """Whether an actor passes on what a person said: a model's answers have the names of their agents."""
    return message["role"] == "user" and named(message.get("name")) is None


def _party(raw: Any) -> Party | None:
    """The topic of an orchestration is its bare number."""
    who = party(raw)
    return Party("", who.name, who.key) if who and who.team is None and _HEX.fullmatch(who.name) else who


ADAPTER = _KernelRuntime()
