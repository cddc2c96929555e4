"""What a dialect says of a span, in words that no dialect owns."""

from typing import Literal

import msgspec

from earwitness.schema.words import Flag

Role = Literal["agent", "llm", "tool", "workflow", "retriever", "memory", "handoff", "guardrail", "other"]
# `data` is a structure nobody recognised as messages; `blob` a file's content; `reference` a file kept elsewhere.
PartKind = Literal["text", "reasoning", "tool_call", "tool_response", "blob", "reference", "data"]
Rung = Literal["attribute", "ancestor", "delegation", "node", "span_name"]


class Part(msgspec.Struct, frozen=True):
    """A piece of a message. Of a call `id` is the call's, `name` the tool's, `text` the arguments.

    Attributes:
        caller: of a call that no model made but a program that it wrote: the call that runs the program.
        hosted: of a call of a tool of the provider's own, which the application does not run.
    """

    kind: PartKind
    text: str
    id: str | None = None
    name: str | None = None
    flags: tuple[Flag, ...] = ()
    caller: str | None = None
    hosted: bool = False


class Message(msgspec.Struct, frozen=True):
    """A message of a conversation; `role` is system, user, assistant or tool."""

    role: str
    parts: tuple[Part, ...]
    name: str | None = None
    id: str | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """A span, told without its dialect.

    Attributes:
        dialect: who says so.
        also: dialects that filled in what was missing.
        role: what the span is.
        agent: the agent the span itself names, and by which rung of the sender ladder.
        tool: name of the tool, retriever, guardrail or memory store.
        call_id: id of the tool call.
        arguments: what the tool was given, as text.
        result: what it gave back, as text.
        writes: a memory operation that stores.
        inputs: what the span was shown.
        outputs: what it produced.
        transcript: a copy of the whole conversation.
        instructions: system instructions.
        copies: raw copies of inputs or outputs that `inputs` and `outputs` tell in parts.
        received: messages that the span says its agent received; of a message `name` is who sent it.
        references: attributes whose content lies elsewhere.
        handoff_from: who passed control.
        handoff_to: who received it.
    """

    dialect: str
    role: Role
    agent: str | None = None
    rung: Rung | None = None
    tool: str | None = None
    call_id: str | None = None
    arguments: str | None = None
    result: str | None = None
    writes: bool = False
    inputs: tuple[Message, ...] = ()
    outputs: tuple[Message, ...] = ()
    transcript: tuple[Message, ...] = ()
    instructions: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    received: tuple[Message, ...] = ()
    references: int = 0
    conversation: str | None = None
    model: str | None = None
    handoff_from: str | None = None
    handoff_to: str | None = None
    also: tuple[str, ...] = ()

    @property
    def silent(self) -> bool:
        """No words were recorded: messages may be there in name only, and instructions are none of a call."""
        told = (*self.inputs, *self.outputs, *self.transcript, *self.received)
        return not (self.copies or any(m.parts for m in told))

    @property
    def answered(self) -> bool:
        """What came out of the span was recorded, in whatever form."""
        return bool(self.copies or any(m.parts for m in (*self.outputs, *self.transcript)))
