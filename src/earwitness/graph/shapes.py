"""The shape of every trace: class, depth and size of its graph of messages between agents.

Classes: `none` (no message between agents), `pair`, `star` (the root with everybody, nobody else with anybody),
`mesh` (everybody with everybody), `pipeline` (one way along a line), `hierarchy` (a deeper tree), `mixed`. The root is
the first agent to send a message.
"""

import re
from dataclasses import dataclass

import numpy as np

from earwitness.graph.parties import Flows, Parties
from earwitness.graph.temporal import Contacts, Ints, Spread, Starts, index, spread

CLASSES = ("none", "pair", "star", "mesh", "pipeline", "hierarchy", "mixed")
# How recorders call them. A number at the end is the count of agents, as in CW-7.
_WORDS = {
    "star": ("cw", "star", "hub", "hub and spoke", "coordinator worker", "orchestrator", "supervisor"),
    "mesh": ("p2p", "mesh", "full mesh", "group", "group chat", "peer to peer", "swarm", "round robin"),
    "hierarchy": ("hier", "hierarchy", "hierarchical", "tree"),
    "pipeline": ("pipeline", "chain", "sequential", "line"),
}
_KNOWN = {word: name for name, words in _WORDS.items() for word in words}


def read_label(label: str | None) -> tuple[str | None, int | None]:
    """Class and size in a declared label such as `CW-7`, `P2P-4`, `Hier-7` or `group`; None where it does not say."""
    if not label:
        return None, None
    words, _, size = re.fullmatch(r"(.*?)([-_ ]+(\d+))?", label.strip(), re.DOTALL).groups()  # type: ignore[union-attr]
    name = _KNOWN.get(re.sub(r"[-_ ]+", " ", words).strip().lower())
    return name, int(size) if size and name and len(size) < 6 else None


@dataclass(frozen=True)
class Shapes:
    """The graphs of messages between agents, of all traces.

    Attributes:
        parties: of all traces.
        tail, head: distinct edges, in order of their first message.
        root: first agent of each trace to send a message, -1 without one; by number of the trace.
        hub: the agent with most partners, likewise.
        class_, depth, size: of each trace; size counts agents that took part.
        tree: breadth first search from the root over edges in either direction; search number = trace.
    """

    parties: Parties
    tail: Ints
    head: Ints
    root: Ints
    hub: Ints
    class_: Ints
    depth: Ints
    size: Ints
    tree: Spread


def find_shapes(parties: Parties, flows: Flows) -> Shapes:
    """Classify the graphs of messages of all traces at once."""
    tail, head = _edges(flows, len(parties))
    one, other = _pairs(tail, head, len(parties))
    traces = int(parties.trace.max(initial=-1)) + 1
    root = _first_of(parties.trace[tail], tail, traces)
    tree = _tree(parties, one, other, root)
    degree = np.bincount(one, minlength=len(parties)) + np.bincount(other, minlength=len(parties))
    taking = np.flatnonzero(degree > 0)
    size = np.bincount(parties.trace[taking], minlength=traces)
    depth, reached = _depths(parties, tree, root)
    facts = _Facts(
        size,
        np.bincount(parties.trace[one], minlength=traces),
        np.bincount(parties.trace[tail], minlength=traces),
        _most(parties.trace, degree, traces),
        np.where(root >= 0, degree[root], 0) if len(degree) else np.zeros(traces, np.int64),
        np.maximum(
            _most(parties.trace, _count(tail, degree), traces), _most(parties.trace, _count(head, degree), traces)
        ),
        reached == size,
    )
    class_ = _classify(facts)
    depth = np.where(class_ == CLASSES.index("star"), 1, depth)
    return Shapes(parties, tail, head, root, _hubs(parties, degree, root), class_, depth, size, tree)


def _edges(flows: Flows, nodes: int) -> tuple[Ints, Ints]:
    kept = flows.contacts.take(flows.message & flows.agents)
    key = kept.tail * nodes + kept.head
    order = np.argsort(kept.seq, kind="stable")
    _, at = np.unique(key[order], return_index=True)
    at = order[np.sort(at)]
    return kept.tail[at], kept.head[at]


def _pairs(tail: Ints, head: Ints, nodes: int) -> tuple[Ints, Ints]:
    """Those that talk, in either direction, each pair once."""
    keys = np.sort(np.minimum(tail, head) * nodes + np.maximum(tail, head))
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
    return keys // max(nodes, 1), keys % max(nodes, 1)


def _first_of(trace: Ints, node: Ints, traces: int) -> Ints:
    out = np.full(traces, -1, np.int64)
    out[trace[::-1]] = node[::-1]
    return out


def _tree(parties: Parties, tail: Ints, head: Ints, root: Ints) -> Spread:
    zeros = np.zeros(2 * len(tail), np.int64)
    both = Contacts(np.concatenate([tail, head]), np.concatenate([head, tail]), zeros, zeros)
    at = np.flatnonzero(root >= 0)
    starts = Starts(at, root[at], np.zeros(len(at), np.int64))
    return spread(index(both, parties.trace), starts, searches=len(root), timed=False)


def _count(nodes: Ints, like: Ints) -> Ints:
    return np.bincount(nodes, minlength=len(like))


def _most(trace: Ints, counts: Ints, traces: int) -> Ints:
    out = np.zeros(traces, np.int64)
    np.maximum.at(out, trace, counts)
    return out


def _depths(parties: Parties, tree: Spread, root: Ints) -> tuple[Ints, Ints]:
    """Longest way from the root of each trace, and how many agents are connected with it."""
    here = np.flatnonzero(root[parties.trace] >= 0) if len(root) else np.empty(0, np.int64)
    hops = np.full(len(parties), -1, np.int64)
    hops[here] = tree.hops[tree.at(parties.trace[here], here)]
    reached = np.bincount(parties.trace[hops >= 0], minlength=len(root))
    return _most(parties.trace, np.maximum(hops, 0), len(root)), reached


def _hubs(parties: Parties, degree: Ints, root: Ints) -> Ints:
    """The agent with most partners; of several the root, else the first by name."""
    is_root = np.zeros(len(parties), np.int64)
    is_root[root[root >= 0]] = 1
    order = np.lexsort((-np.arange(len(parties)), is_root, degree, parties.trace))
    hub = np.full(len(root), -1, np.int64)
    hub[parties.trace[order]] = order
    return np.where(root >= 0, hub, -1)


@dataclass(frozen=True)
class _Facts:
    """Of each trace: agents, pairs, edges, most partners of one, those of the root, most edges one way, connected."""

    size: Ints
    pairs: Ints
    edges: Ints
    most: Ints
    rooted: Ints
    directed: Ints
    whole: np.ndarray[tuple[int], np.dtype[np.bool_]]


def _classify(f: _Facts) -> Ints:
    tree = f.whole & (f.pairs == f.size - 1)
    star = tree & (f.rooted == f.size - 1)
    line = tree & (f.most <= 2) & (f.edges == f.pairs) & (f.directed <= 1)
    rules = [
        (f.size < 2, "none"),
        (f.size == 2, "pair"),
        (f.pairs * 2 == f.size * (f.size - 1), "mesh"),
        (star, "star"),
        (line, "pipeline"),
        (tree, "hierarchy"),
    ]
    return np.select([r for r, _ in rules], [CLASSES.index(n) for _, n in rules], CLASSES.index("mixed"))
