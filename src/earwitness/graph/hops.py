"""The four distances of every (trace, value, recipient), side by side: table `distances`.

All are fewest hops from the disclosing agent. `nominal` in the graph that was meant, `realised` in the graph of what
occurred, `temporal` over deliveries in their order, each only after its sender was reached, and `carrying` over those
of them that held the value. Each but the first is counted twice: over messages between agents (C2), as the
literature does, and over every channel (`_any`), where tools and memories are stations: writing is one hop, reading
what was written is the next.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from earwitness.graph.carried import Carried, load_carried
from earwitness.graph.cite import cite
from earwitness.graph.exposures import Step
from earwitness.graph.nominal import BASES, Nominal, nominal_graph
from earwitness.graph.parties import UNTIMED, Flows, Parties, ints, load_flows, number_parties
from earwitness.graph.shapes import find_shapes
from earwitness.graph.temporal import Contacts, Index, Ints, Spread, Starts, index, spread
from earwitness.schema.case import Case
from earwitness.schema.tables import TABLES, arrow_schema
from earwitness.schema.words import GRADES

KINDS = ("nominal", "realised", "temporal", "carrying")
COUNTS = ("nominal", "realised", "temporal", "carrying", "realised_any", "temporal_any", "carrying_any")
ORDERINGS = ("timed", "untimed", "skewed")

# Every agent of a trace for every value somebody in it disclosed, and whoever else was exposed.
_TARGETS = """
    WITH asked AS (
        SELECT o.trace, o.value, p.actor AS recipient FROM origins o JOIN parties p ON p.trace = o.trace
        WHERE p.kind = 'agent'
        UNION SELECT trace, value, recipient FROM exposures
    ), searched AS (SELECT *, dense_rank() OVER (ORDER BY trace, agent, seq) - 1 AS search FROM origins)
    SELECT a.trace, a.value, a.recipient, o.agent AS origin, coalesce(o.search, -1) AS search,
           coalesce(s.node, -1) AS start, coalesce(o.seq, 0) AS seq, n.node
    FROM asked a LEFT JOIN searched o ON o.trace = a.trace AND o.value = a.value
    LEFT JOIN node s ON s.trace = a.trace AND s.actor = o.agent
    JOIN node n ON n.trace = a.trace AND n.actor = a.recipient
    WHERE a.recipient IS DISTINCT FROM o.agent ORDER BY a.trace, a.value, a.recipient
