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


def bfs(tails: Ints, heads: Ints, starts: Ints, groups: Ints) -> Distances:
    """Hops from each start to every node it reaches.

    All searches advance together, one array operation a level, so the cost is that of the edges walked
    and not of the number of graphs.

    Args:
        tails: edge sources, as node numbers.
        heads: edge targets.
        starts: node each search begins at.
        groups: the graph each node belongs to, non-decreasing; no edge leaves its graph.
    """
    order = np.argsort(tails, kind="stable")
    heads, first = heads[order], np.searchsorted(tails[order], np.arange(len(groups) + 1))
    low, high = np.searchsorted(groups, groups[starts]), np.searchsorted(groups, groups[starts], side="right")
    # A state is (search, node of its graph); all states of all searches stand in one array.
    base = np.concatenate([[0], np.cumsum(high - low)])
    seen = np.zeros(int(base[-1]), np.bool_)
    search, node = np.arange(len(starts), dtype=np.int64), starts.astype(np.int64)
    found: list[tuple[Ints, Ints]] = []
    hops: list[Ints] = []
    while len(node):
        seen[base[search] + node - low[search]] = True
        found.append((search, node))
        hops.append(np.full(len(node), len(hops), np.int64))
        search, node = _step(search, node, first, heads)
        search, node = _fresh(search, node, base, low, seen)
    if not found:
        return Distances(*(np.empty(0, np.int64) for _ in range(3)))
    return Distances(np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found]), np.concatenate(hops))


def _step(search: Ints, node: Ints, first: Ints, heads: Ints) -> tuple[Ints, Ints]:
    """The states one edge away, with repeats."""
    counts = first[node + 1] - first[node]
    offsets = np.repeat(first[node] - (np.cumsum(counts) - counts), counts)
    return np.repeat(search, counts), heads[offsets + np.arange(len(offsets))]


def _fresh(search: Ints, node: Ints, base: Ints, low: Ints, seen: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Those not seen before, each once."""
    state, at = np.unique(base[search] + node - low[search], return_index=True)
    at = at[~seen[state]]
    return search[at], node[at]


def chase(parents: Ints) -> Ints:
    """Steps from each entry of a forest to its root; -1 in `parents` marks a root. On a cycle there is none: -1.

    Pointer doubling: the number of rounds grows with the logarithm of the longest chain.
    """
    depth = np.where(parents >= 0, 1, 0)
    at = parents.copy()
    for _ in range(max(len(parents), 1).bit_length() + 1):
        alive = np.flatnonzero(at >= 0)
        if not len(alive):
            return depth
        depth[alive] += depth[at[alive]]
        at[alive] = at[at[alive]]
    depth[at >= 0] = -1
    return depth


def roots(parents: Ints) -> Ints:
    """The root of each entry of a forest; an entry on or above a cycle gets -1."""
    at = np.where(parents >= 0, parents, np.arange(len(parents)))
    for _ in range(max(len(parents), 1).bit_length() + 1):
        at = at[at]
    return np.where(parents[at] < 0, at, -1) if len(at) else at
