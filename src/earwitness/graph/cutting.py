"""The fewest guards that no way gets past, in one trace: exact search between two bounds.

Ways respect time and a guard stands on an edge at every moment, so a plain minimum cut may be too large, and what a
cut in the graph unrolled over time counts are deliveries, not guards. The bounds decide most traces: from below the
guards of ways that have none in common, from above a minimum cut that forgets time. Between them a bounded search
takes a way that is left and tries each of its guards.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import networkx as nx


class Delivery(NamedTuple):
    """One delivery of a value: `guard` is the number of the guard that would stop it, -1 for none."""

    tail: int
    head: int
    seq: int
    guard: int
    crossing: bool


@dataclass(frozen=True)
class Cutting:
    """Deliveries of one trace, in their order, and from when on each source holds its value."""

    deliveries: list[Delivery]
    sources: dict[int, int]

    def way(self, guarded: frozenset[int]) -> frozenset[int] | None:
        """The guards on a way that gets past `guarded` to somebody who may not have the value; None where none does.

        It is the way with the fewest guards that is found on the first pass in time.
        """
        reached: dict[int, list[tuple[int, frozenset[int]]]] = {n: [(t, frozenset())] for n, t in self.sources.items()}
        best: frozenset[int] | None = None
        for d in self.deliveries:
            if d.guard in guarded:
                continue
            way = min((g for t, g in reached.get(d.tail, ()) if t < d.seq), key=len, default=None)
            if way is None:
                continue
            way = way if d.guard < 0 else way | {d.guard}
            if d.crossing and (best is None or len(way) < len(best)):
                best = way
            known = reached.setdefault(d.head, [])
            if all(len(g) > len(way) for _, g in known):
                known.append((d.seq, way))
        return best


def fewest(cutting: Cutting, guards: int, budget: int) -> tuple[frozenset[int], int]:
    """A smallest set of guards, and a size below which there is none.

    Args:
        cutting: the deliveries.
        guards: how many guards there are to choose from.
        budget: ways looked for before the search is given up; the set is then the best known.
    """
    least = _apart(cutting)
    known = _cut(cutting, guards)
    left = count(budget, -1)
    while least < len(known):
        try:
            found = _search(cutting, frozenset(), least, left)
        except _SpentError:
            break
        if found is not None:
            return found, least
        least += 1
    return known, least


class _SpentError(Exception):
    """The budget is spent."""


def _apart(cutting: Cutting) -> int:
    """How many ways can be found that have no guard in common: each needs one of its own."""
    taken: frozenset[int] = frozenset()
    for n in count():
        way = cutting.way(taken)
        if way is None:
            return n
        taken |= way
    raise AssertionError("counted to the end")


def _search(cutting: Cutting, chosen: frozenset[int], more: int, left: Iterable[int]) -> frozenset[int] | None:
    """`chosen` and at most `more` others that no way gets past; None if there are none such."""
    if next(iter(left)) <= 0:
        raise _SpentError
    way = cutting.way(chosen)
    if way is None:
        return chosen
    if more == 0:
        return None
    for guard in sorted(way):
        found = _search(cutting, chosen | {guard}, more - 1, left)
        if found is not None:
            return found
    return None


def _cut(cutting: Cutting, guards: int) -> frozenset[int]:
    """A minimum cut of the graph without time, each guard a gate of capacity one; then without what is not needed."""
    import networkx as nx
    from networkx.algorithms.flow import edmonds_karp

    graph = _gates(cutting)
    if "sink" not in graph or "source" not in graph:
        return frozenset()
    _, (near, _) = nx.minimum_cut(graph, "source", "sink", flow_func=edmonds_karp)
    cut = {g for g in range(guards) if ("in", g) in near and ("out", g) not in near and ("in", g) in graph}
    for guard in sorted(cut):
        if cutting.way(frozenset(cut - {guard})) is None:
            cut.discard(guard)
    return frozenset(cut)


def _gates(cutting: Cutting) -> "nx.DiGraph":
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_edges_from(("source", node) for node in cutting.sources)
    for d in cutting.deliveries:
        if d.guard < 0:
            graph.add_edge(d.tail, d.head)
            continue
        graph.add_edge(d.tail, ("in", d.guard))
        graph.add_edge(("in", d.guard), ("out", d.guard), capacity=1)
        graph.add_edge(("out", d.guard), "sink" if d.crossing else d.head)
    return graph
