"""What a dialogue holds back until more is known: calls without a result, words that may be the last of a turn."""

from typing import NamedTuple

from earwitness.ingest.steps import At
from earwitness.schema.model import Delivery
from earwitness.schema.words import Flag


class Call(NamedTuple):
    """A tool call that has no result yet.

    Attributes:
        told: its event was made; else the result says first what it was.
        callee: the agent behind the tool, where the record names it.
        paused: it waits for a human to allow it.
        program: the tool that ran a program of the agent's, which made the call and got its result.
    """

    agent: str | None
    tool: str | None
    arguments: str
    at: At
    seq: int
    told: bool = True
    callee: Delivery | None = None
    paused: bool = False
    program: str | None = None


class Words(NamedTuple):
    """Words of an agent, as long as nobody knows to whom they went."""

    agent: str | None
    text: str
    at: At
    seq: int
    id: str | None
    flags: tuple[Flag, ...]
