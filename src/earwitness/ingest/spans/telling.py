"""What the tellers of a trace share: the tree, what was read off it, and the ledger."""

from dataclasses import dataclass, field

from earwitness.ingest.spans.calls import Calls
from earwitness.ingest.spans.ledger import Ledger
from earwitness.ingest.spans.speech import Plan, Route
from earwitness.ingest.spans.tree import Node, Tree
from earwitness.schema.model import Delivery
from earwitness.schema.words import Grade


@dataclass
class Open:
    """A tool call that a model made and that has no span of its own."""

    tool: str
    route: Route | None


@dataclass
class Telling:
    """A trace while it is told.

    Attributes:
        given: the texts that each agent was given by the user, as fingerprints.
        requests: the event with which a run was called, until its first input is seen.
        asked: the words of the first input of an agent that was called, and the event that called it.
        open: calls without a span, by call id, else by tool name.
        programs: calls that a program of an agent's made and got the results of, by their ids and their spans', and
            the tool that ran it.
    """

    tree: Tree
    plan: Plan
    calls: Calls
    ledger: Ledger
    given: dict[str | None, set[bytes]] = field(default_factory=dict)
    requests: dict[Node, str] = field(default_factory=dict)
    asked: dict[tuple[str | None, bytes], str] = field(default_factory=dict)
    open: dict[str, Open] = field(default_factory=dict)
    programs: dict[str, str] = field(default_factory=dict)

    def program(self, *keys: str | None) -> str | None:
        """The tool whose program made a call, by the call's id or its span's; None where a model made it."""
        return next((self.programs[k] for k in keys if k in self.programs), None) if self.programs else None


def to_one(name: str | None, grade: Grade) -> tuple[Delivery, ...]:
    """The delivery to a party, if it has a name."""
    return (Delivery(name, grade),) if name else ()


def to_route(route: Route) -> tuple[Delivery, ...]:
    """The deliveries of a call that goes to agents."""
    return tuple(Delivery(name, route.grade) for name in route.to)
