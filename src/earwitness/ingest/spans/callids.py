"""Ids of tool calls that were recorded in more than one run: a call that one made and another ran or was shown."""

from collections.abc import Iterator

from earwitness.ingest.record import Place
from earwitness.ingest.spans.tree import Node, Tree

# Shorter ids are counted by scripts and clients, and are the same in every run.
_SHORTEST = 20


class CallIds:
    """The runs in which each call id was met first, and those that share some with them."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._shared: dict[tuple[str, str], list[Place]] = {}

    def note(self, run: str, calls: dict[str, Place]) -> None:
        """Take the call ids of a run."""
        for call, place in calls.items():
            first = self._first.setdefault(call, run)
            if first != run:
                self._shared.setdefault((first, run), []).append(place)

    def shared(self) -> Iterator[tuple[str, str, int, Place]]:
        """Pairs of runs, how many call ids they share, and where the first stands."""
        for (first, other), places in self._shared.items():
            yield first, other, len(places), places[0]


def calls_of(tree: Tree) -> dict[str, Place]:
    """The ids of the calls of a run, each with the place of the first span that names it."""
    met: dict[str, Place] = {}
    for node in tree.nodes:
        for call in _ids(node):
            met.setdefault(call, node.span.place)
    return met


def _ids(node: Node) -> Iterator[str]:
    facts = node.facts
    if facts is None:
        return
    messages = (*facts.inputs, *facts.outputs, *facts.transcript, *facts.received)
    parts = (p.id for m in messages for p in m.parts if p.kind in ("tool_call", "tool_response"))
    for call in (facts.call_id, *parts):
        if call and len(call) >= _SHORTEST and any(map(str.isdigit, call)):
            yield call
