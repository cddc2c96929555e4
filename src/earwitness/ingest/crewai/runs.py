"""Facts by run. CrewAI writes no run id: what is linked by event ids is one run, and its root event names it."""

from dataclasses import dataclass, field
from sys import intern
from typing import Any, NamedTuple

from earwitness.ingest.chronicle import folded, name_of
from earwitness.ingest.crewai.facts import ROOTS, Fact, id_of, is_internal, within

_LINKS = ("parent_event_id", "started_event_id", "triggered_by_event_id", "previous_event_id")


class Kept(NamedTuple):
    """What is known of a fact that lies on the shelf until its run is told."""

    id: str
    type: str
    parent: str | None
    source: int
    line: int
    offset: int
    size: int


@dataclass
class Run:
    """One kickoff of a crew or flow."""

    id: str
    facts: list[Fact]
    links: "Links"
    by_id: dict[str, Fact] = field(default_factory=dict)
    _types: dict[str, list[Fact]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Order by the bus, not by the line: handlers run in threads."""
        self.facts.sort(key=lambda f: (f.order, f.place.source, f.place.line))
        self.by_id = {f.id: f for f in self.facts}
        for fact in self.facts:
            self._types.setdefault(fact.type, []).append(fact)

    def of(self, *types: str) -> list[Fact]:
        """Facts of some types, in order."""
        if len(types) == 1:
            return self._types.get(types[0], [])
        return [f for f in self.facts if f.type in types]

    def above(self, fact: Fact, *types: str) -> Fact | None:
        """The nearest fact of a type that this one happened inside of."""
        parent, seen = fact.parent, set[str]()
        while parent and parent not in seen:
            seen.add(parent)
            found = self.by_id.get(parent)
            if found and found.type in types:
                return found
            parent = self.links.parents.get(parent)
        return None

    def outputs(self) -> set[tuple[str, str]]:
        """Agent and text of every task output."""
        return {(folded(f.agent or ""), folded(f.text("raw"))) for f in self.of("task_completed")}

    def states(self) -> set[str]:
        """Ids of flow states."""
        found = (name_of(within(f.data, "state", "id")) for f in self.facts)
        return {i for i in found if i}


class Links:
    """Which events belong together, including those of which nothing else is kept."""

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        self._up: dict[str, str] = {}

    def add(self, record: dict[str, Any], own: str, before: str | None) -> None:
        """Link an event to what it names, or to the event before it where it names nothing."""
        own, parent = intern(own), id_of(record.get("parent_event_id"))
        if parent:
            self.parents[own] = parent
        if record["type"] in ROOTS and not parent and not is_internal(record):
            self._find(own)  # a kickoff follows the one before, and is a run of its own
            return
        others = [i for i in (id_of(record.get(k)) for k in _LINKS) if i] or ([before] if before else [])
        for other in others:
            self._up[self._find(own)] = self._find(other)

    def _find(self, own: str) -> str:
        up = self._up
        up.setdefault(own, own)
        while up[own] != own:
            up[own] = up[up[own]]
            own = up[own]
        return own

    def group(self, facts: list[Kept]) -> list[tuple[str, list[Kept]]]:
        """Ids and facts of runs, in the order of their first facts."""
        groups: dict[str, list[Kept]] = {}
        for fact in facts:
            groups.setdefault(self._find(fact.id), []).append(fact)
        return [(root.id, group) for root, group in _adopted(list(groups.values()))]


def _place(fact: Kept) -> tuple[int, int]:
    return fact.source, fact.line


def _root(facts: list[Kept]) -> Kept | None:
    found = [f for f in facts if f.type in ROOTS and not f.parent]
    return min(found, key=_place) if found else None


def _adopted(groups: list[list[Kept]]) -> list[tuple[Kept, list[Kept]]]:
    """Groups with their roots. Where linking records are missing, the kickoff before in the file is the root."""
    rooted = [(root, group) for group in groups if (root := _root(group))]
    orphans = [group for group in groups if not _root(group)]
    for group in orphans:
        first = min(group, key=_place)
        near = [pair for pair in rooted if pair[0].source == first.source]
        before = [pair for pair in near if _place(pair[0]) <= _place(first)]
        if near:
            max(before or near[:1], key=lambda pair: _place(pair[0]))[1].extend(group)
        else:
            rooted.append((first, group))
    return rooted
