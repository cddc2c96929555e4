"""The nominal graph of each trace: who was meant to talk to whom.

Where the trace lists the edges (`topology_edges`, pairs of names), these. Else the graph of the declared class, else
that of the class the messages show, over all agents of the trace:

- star: the hub with every other agent, both ways; the hub is the agent with most partners
- mesh: every agent with every other
- hierarchy: the tree found from the first speaker, both ways; agents that took no part have no place in it
- pipeline: from each agent to the next, in the order they first spoke or were spoken to
- pair and mixed: the edges that occurred, the pair both ways
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from earwitness.graph.parties import Bools, ints
from earwitness.graph.shapes import CLASSES, Shapes, read_label
from earwitness.graph.temporal import Ints
from earwitness.schema.case import Case

# Lists that are no pairs of names are no edges.
_LISTED = """
    WITH listed AS (
        SELECT trace, unnest(TRY_CAST(json_extract(attributes, '$.topology_edges') AS VARCHAR[][])) AS edge
        FROM traces WHERE json_type(attributes, '$.topology_edges') = 'ARRAY'
    ), named AS (
        SELECT l.trace, coalesce(a.actor, edge[1]) AS tail, coalesce(b.actor, edge[2]) AS head
        FROM listed l LEFT JOIN aliases a ON a.alias = edge[1] LEFT JOIN aliases b ON b.alias = edge[2]
        WHERE len(edge) = 2
    )
    SELECT DISTINCT n.trace, s.node AS tail, r.node AS head
    FROM named n JOIN node s ON s.trace = n.trace AND s.actor = n.tail
    JOIN node r ON r.trace = n.trace AND r.actor = n.head WHERE s.node <> r.node ORDER BY ALL
