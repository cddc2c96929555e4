"""Agents that are called like tools: whose call it is may show only later in the record.

A call of a tool is one of an agent where the record shows an agent of that name, or says so itself: then its arguments
are a request and its result an answer. A name that merely looks like an agent's shows nothing.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from earwitness.ingest.record import Emit, Made, Place
from earwitness.ingest.shelf import Tape
from earwitness.ingest.spans.identity import slug
from earwitness.schema.model import Actor, Delivery, Event, Item, Loss
from earwitness.schema.words import Grade

_PACK, _UNPACK = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(list[Item]).decode
_KINDS = {"C3": "request", "C4": "answer"}


def same_name(name: str) -> str:
    """A name as it is compared: SDKs make the name of a tool of an agent's (`Research Lead`, `research_lead`)."""
    return (slug(name) if name.isascii() else "") or name


class _Held(Tape[Emit]):
    """Items with their places; MessagePack takes a fifth of the time that whole objects take."""

    def _pack(self, values: list[Emit]) -> Any:
        try:
            raw = _PACK([emit[0] for emit in values])
            _UNPACK(raw)
        except (msgspec.MsgspecError, ValueError, OverflowError, TypeError, RecursionError):
            return values  # half of a surrogate pair, or an item that is none: the boundary says so
        return raw, [tuple(emit.place) for emit in values]

    def __reduce__(self) -> tuple[Any, ...]:
        """Packed, for it may lie on a shelf itself."""
        return _held, (self._pack(list(self)),)

    def _unpack(self, packed: Any) -> list[Emit]:
        if isinstance(packed, list):
            return packed
        raw, places = packed
        return [Made(item, Place(*place)) for item, place in zip(_UNPACK(raw), places, strict=True)]


def _held(packed: Any) -> _Held:
    held = _Held()
    held._latest = held._unpack(packed)
    return held


class Delegation:
    """The agents of a trace, and the calls that are of tools as long as no agent has their name."""

    def __init__(self) -> None:
        self._agents: dict[str, str] = {}
        self._held: dict[str, _Held] = {}

    def agent(self, tool: str | None, caller: str | None) -> str | None:
        """The agent that a tool of this name is; nobody calls itself."""
        key = same_name(tool or "")
        known = self._agents.get(key)
        return None if known is None or (caller is not None and key == same_name(caller)) else known

    def meet(self, agent: str) -> list[Emit]:
        """An agent is seen; gives what was called by its name."""
        key = same_name(agent)
        known, held = self._agents.setdefault(key, agent), self._held.pop(key, None)
        return list(as_delegation(held, known, "structural")) if held else []

    def hold(self, tool: str, emits: list[Emit]) -> bool:
        """Keep a call or a result until it is known whose it is; True says that there is an agent of that name."""
        key = same_name(tool)
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = _Held()
        for emit in emits:
            held.append(emit, len(getattr(emit[0], "content", None) or ""))
        return key in self._agents

    def held(self) -> Iterator[Place]:
        """Where that stands which is kept."""
        return (emit.place for held in self._held.values() for emit in held)

    def rest(self) -> Iterator[Emit]:
        """What stays of tools, at the end of the record."""
        held, self._held = self._held, {}
        return chain.from_iterable(held.values())


def as_delegation(emits: Iterable[Emit], agent: str, grade: Grade) -> Iterator[Emit]:
    """A tool's call and result as the request to an agent and its answer."""
    for emit in emits:
        item = emit.item if isinstance(emit, Made) else None
        if isinstance(item, Event) and item.channel in _KINDS and not _own(item, agent):
            yield Made(_between_agents(item, agent, grade), emit.place)
        elif isinstance(item, Loss) and item.channel in _KINDS:
            yield Made(replace(item, channel="C2"), emit.place)
        elif not (isinstance(item, Actor) and item.kind == "tool"):
            yield emit


def _between_agents(event: Event, agent: str, grade: Grade) -> Event:
    kind = _KINDS[event.channel]
    if event.channel == "C4":  # a call that was not allowed was answered by nobody
        return replace(event, channel="C2", kind=kind, sender=agent if event.sender else None)
    to = tuple(Delivery(agent, grade, d.delivered) for d in event.to if isinstance(d, Delivery))
    return replace(event, channel="C2", kind=kind, to=to)


def _own(event: Event, agent: str) -> bool:
    """Whether an agent calls a tool of its own name."""
    names = [event.sender] if event.channel == "C3" else [d.actor for d in event.to if isinstance(d, Delivery)]
    return any(name and same_name(name) == same_name(agent) for name in names)
