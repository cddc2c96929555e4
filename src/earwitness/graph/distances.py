"""Breadth-first distances over many small graphs at once, on integer arrays."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Distances(NamedTuple):
    """Reached nodes: index of the start, node, hops (0 for the start itself)."""

    start: Ints
    node: Ints
    hops: Ints


def bfs(tails: Ints, heads: Ints, starts: Ints, nodes: int) -> Distances:
    """Hops from each start to every node it reaches.

    All starts advance together, one array operation a level, so the cost is that of the edges walked and
    not of the number of graphs.

    Args:
        tails: edge sources, node numbers in 0..nodes-1.
        heads: edge targets.
        starts: node each search begins at.
        nodes: number of nodes.
    """
    order = np.argsort(tails, kind="stable")
    heads = heads[order]
    first = np.searchsorted(tails[order], np.arange(nodes + 1))
    front = np.arange(len(starts), dtype=np.int64) * nodes + starts
    seen = front.copy()
    found, hops = [front], [np.zeros(len(front), np.int64)]
    level = 0
    while len(front):
        level += 1
        front = np.setdiff1d(_step(front, first, heads, nodes), seen, assume_unique=False)
        seen = np.union1d(seen, front) if level > 1 or len(front) else seen
        found.append(front)
        hops.append(np.full(len(front), level, np.int64))
    state = np.concatenate(found)
    return Distances(state // nodes if nodes else state, state % nodes if nodes else state, np.concatenate(hops))


def _step(front: Ints, first: Ints, heads: Ints, nodes: int) -> Ints:
    """The states one edge away."""
    start, node = front // nodes, front % nodes
    counts = first[node + 1] - first[node]
    offsets = np.repeat(first[node] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    return np.unique(np.repeat(start, counts) * nodes + heads[offsets + np.arange(len(offsets))])


def chase(parents: Ints) -> Ints:
    """Steps from each entry of a forest to its root; -1 marks a root. An entry on a cycle gets -1."""
    depth = np.zeros(len(parents), np.int64)
    at = parents.copy()
    for _ in range(len(parents) + 1):
        alive = at >= 0
        if not alive.any():
            return depth
        depth[alive] += 1
        at = np.where(alive, parents[at], -1)
    depth[at >= 0] = -1
    return depth