"""
BASES = ("edges", "declared", "inferred")


@dataclass(frozen=True)
class Nominal:
    """Edges of the nominal graphs of all traces; `basis` of each trace is an index into BASES, -1 without a graph."""

    tail: Ints
    head: Ints
    basis: Ints

    def columns(self, shapes: Shapes, at: Ints) -> list[pl.Series]:
        """Columns basis, nominal, used and extra for the traces with the numbers `at`."""
        traces, width = len(self.basis), len(shapes.parties) + 1
        trace = shapes.parties.trace
        meant, seen = self.tail * width + self.head, shapes.tail * width + shapes.head
        count = np.bincount(trace[self.tail], minlength=traces)
        used = np.bincount(trace[self.tail[_among(meant, seen)]], minlength=traces)
        extra = np.bincount(trace[shapes.tail[~_among(seen, meant)]], minlength=traces)
        share = np.full(traces, np.nan)
        np.divide(used, count, out=share, where=count > 0)
        basis = pl.Series([*BASES, None]).gather(np.where(self.basis < 0, len(BASES), self.basis)[at])
        return [
            basis.alias("basis"),
            pl.Series("nominal", count[at]),
            pl.Series("used", share[at]).fill_nan(None),
            pl.Series("extra", extra[at]),
        ]


def _among(keys: Ints, others: Ints) -> Bools:
    """Which keys are among the others."""
    known = np.append(np.sort(others), -1)
    found: Bools = known[np.searchsorted(known[:-1], keys)] == keys
    return found


def nominal_graph(case: Case, shapes: Shapes) -> Nominal:
    """The nominal graphs of all traces, after `number_parties`."""
    listed = case.frame(_LISTED)
    class_, declared = _classes(case, shapes)
    own = np.isin(np.arange(len(class_)), ints(listed, "trace"))
    class_ = np.where(own, CLASSES.index("none"), class_)
    made = [(ints(listed, "tail"), ints(listed, "head"))]
    made += [make(shapes, class_ == CLASSES.index(name)) for name, make in _MAKERS.items()]
    tail, head = (np.concatenate(column) for column in zip(*made, strict=True))
    basis = np.where(own, 0, np.where(declared, 1, 2))
    drawn = np.zeros(len(basis), np.bool_)
    drawn[shapes.parties.trace[tail]] = True
    return Nominal(tail, head, np.where(drawn, basis, -1))


def _classes(case: Case, shapes: Shapes) -> tuple[Ints, Bools]:
    """The class that counts for each trace, and whether it was declared."""
    rows = case.rows("SELECT trace, topology FROM traces")
    traces = max([len(shapes.class_), *(number + 1 for number, _ in rows)])
    class_ = np.concatenate([shapes.class_, np.zeros(traces - len(shapes.class_), np.int64)])
    declared = np.zeros(traces, np.bool_)
    known = {label: read_label(label)[0] for label in {label for _, label in rows}}
    for number, label in rows:
        if (name := known[label]) is not None:
            class_[number], declared[number] = CLASSES.index(name), True
    return class_, declared


def _agents(shapes: Shapes, traces: Bools) -> Ints:
    """The agents of the traces, in order."""
    agents = (shapes.parties.table["kind"] == "agent").to_numpy()
    return np.flatnonzero(agents & traces[shapes.parties.trace])


def _both(tail: Ints, head: Ints) -> tuple[Ints, Ints]:
    return np.concatenate([tail, head]), np.concatenate([head, tail])


def _star(shapes: Shapes, traces: Bools) -> tuple[Ints, Ints]:
    agents = _agents(shapes, traces)
    hub = shapes.hub[shapes.parties.trace[agents]]
    others = (hub >= 0) & (hub != agents)
    return _both(hub[others], agents[others])


def _mesh(shapes: Shapes, traces: Bools) -> tuple[Ints, Ints]:
    agents = _agents(shapes, traces)
    trace = shapes.parties.trace[agents]
    low, high = np.searchsorted(trace, trace), np.searchsorted(trace, trace, side="right")
    counts = high - low
    tail = np.repeat(agents, counts)
    offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    head = agents[np.repeat(low, counts) + offsets]
    return tail[tail != head], head[tail != head]


def _hierarchy(shapes: Shapes, traces: Bools) -> tuple[Ints, Ints]:
    nodes, parent = _parents(shapes, traces)
    return _both(parent, nodes)


def _parents(shapes: Shapes, traces: Bools) -> tuple[Ints, Ints]:
    tree, trace = shapes.tree, shapes.parties.trace
    here = np.flatnonzero(traces[trace] & (shapes.root[trace] >= 0)) if len(shapes.root) else np.empty(0, np.int64)
    record = tree.first[tree.at(trace[here], here)]
    below = record >= 0
    here, record = here[below], record[below]
    up = tree.parent[record]
    here, up = here[up >= 0], up[up >= 0]
    # A state of this search is the place of a node in its trace, counted from the first.
    return here, tree.state[up] - tree.base[trace[here]] + tree.low[trace[here]]


def _pipeline(shapes: Shapes, traces: Bools) -> tuple[Ints, Ints]:
    order = np.stack([shapes.tail, shapes.head], axis=1).ravel()
    _, first = np.unique(order, return_index=True)
    nodes = order[np.sort(first)]
    nodes = nodes[traces[shapes.parties.trace[nodes]]]
    nodes = nodes[np.argsort(shapes.parties.trace[nodes], kind="stable")]
    same = shapes.parties.trace[nodes[1:]] == shapes.parties.trace[nodes[:-1]]
    return nodes[:-1][same], nodes[1:][same]


def _pair(shapes: Shapes, traces: Bools) -> tuple[Ints, Ints]:
    tail, head = _both(*_mixed(shapes, traces))
    width = max(len(shapes.parties), 1)
    pairs = np.unique(tail * width + head)
    return pairs // width, pairs % width


def _mixed(shapes: Shapes, traces: Bools) -> tuple[Ints, Ints]:
    here = traces[shapes.parties.trace[shapes.tail]]
    return shapes.tail[here], shapes.head[here]


_MAKERS = {
    "star": _star,
    "mesh": _mesh,
    "hierarchy": _hierarchy,
    "pipeline": _pipeline,
    "pair": _pair,
    "mixed": _mixed,
}
