"""Guards: where to stop protected values so that nobody learns what they may not.

A guard stands on an edge, from one party to another, or at an actor, over all it sends. Two questions:

- `frontier`: guards that stop only what its recipient may not have. Whatever is allowed still flows, so every
  delivery without leave whose sender would still hold the value needs its guard: there is exactly one such set, found
  for all traces at once.
- `cuts`: the fewest guards when they may stop what is allowed as well, for each trace by itself. What a tool or a
  memory hands to somebody who may have it is left alone: to cut it there is to switch off the source.

`greedy` says how much the best k guards of the first kind stop, over all traces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from earwitness.graph.carried import Carried, load_carried
from earwitness.graph.cutting import Cutting, Delivery, fewest
from earwitness.graph.parties import Bools, number_parties
from earwitness.graph.temporal import Ints
from earwitness.graph.whatif import UNNAMED, Verdicts, expose, exposed_places
from earwitness.schema.case import Case

Place = Literal["edge", "actor"]

# So many candidates are tried at each step of the greedy curve.
_TRIED = 4


@dataclass(frozen=True)
class Guard:
    """A guard at all `sender` sends, or at what it sends to `recipient`."""

    sender: str
    recipient: str | None = None

    def __str__(self) -> str:
        return self.sender if self.recipient is None else f"{self.sender} -> {self.recipient}"


@dataclass(frozen=True)
class GuardSet:
    """The guards of one trace.

    Attributes:
        trace: its number.
        guards: in order of their names.
        exposures: unauthorised ones of the trace; the guards stop them all.
        least: no smaller set can do; the set is a smallest one where this is its size.
        lost: authorised recipients of a value who would not get it any more.
    """

    trace: int
    guards: tuple[Guard, ...]
    exposures: int
    least: int
    lost: int

    @property
    def exact(self) -> bool:
        """Whether no smaller set exists."""
        return len(self.guards) == self.least


class _Codes:
    """Deliveries by the guard that would stop them: one number for each edge or sender, by name."""

    def __init__(self, carried: Carried, place: Place) -> None:
        tail, head = carried.names(carried.contacts.tail), carried.names(carried.contacts.head)
        names = carried.parties.names
        width = len(names) + 1
        key = (tail + 1) * width + (head + 1 if place == "edge" else 0)
        keys, self.of = np.unique(key, return_inverse=True)
        ends = [divmod(int(k), width) for k in keys]
        self.guards = [
            Guard(names[tail - 1] if tail else UNNAMED, names[head - 1] if place == "edge" else None)
            for tail, head in ends
        ]

    def __len__(self) -> int:
        return len(self.guards)


def frontier(case: Case, place: Place = "edge", traces: Sequence[int] | None = None) -> list[GuardSet]:
    """For every trace with unauthorised exposures the one set of guards that stops just what may not be.

    Args:
        case: after an audit.
        place: `edge`, or `actor` for guards over all an actor sends.
        traces: numbers of some traces; None for all.
    """
    carried = _exposed_only(load_carried(case, number_parties(case, traces)))
    codes = _Codes(carried, place)
    needed = needed_guards(carried)
    trace = carried.trace[carried.graph[carried.contacts.head]]
    guards: dict[int, list[Guard]] = {}
    for key in np.unique(trace[needed] * len(codes) + codes.of[needed]).tolist():
        guards.setdefault(key // len(codes), []).append(codes.guards[key % len(codes)])
    counts = _exposures(carried)
    return [GuardSet(t, _in_order(found), counts[t], len(found), 0) for t, found in sorted(guards.items())]


def needed_guards(carried: Carried) -> Bools:
    """Deliveries without leave whose sender holds the value although everything of that kind is stopped."""
    left = carried.spread(~carried.crossing)
    tail = carried.contacts.tail
    return carried.crossing & (left.arrival[left.at(carried.graph[tail], tail)] < carried.contacts.seq)


def _exposed_only(carried: Carried) -> Carried:
    """Graphs in which somebody got what they may not have."""
    graphs = np.zeros(len(carried.trace), np.bool_)
    graphs[carried.graph[carried.contacts.head[carried.crossing]]] = True
    return carried.only(graphs)


def _exposures(carried: Carried) -> dict[int, int]:
    places = exposed_places(carried)
    found, counts = np.unique(carried.trace[carried.graph[places]], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _in_order(guards: Sequence[Guard]) -> tuple[Guard, ...]:
    return tuple(sorted(guards, key=str))


def cuts(case: Case, place: Place = "edge", traces: Sequence[int] | None = None, budget: int = 2000) -> list[GuardSet]:
    """For every trace with unauthorised exposures a smallest set of guards, whatever else it stops.

    Args:
        case: after an audit.
        place: `edge` or `actor`.
        traces: numbers of some traces; None for all.
        budget: searches for a way, for one trace; where they do not suffice the set may be larger than it need be,
            and `least` tells by how much at most.
    """
    carried = _exposed_only(load_carried(case, number_parties(case, traces)))
    return [_cut(part, place, budget) for part in carried.parts()]


def _cut(part: Carried, place: Place, budget: int) -> GuardSet:
    trace = int(part.trace[0])
    codes = _Codes(part, place)
    cuttable = part.crossing | ~_handed_out(part)
    chosen, least = fewest(_cutting(part, codes, cuttable), len(codes), budget)
    kept = ~(cuttable & np.isin(codes.of, sorted(chosen)))
    lost = _informed(part, None) - _informed(part, kept)
    return GuardSet(trace, _in_order([codes.guards[c] for c in chosen]), _exposures(part)[trace], least, lost)


def _cutting(part: Carried, codes: _Codes, cuttable: Bools) -> Cutting:
    c = part.contacts
    order = np.lexsort((c.rank, c.seq))
    columns = (c.tail, c.head, c.seq, np.where(cuttable, codes.of, -1), part.crossing)
    deliveries = [Delivery(*row) for row in zip(*(column[order].tolist() for column in columns), strict=True)]
    return Cutting(deliveries, dict(zip(part.starts.node.tolist(), part.starts.seq.tolist(), strict=True)))


def _handed_out(part: Carried) -> Bools:
    """Deliveries by tools and memories that hold the value by themselves; who is not named counts as an agent."""
    source = np.zeros(len(part.graph), np.bool_)
    source[part.starts.node] = True
    handed: Bools = (source & ~part.parties.agent[part.party])[part.contacts.tail]
    return handed


def _informed(part: Carried, kept: Bools | None) -> int:
    """How many recipients get a value they may have."""
    found = part.spread(kept)
    tail = part.contacts.tail
    happen = ~part.crossing & (found.arrival[found.at(part.graph[tail], tail)] < part.contacts.seq)
    if kept is not None:
        happen &= kept
    return len(np.unique(part.contacts.head[happen]))


@dataclass(frozen=True)
class Stage:
    """One more guard: how many unauthorised exposures it stops that those before did not, and how many remain."""

    guard: Guard
    stopped: int
    remaining: int


@dataclass(frozen=True)
class Curve:
    """How much the best k guards stop, over all traces.

    Attributes:
        exposures: unauthorised ones without any guard.
        stages: one a guard, in the order they were chosen.
        needed: guards of the whole frontier: so many stop everything. Chosen one after another it may take more.
    """

    exposures: int
    stages: tuple[Stage, ...]
    needed: int


def greedy(case: Case, place: Place = "edge", limit: int = 10, traces: Sequence[int] | None = None) -> Curve:
    """Choose guards one after another, each the one that stops most of what is left.

    A guard holds in every trace in which the two names occur, and stops only what its recipient may not have. At
    each step the guards that most of the remaining ways lead over are tried, and what really stops is counted.

    Args:
        case: after an audit.
        place: `edge` or `actor`.
        limit: so many guards.
        traces: numbers of some traces; None for all.
    """
    carried = _exposed_only(load_carried(case, number_parties(case, traces)))
    codes = _Codes(carried, place)
    needed = len(np.unique(codes.of[needed_guards(carried)]))
    kept = np.ones(len(codes.of), np.bool_)
    now = expose(carried)
    total = left = int(now.standing.sum())
    stages: list[Stage] = []
    while left and len(stages) < limit:
        code, kept, now = _best(carried, codes, kept, now)
        stages.append(Stage(codes.guards[code], left - int(now.standing.sum()), int(now.standing.sum())))
        left = stages[-1].remaining
    return Curve(total, tuple(stages), needed)


def _best(carried: Carried, codes: _Codes, kept: Bools, now: Verdicts) -> tuple[int, Bools, Verdicts]:
    """The guard that stops most; of equals the one on more ways."""
    weight = _on_ways(carried, codes, now)
    tried = np.argsort(-weight, kind="stable")[:_TRIED]
    trials = []
    for code in tried[weight[tried] > 0].tolist():
        trial = kept & ~(carried.crossing & (codes.of == code))
        after = expose(carried, trial)
        trials.append((int(after.standing.sum()), -int(weight[code]), code, trial, after))
    _, _, code, trial, after = min(trials, key=lambda t: t[:3])
    return code, trial, after


def _on_ways(carried: Carried, codes: _Codes, now: Verdicts) -> Ints:
    """How many of the remaining ways lead over each guard's deliveries without leave."""
    found, contact = now.spread, now.contact[now.standing]
    tail = carried.contacts.tail[contact]
    weight = np.zeros(len(found.state), np.int64)
    np.add.at(weight, found.last[found.at(carried.graph[tail], tail)], 1)
    for begin, end in reversed(found.levels()):
        np.add.at(weight, found.parent[begin:end], weight[begin:end])
    over = found.contact >= 0
    counts = np.zeros(len(codes), np.int64)
    used = np.concatenate([found.contact[over], contact])
    load = np.concatenate([weight[over], np.ones(len(contact), np.int64)])
    stops = carried.crossing[used]
    np.add.at(counts, codes.of[used[stops]], load[stops])
    return counts


def guard_table(sets: Sequence[GuardSet]) -> pl.DataFrame:
    """Guards over all traces: sender, recipient, and in how many traces each is needed, most first."""
    rows = [(g.sender, g.recipient, s.trace) for s in sets for g in s.guards]
    columns = {"sender": pl.String, "recipient": pl.String, "trace": pl.Int64}
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    counted = frame.group_by("sender", "recipient").agg(pl.col("trace").n_unique().alias("traces"))
    return counted.sort(["traces", "sender", "recipient"], descending=[True, False, False])
