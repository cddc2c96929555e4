"""Paths that respect the order of events, over many small graphs at once, on integer arrays.

An edge of such a graph is a *contact*: at one moment one party reached another. A contact can be used only after its
sender was reached. All searches advance together, one array operation a level: level h holds the earliest moment at
which a node can be reached over at most h contacts, so the level at which a node is first reached is its fewest hops,
and the last improvement is its earliest arrival. The cost grows with pairs of parties and levels, not with the
number of contacts between one pair: the next one is found by bisection.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NEVER = np.iinfo(np.int64).max


class Contacts(NamedTuple):
    """Edges with a moment: `rank` orders the contacts of one moment, smaller first."""

    tail: Ints
    head: Ints
    seq: Ints
    rank: Ints

    def take(self, at: Ints | Bools) -> "Contacts":
        """Some of them."""
        return Contacts(*(column[at] for column in self))


class Starts(NamedTuple):
    """Where searches begin: number of the search, node, and the moment after which it may send."""

    search: Ints
    node: Ints
    seq: Ints


@dataclass(frozen=True)
class Spread:
    """What was reached.

    A *state* is a node as seen by one search. Every time a state is reached over more hops but earlier than before,
    a *record* is made; records stand in the order of their hops.

    Attributes:
        base, low: state of (search s, node n) is `base[s] + n - low[s]`.
        hops: of each state, fewest contacts; -1 where it is not reached, 0 at a start.
        arrival: of each state, the earliest moment; NEVER where it is not reached.
        first, last: of each state, the record of the fewest hops, and that of the earliest arrival; -1 without.
        state, contact, parent: of each record; contact and parent are -1 at a start.
        steps: where each level begins among the records.
    """

    base: Ints
    low: Ints
    hops: Ints
    arrival: Ints
    first: Ints
    last: Ints
    state: Ints
    contact: Ints
    parent: Ints
    steps: tuple[int, ...]

    def at(self, search: Ints, node: Ints) -> Ints:
        """The states of nodes as seen by searches; they must lie in the same graph."""
        return self.base[search] + node - self.low[search]

    def levels(self) -> list[tuple[int, int]]:
        """Where the records of each number of hops stand, from one hop on."""
        ends = [*self.steps[1:], len(self.state)]
        return [(begin, end) for begin, end in pairwise(ends) if begin < end]

    def way(self, record: int) -> list[int]:
        """The contacts of a record, first one first."""
        found = []
        while record >= 0 and self.contact[record] >= 0:
            found.append(int(self.contact[record]))
            record = int(self.parent[record])
        return found[::-1]

    def worst(self, grade: Ints) -> Ints:
        """The largest `grade` of a contact on the way of each record; -1 at a start."""
        out = np.full(len(self.state), -1, np.int64)
        for begin, end in self.levels():
            out[begin:end] = np.maximum(out[self.parent[begin:end]], grade[self.contact[begin:end]])
        return out


class Index(NamedTuple):
    """Contacts in order of pair, moment and rank: made once, searched as often as wanted.

    Attributes:
        order: numbers of the contacts in this order.
        key: pair and moment in one number, rising.
        span: how many moments a pair takes up in `key`.
        seq: moment of each contact, as a number from 0.
        moments: what these numbers stand for, rising.
        end: one past the last contact of each pair.
        head: of each pair.
        first: the first pair of each node, and one more.
        groups: the graph each node belongs to.
    """

    order: Ints
    key: Ints
    span: int
    seq: Ints
    moments: Ints
    end: Ints
    head: Ints
    first: Ints
    groups: Ints


def index(contacts: Contacts, groups: Ints) -> Index:
    """Put contacts in order.

    Args:
        contacts: edges; none leaves its graph.
        groups: the graph each node belongs to, non-decreasing.
    """
    moments, contacts = _ranked(contacts)
    span = len(moments) + 2
    order = _in_order(contacts, groups, span)
    tail, head, seq = contacts.tail[order], contacts.head[order], contacts.seq[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (tail[1:] != tail[:-1]) | (head[1:] != head[:-1])
    pair = np.cumsum(new) - 1
    begin = np.flatnonzero(new)
    end = np.append(begin[1:], len(order))
    first = np.searchsorted(tail[begin], np.arange(len(groups) + 1))
    return Index(order, pair * span + seq, span, seq, moments, end, head[begin], first, groups)


def _ranked(contacts: Contacts) -> tuple[Ints, Contacts]:
    """Moments as small numbers, so that a pair and a moment fit into one integer; and what the numbers stand for."""
    if not len(contacts.seq):
        return np.empty(0, np.int64), contacts
    low, high = int(contacts.seq.min()), int(contacts.seq.max())
    if high - low <= 4 * len(contacts.seq) + 1000:
        return np.arange(low, high + 1), contacts._replace(seq=contacts.seq - low)
    moments, place = np.unique(contacts.seq, return_inverse=True)
    return moments, contacts._replace(seq=place)


def _in_order(contacts: Contacts, groups: Ints, span: int) -> Ints:
    """Sorted by tail, head, moment and rank; by one number where the four fit into it."""
    low = np.searchsorted(groups, groups)
    width = int(np.bincount(groups - groups[0]).max()) if len(groups) else 0
    ranks = int(contacts.rank.max(initial=0)) + 1
    if len(groups) * width * span * ranks >= NEVER:
        return np.lexsort((contacts.rank, contacts.seq, contacts.head, contacts.tail))
    pair = contacts.tail * width + contacts.head - low[contacts.head]
    return np.argsort((pair * span + contacts.seq) * ranks + contacts.rank, kind="stable")


def spread(over: Index, starts: Starts, *, searches: int, timed: bool = True) -> Spread:
    """Reach whatever can be reached from each start.

    Args:
        over: contacts; those of a start's own graph are followed.
        starts: one or more for every search, all in one graph.
        searches: how many searches there are, numbered from 0.
        timed: False lets every contact happen at any moment: plain graph search.
    """
    begin = np.searchsorted(over.moments, starts.seq, side="right") - 1 if timed else np.full(len(starts.seq), -1)
    base, low = _layout(starts, over.groups, searches)
    best = np.full(int(base[-1]), NEVER, np.int64)
    none = np.full(len(begin), -1)
    made = [_fresh(best, base, low, starts.search, starts.node, begin, none, none)]
    count = len(made[0][0])
    while len(made[-1][0]):
        search, node, arrival, _, _ = made[-1]
        numbers = np.arange(count - len(search), count)
        made.append(_fresh(best, base, low, *_step(over, search, node, arrival, numbers, timed)))
        count += len(made[-1][0])
    found = _spread(made, base, low, len(best))
    _set_arrivals(found, best, over.moments, starts, timed)
    return found


def _layout(starts: Starts, groups: Ints, searches: int) -> tuple[Ints, Ints]:
    """Where the states of each search stand: as many as its graph has nodes, none without a start."""
    graph = np.full(searches, -1, np.int64)
    graph[starts.search] = groups[starts.node]
    low, high = np.searchsorted(groups, graph), np.searchsorted(groups, graph, side="right")
    return np.concatenate([[0], np.cumsum(high - low)]), low


_Level = tuple[Ints, Ints, Ints, Ints, Ints]


def _step(over: Index, search: Ints, node: Ints, arrival: Ints, numbers: Ints, timed: bool) -> _Level:
    """Every party that can be reached next: over the first contact of its pair after the arrival."""
    counts = over.first[node + 1] - over.first[node]
    offsets = np.repeat(over.first[node] - (np.cumsum(counts) - counts), counts)
    pair = offsets + np.arange(len(offsets))
    found = np.searchsorted(over.key, pair * over.span + np.repeat(arrival, counts) + 1)
    here = np.flatnonzero(found < over.end[pair])
    found, pair = found[here], pair[here]
    moment = over.seq[found] if timed else np.full(len(found), -1)
    return (
        np.repeat(search, counts)[here],
        over.head[pair],
        moment,
        over.order[found],
        np.repeat(numbers, counts)[here],
    )


def _fresh(
    best: Ints, base: Ints, low: Ints, search: Ints, node: Ints, arrival: Ints, contact: Ints, parent: Ints
) -> _Level:
    """Those that are earlier than what was known, the earliest of each state."""
    state = base[search] + node - low[search]
    order = np.lexsort((contact, arrival, state))
    state = state[order]
    keep = np.ones(len(order), np.bool_)
    keep[1:] = state[1:] != state[:-1]
    keep &= arrival[order] < best[state]
    at = order[keep]
    best[state[keep]] = arrival[at]
    return search[at], node[at], arrival[at], contact[at], parent[at]


def _spread(made: list[_Level], base: Ints, low: Ints, states: int) -> Spread:
    search, node, _, contact, parent = (np.concatenate(column) for column in zip(*made, strict=True))
    sizes = [len(level[0]) for level in made]
    level = np.repeat(np.arange(len(made)), sizes)
    state = base[search] + node - low[search]
    numbers = np.arange(len(state))
    first, last, hops = np.full(states, -1), np.full(states, -1), np.full(states, -1)
    # Of several writes to one place the last one stays, so records are written back to front for the first.
    first[state[::-1]], last[state] = numbers[::-1], numbers
    reached = first >= 0
    hops[reached] = level[first[reached]]
    steps = tuple(int(n) for n in np.cumsum([0, *sizes[:-1]]))
    return Spread(base, low, hops, np.full(states, NEVER), first, last, state, contact, parent, steps)


def _set_arrivals(found: Spread, best: Ints, moments: Ints, starts: Starts, timed: bool) -> None:
    """The moment of the last record of each state: that of a contact, or the start's own."""
    if not timed:
        found.arrival[found.first >= 0] = -1
        return
    np.minimum.at(found.arrival, found.at(starts.search, starts.node), starts.seq)
    moved = np.flatnonzero(found.last >= 0)
    moved = moved[found.contact[found.last[moved]] >= 0]
    found.arrival[moved] = moments[best[moved]]