"""


class Targets(NamedTuple):
    """Whose distance is asked for, from where: number of the search, node it starts at and when, node of the recipient.

    `search` and `start` are -1 where the value has no disclosing agent.
    """

    trace: Ints
    value: Ints
    search: Ints
    start: Ints
    seq: Ints
    node: Ints

    def starts(self) -> Starts:
        """One start for every search."""
        search, at = np.unique(self.search, return_index=True)
        at = at[search >= 0]
        return Starts(self.search[at], self.start[at], self.seq[at])


def distances(case: Case, traces: Sequence[int] | None = None) -> pl.DataFrame:
    """The four distances of an audited case, as the table `distances` holds them; nothing is written.

    Args:
        case: after an audit.
        traces: numbers of some traces; None for all.
    """
    parties = number_parties(case, traces)
    flows, carried = load_flows(case), load_carried(case, parties)
    frame = case.frame(_TARGETS)
    targets = Targets(*(ints(frame, c) for c in Targets._fields))
    nominal = nominal_graph(case, find_shapes(parties, flows))
    columns = [*frame.select("trace", "value", "recipient", "origin"), *_nominal(parties, nominal, targets)]
    columns += _walked(parties, flows, targets)
    columns += _carrying(carried, targets)
    made = pl.DataFrame(columns).with_columns(ordering=pl.coalesce("carrying_any_ordering", "temporal_any_ordering"))
    return made.select(c.name for c in TABLES["distances"].columns)


def find_distances(case: Case) -> int:
    """Fill the table `distances`, unless it still holds; gives the number of rows."""
    case.execute(TABLES["distances"].ddl)
    state = str(case.one("SELECT max(run) FROM runs WHERE stage = 'graph'"))
    if case.meta("distances") != state:
        with case.stage("distances", {}):
            case.clear("distances")
            case.insert("distances", distances(case).to_arrow().cast(arrow_schema("distances")))
            case.set_meta("distances", state)
    return case.count("distances")


def route(case: Case, trace: int, value: int, recipient: str, kind: str = "carrying_any") -> list[Step]:
    """The way behind a distance, first hop first; empty where there is none.

    Args:
        case: after an audit.
        trace: number of the trace.
        value: number of the value.
        recipient: where the way ends.
        kind: one of COUNTS but `nominal`, of which nothing occurred.
    """
    parties = number_parties(case, [trace])
    frame = case.frame(_TARGETS).filter((pl.col("value") == value) & (pl.col("recipient") == recipient))
    if frame.is_empty() or frame["start"][0] < 0:
        return []
    targets = Targets(*(ints(frame.with_columns(search=0), c) for c in Targets._fields))
    found, event, head, state = _one(case, parties, targets, kind)
    contacts = found.way(int(found.first[state])) if state >= 0 else []
    return cite(case, [(int(event[c]), str(parties.table["actor"][int(head[c])])) for c in contacts])


def _one(case: Case, parties: Parties, targets: Targets, kind: str) -> tuple[Spread, Ints, Ints, int]:
    """The search behind one distance, event and receiving party of its contacts, and the state asked for (-1: none)."""
    name, any_channel = kind.removesuffix("_any"), kind.endswith("_any")
    if name == "carrying":
        carried = load_carried(case, parties)
        found, states = _carry(carried, targets, any_channel)
        return found, carried.event, carried.party[carried.contacts.head], int(states[0])
    flows = load_flows(case)
    kept = np.ones(len(flows.event), np.bool_) if any_channel else flows.message
    contacts = flows.contacts.take(kept)
    found = _search(index(contacts, parties.trace), targets, timed=name == "temporal")
    return found, flows.event[kept], contacts.head, int(_states(found, targets.search, targets.node)[0])


def _nominal(parties: Parties, nominal: Nominal, targets: Targets) -> list[pl.Series]:
    zeros = np.zeros(len(nominal.tail), np.int64)
    over = index(Contacts(nominal.tail, nominal.head, zeros, zeros), parties.trace)
    found = _search(over, targets, timed=False)
    hops = _hops(found, _states(found, targets.search, targets.node))
    basis = nominal.basis[targets.trace] if len(nominal.basis) else np.empty(0, np.int64)
    words = pl.Series([*BASES, None], dtype=pl.String).gather(np.where(basis < 0, len(BASES), basis))
    return [_nullable("nominal", hops), words.alias("basis")]


def _walked(parties: Parties, flows: Flows, targets: Targets) -> list[pl.Series]:
    columns: list[pl.Series] = []
    for any_channel in (False, True) if not flows.message.all() else (False,):
        kept = np.ones(len(flows.event), np.bool_) if any_channel else flows.message
        contacts, time = flows.contacts.take(kept), flows.time[kept]
        over = index(contacts, parties.trace)
        for name, timed in (("realised", False), ("temporal", True)):
            found = _search(over, targets, timed=timed)
            states = _states(found, targets.search, targets.node)
            columns += _told(name, any_channel, found, states, contacts.rank, time)
    return columns if not flows.message.all() else _both_scopes(columns)


def _both_scopes(columns: list[pl.Series]) -> list[pl.Series]:
    """Where there is nothing but messages, every channel is that one."""
    names = [(name, name + "_any") for name in KINDS[1:]]
    return columns + [c.alias(c.name.replace(a, b, 1)) for c in columns for a, b in names if c.name.startswith(a)]


def _carrying(carried: Carried, targets: Targets) -> list[pl.Series]:
    only_messages = bool((carried.channel == "C2").all())
    columns: list[pl.Series] = []
    for any_channel in (False,) if only_messages else (False, True):
        found, states = _carry(carried, targets, any_channel)
        columns += _told("carrying", any_channel, found, states, carried.contacts.rank, carried.time)
    return _both_scopes(columns) if only_messages else columns


def _carry(carried: Carried, targets: Targets, any_channel: bool) -> tuple[Spread, Ints]:
    """Spread each value from its disclosing agent, over C2 or everything; and the states of the targets."""
    graph = carried.graphs(targets.trace, targets.value)
    place = carried.place(targets.trace, targets.value, targets.node)
    start = carried.place(targets.trace, targets.value, targets.start)
    start = np.where(targets.start >= 0, start, -1)
    _, at = np.unique(np.where(start >= 0, graph, -1), return_index=True)
    at = at[start[at] >= 0]
    kept = None if any_channel else (carried.channel == "C2").to_numpy()
    found = carried.spread(kept, Starts(graph[at], start[at], targets.seq[at]))
    reachable = (place >= 0) & (start >= 0)
    states = np.full(len(place), -1, np.int64)
    states[reachable] = found.at(graph[reachable], place[reachable])
    return found, states


def _search(over: Index, targets: Targets, *, timed: bool) -> Spread:
    return spread(over, targets.starts(), searches=int(targets.search.max(initial=-1)) + 1, timed=timed)


def _states(found: Spread, search: Ints, node: Ints) -> Ints:
    known = (search >= 0) & (node >= 0)
    states = np.full(len(search), -1, np.int64)
    states[known] = found.at(search[known], node[known])
    return states


def _hops(found: Spread, states: Ints) -> Ints:
    return _at(found.hops, states)


def _at(values: Ints, states: Ints) -> Ints:
    """Values of states, -1 for none."""
    return np.where(states >= 0, values[states], -1) if len(values) else np.full(len(states), -1, np.int64)


def _told(name: str, any_channel: bool, found: Spread, states: Ints, rank: Ints, time: Ints) -> Iterable[pl.Series]:
    """Hops, weakest grade of the way, first arrival, and what its order rests on."""
    name += "_any" if any_channel else ""
    yield _nullable(name, _hops(found, states))
    record = _at(found.first, states)
    worst = _at(found.worst(rank), record)
    yield (
        pl.Series([*GRADES, None], dtype=pl.String)
        .gather(np.where(worst < 0, len(GRADES), worst))
        .alias(name + "_weakest")
    )
    moments = _at(found.arrival, states)
    yield pl.Series(name + "_at", moments).set(pl.Series(_hops(found, states) < 0), None)
    order = _at(ordering(found, time), record)
    words = pl.Series([*ORDERINGS, None], dtype=pl.String).gather(np.where(order < 0, len(ORDERINGS), order))
    yield words.alias(name + "_ordering")


def ordering(found: Spread, time: Ints) -> Ints:
    """What the order of each record's way rests on, as an index into ORDERINGS; -1 at a start.

    `timed`: every contact has a time and none is earlier than the one before. `untimed`: some have none, so that the
    order is that of the numbers or of the places in the file. `skewed`: time runs backwards, so a clock was wrong.
    """
    latest = np.full(len(found.state), UNTIMED, np.int64)
    out = np.full(len(found.state), -1, np.int64)
    for begin, end in found.levels():
        up, own = found.parent[begin:end], time[found.contact[begin:end]]
        worse = np.where(own == UNTIMED, 1, np.where(own < latest[up], 2, 0))
        latest[begin:end] = np.maximum(latest[up], own)
        out[begin:end] = np.maximum(out[up], worse)
    return out


def _nullable(name: str, hops: Ints) -> pl.Series:
    return pl.Series(name, hops).set(pl.Series(hops < 0), None).cast(pl.Int32)
