"""What a tier did, as the table `tiers` has it."""

from typing import NamedTuple


class TierOutcome(NamedTuple):
    """Cost and yield of a tier that was asked for.

    Attributes:
        tier: its name.
        ran: whether it ran.
        contents: distinct contents it looked at.
        characters: how long they are together.
        matches: matches that are its own.
        seconds: time it took.
        note: why it did not run, or ran on less than all.
        degraded: less was done than was asked for; the note says what.
    """

    tier: str
    ran: bool
    contents: int = 0
    characters: int = 0
    matches: int = 0
    seconds: float = 0.0
    note: str | None = None
    degraded: bool = False
