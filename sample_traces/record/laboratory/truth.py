"""What the script put where: one row for every event, recipient and value, kept while the run goes on.

Rows come from the scripted models and from the deliveries that the orchestration made before their eyes; no recording
is read for them.
"""

from dataclasses import dataclass, field
from typing import Any

from record.laboratory.mind import Items, Say


@dataclass
class Told:
    """An event.

    Attributes:
        channel: C1 to C7.
        sender: who produced it.
        to: who got it, in order.
        items: attributes and forms in it.
        mark: the id that the framework gives the message or call, and what of it this is.
        turn: of the run.
        archetype: of that turn.
    """

    channel: str
    sender: str
    to: list[str]
    items: Items
    mark: str
    turn: int
    archetype: str


@dataclass
class Truth:
    """The events of one run."""

    trace: str
    events: list[Told] = field(default_factory=list)
    said: dict[str, Items] = field(default_factory=dict)

    def tell(self, channel: str, sender: str, to: list[str], say: Say, mark: str, turn: int, archetype: str) -> Told:
        """An event takes place."""
        told = Told(channel, sender, to, say.items, mark, turn, archetype)
        self.events.append(told)
        self.said[say.text] = say.items
        return told

    def shown(self, told: Told, agent: str) -> None:
        """An agent was shown what another put where it can be read."""
        if agent != told.sender and agent not in told.to:
            told.to.append(agent)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each event, recipient and value; None where there is no recipient, or no value."""
        return [
            {
                "trace": self.trace,
                "seq": seq,
                "mark": told.mark,
                "channel": told.channel,
                "sender": told.sender,
                "recipient": recipient,
                "attribute": attribute,
                "form": form,
                "turn": told.turn,
                "archetype": told.archetype,
            }
            for seq, told in enumerate(self.events)
            for recipient in told.to or [None]
            for attribute, form in told.items or ((None, None),)
        ]
