"""The typed records that cross room borders, and at the same time the lines of canonical JSONL.

Each class is one `type` of canonical line (`trace`, `actor`, `event`, `sighting`, `value`, `rule`,
`loss`, `link`, `label`). They are frozen `msgspec.Struct`s, which are dataclasses that also decode from JSON at
parser speed. Times are nanoseconds since 1970 UTC, or ISO 8601 text, or seconds / milliseconds /
microseconds told apart by magnitude (see `earwitness.schema.times`).
"""

from typing import Annotated, Any

import msgspec

from earwitness.schema.words import (
    ActorKind,
    Channel,
    Effect,
    Flag,
    Grade,
    LinkKind,
    LossKind,
    Position,
    SightingKind,
    ValueType,
)

Time = str | int | float
# What the columns of a case can hold; a record beyond it is reported, not stored.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


# Lines cannot form cycles, and the collector need not look at hundreds of thousands of them (`gc=False`).
class Line(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="type",
    gc=False,
):
    """A canonical JSONL line."""


class Delivery(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """One recipient of an event, with the evidence that it is one."""

    actor: str
    grade: Grade = "declared"
    delivered: bool = True


class Trace(Line, frozen=True, kw_only=True, gc=False, tag="trace"):
    """One logical run. `observable` lists the channels the format can show at all (None: every channel)."""

    id: str
    framework: str | None = None
    scenario: str | None = None
    domain: str | None = None
    topology: str | None = None
    model: str | None = None
    arm: str | None = None
    adversary: str | None = None
    horizon: Int32 | None = None
    pair: str | None = None
    started_at: Time | None = None
    request: str | None = None
    observable: tuple[Channel, ...] | None = None
    attributes: dict[str, Any] | None = None


class Actor(Line, frozen=True, kw_only=True, gc=False, tag="actor"):
    """A party of a trace. `evidence` names the rung of the ladder that gave the name."""

    trace: str
    name: str
    kind: ActorKind = "agent"
    position: Position = "unknown"
    roles: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    evidence: str | None = None


class Event(Line, frozen=True, kw_only=True, gc=False, tag="event"):
    """The one record that produced a content on a channel."""

    trace: str
    channel: Channel
    content: str
    id: str | None = None
    seq: Int64 | None = None
    time: Time | None = None
    kind: str | None = None
    sender: str | None = None
    to: tuple[str | Delivery, ...] = ()
    parent: str | None = None
    turn: Int32 | None = None
    archetype: str | None = None
    flags: tuple[Flag, ...] = ()
    attributes: dict[str, Any] | None = None


class Sighting(Line, frozen=True, kw_only=True, gc=False, tag="sighting"):
    """A later copy of a content, or an initial input: evidence that `actor` was shown it.

    `kind="initial"` is what an actor was given before anything was said (system prompt, user request).
    """

    trace: str
    content: str
    actor: str | None = None
    kind: SightingKind = "input"
    seq: Int64 | None = None
    time: Time | None = None
    event: str | None = None


class Value(Line, frozen=True, kw_only=True, gc=False, tag="value"):
    """A protected value. Scope: one trace, all traces of a scenario, or (neither given) the whole case."""

    attribute: str
    value: str
    value_type: ValueType | None = None
    subject: str | None = None
    trace: str | None = None
    scenario: str | None = None
    aliases: tuple[str, ...] = ()


class Selectors(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a rule speaks about; an empty selector matches everything, names may hold `*` wildcards."""

    effect: Effect
    id: str | None = None
    scenario: str | None = None
    attributes: tuple[str, ...] = ()
    value_types: tuple[ValueType, ...] = ()
    subjects: tuple[str, ...] = ()
    channels: tuple[Channel, ...] = ()
    recipients: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    kinds: tuple[ActorKind, ...] = ()
    positions: tuple[Position, ...] = ()


class Rule(Selectors, Line, frozen=True, kw_only=True, gc=False, tag="rule"):
    """One policy rule that a trace brings along: it holds in the trace, in its scenario, or everywhere."""

    trace: str | None = None


class Loss(Line, frozen=True, kw_only=True, gc=False, tag="loss"):
    """Something the recording does not hold although it happened: coverage, not leakage."""

    trace: str
    kind: LossKind
    channel: Channel | None = None
    n: Int64 = 1
    detail: str | None = None


class Link(Line, frozen=True, kw_only=True, gc=False, tag="link"):
    """Evidence that trace `other` has to do with `trace`. Joined: it is part of it; else they stay apart."""

    trace: str
    other: str
    kind: LinkKind
    joined: bool = False
    n: Int64 = 1


class Label(Line, frozen=True, kw_only=True, gc=False, tag="label"):
    """Published truth about one event, to compare with; detection never reads it. No leak: `leaked=()`."""

    trace: str
    event: str
    leaked: tuple[str, ...] = ()


Item = Trace | Actor | Event | Sighting | Value | Rule | Loss | Link | Label
ITEM_TYPES: tuple[type[Line], ...] = (Trace, Actor, Event, Sighting, Value, Rule, Loss, Link, Label)
