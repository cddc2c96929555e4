"""Array searches against networkx, on random small graphs."""

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from earwitness.graph.distances import bfs, chase, roots

edges = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30)


@given(edges, st.lists(st.integers(0, 7), max_size=5))
def test_bfs_equals_networkx(pairs: list[tuple[int, int]], starts: list[int]) -> None:
    tails, heads = np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.int64)
    found = bfs(tails, heads, np.array(starts, np.int64), np.zeros(8, np.int64))
    mine = {(int(s), int(n)): int(h) for s, n, h in zip(*found, strict=True)}
    graph = nx.DiGraph(pairs)
    graph.add_nodes_from(range(8))
    expected = {
        (i, n): h for i, s in enumerate(starts) for n, h in nx.single_source_shortest_path_length(graph, s).items()
    }
    assert mine == expected
    assert len(found.node) == len(mine)


@given(st.lists(st.integers(0, 9), max_size=10))
def test_chase_counts_steps_to_the_root(raw: list[int]) -> None:
    parents = np.array([p if p < n else -1 for n, p in enumerate(raw)], np.int64)
    depth = chase(parents)
    for n, p in enumerate(parents):
        assert depth[n] == (0 if p < 0 else depth[p] + 1)


def test_chase_on_a_cycle_ends() -> None:
    assert list(chase(np.array([1, 0, -1], np.int64))) == [-1, -1, 0]


def test_a_long_chain_is_linear() -> None:
    n = 20_000
    found = bfs(np.arange(n - 1), np.arange(1, n), np.array([0]), np.zeros(n, np.int64))
    assert found.hops.max() == n - 1


@given(st.lists(st.integers(0, 9), max_size=10))
def test_roots(raw: list[int]) -> None:
    parents = np.array([p if p < n else -1 for n, p in enumerate(raw)], np.int64)
    for n, root in enumerate(roots(parents)):
        at = n
        while parents[at] >= 0:
            at = int(parents[at])
        assert root == at


def test_many_graphs_do_not_mix() -> None:
    """Two graphs of three nodes each, a search in either."""
    found = bfs(np.array([0, 1, 3, 4]), np.array([1, 2, 4, 5]), np.array([3, 0]), np.array([0, 0, 0, 1, 1, 1]))
    assert set(zip(*(map(int, c) for c in found), strict=True)) == {
        (0, 3, 0),
        (0, 4, 1),
        (0, 5, 2),
        (1, 0, 0),
        (1, 1, 1),
        (1, 2, 2),
    }
