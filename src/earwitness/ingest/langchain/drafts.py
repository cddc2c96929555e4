"""What is kept of a trace until it is told: rows that name each other by number, for most of them wait on disk."""

from typing import Any

import msgspec

from earwitness.ingest.langchain.messages import Msg
from earwitness.ingest.record import Place
from earwitness.schema.words import Channel, Flag, Grade, SightingKind

Time = str | int | float | None
To = tuple[tuple[str, Grade], ...]


class Met(msgspec.Struct, array_like=True, eq=False, gc=False):
    """A message that is not told yet, and where it stands."""

    msg: Msg
    place: Place


class Draft(msgspec.Struct, array_like=True, eq=False, gc=False):
    """An event that is not told yet.

    Attributes:
        kept: its content, as `Texts` gave it.
        hidden: flags that its content shows.
    """

    id: str
    channel: Channel
    kept: str | int
    kind: str
    place: Place
    seq: int
    sender: str | None = None
    to: To = ()
    time: Time = None
    flags: tuple[Flag, ...] = ()
    hidden: tuple[Flag, ...] = ()
    attributes: dict[str, Any] | None = None
    delivered: bool = True


class Seen(msgspec.Struct, array_like=True, eq=False, gc=False):
    """A sighting that is not told yet; one without a text never will be."""

    actor: str | None
    kind: SightingKind
    kept: str | int
    place: Place
    seq: int
    time: Time = None
    event: str | None = None


class Said(msgspec.Struct, array_like=True, eq=False, gc=False):
    """A message that was told, as its copies look for it.

    Attributes:
        has_id: whether it had one.
        calls: the ids of its calls.
        says: whether it holds anything at all.
        kept: its text, as `Texts` gave it.
        key: by which it is found if it has no id; None where role and text say it.
        draft: the number of the event of its text.
        thoughts: the numbers of the events of its reasoning.
        shown: who knows it, if not many do.
        unseen: the number of a sighting by nobody, which stands as long as nobody is known to have been shown it.
        spelt: the hash of its text as it was last spelt.
        before: it was told in another trace.
        heard: somebody beside its author was shown it.
        source: it sums up what was said before.
        hosted: the numbers of the events of calls of the provider's own tools, and of what they gave back.
        hidden: a program was given it, and no reader of the conversation.
    """

    role: str
    name: str | None
    has_id: bool
    calls: tuple[str | None, ...]
    says: bool
    back: bool
    author: str | None
    place: Place
    kept: str | int
    key: int | None
    draft: int | None = None
    thoughts: tuple[int, ...] = ()
    shown: tuple[str, ...] = ()
    unseen: int | None = None
    spelt: int = 0
    before: bool = False
    heard: bool = False
    source: bool = False
    hosted: tuple[int, ...] = ()
    hidden: bool = False


class Asked(msgspec.Struct, array_like=True, eq=False, gc=False):
    """A tool call: what it was told as, and what is known of its effect.

    Attributes:
        id: the first it was known by, if any.
        likeness: of its tool and arguments, the hash.
        draft: the number of its event.
        kind: of that event.
        goto: where the record says that a handoff led.
        child: the agent whose run stands under the call.
        running: its run is known, not only the request for it.
        named: run and request are known to be one by the id of the call.
        result: the number of the message that answered it.
        failed: what that says.
        unfit: its arguments were refused before the tool was called.
        program: it was made by a program, which `agent` then is the tool of, and got its result.
    """

    tool: str
    id: str | None
    likeness: int
    agent: str | None
    draft: int
    kind: str
    goto: str | None = None
    child: str | None = None
    running: bool = False
    named: bool = False
    result: int | None = None
    failed: bool = False
    unfit: bool = False
    program: bool = False
