"""How fast the graph room is, against a plain loop with networkx in the same run: `python bench/graphs.py`.

Two shapes: many traces of ten agents, and one trace of many events. Cases are built in memory, row by row known, so
that only the graph room is measured. Seconds are of CPU, over all threads: what else the machine does matters little.
"""

import resource
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pyarrow as pa
from rich.console import Console

from earwitness.graph.exposures import find_exposures
from earwitness.graph.guards import frontier, greedy
from earwitness.graph.hops import distances
from earwitness.graph.temporal import Contacts, Starts, index, spread
from earwitness.graph.topology import topology
from earwitness.graph.ways import find_ways, patterns
from earwitness.schema.case import Case
from earwitness.schema.tables import arrow_schema

AGENTS = 10
# The loop is run over so many traces and scaled up: it is linear in them, and slow.
SAMPLE = 5_000
_HOLDS = 0.3


class Row(NamedTuple):
    """One figure: `value` in `unit`, at most `target` if there is one."""

    name: str
    value: float
    unit: str
    target: float | None = None
    note: str = ""


class Talk(NamedTuple):
    """Messages of all traces: trace, order in it, sender, recipient (numbers of agents), whether the value is in it."""

    trace: np.ndarray[Any, Any]
    seq: np.ndarray[Any, Any]
    tail: np.ndarray[Any, Any]
    head: np.ndarray[Any, Any]
    holds: np.ndarray[Any, Any]


def talk(traces: int, events: int, seed: int = 1) -> Talk:
    """So many messages between random agents in every trace; the first agent knows the value from the start."""
    dice = np.random.default_rng(seed)
    n = traces * events
    tail = dice.integers(0, AGENTS, n)
    head = (tail + dice.integers(1, AGENTS, n)) % AGENTS
    order = np.tile(np.arange(1, events + 1), traces)
    return Talk(np.repeat(np.arange(traces), events), order, tail, head, dice.random(n) < _HOLDS)


def case_of(said: Talk) -> Case:
    """An audited case of these messages, as far as the graph room reads it. Nobody may know the value."""
    case = Case()
    traces, n = int(said.trace.max()) + 1, len(said.trace)
    names = pa.array([f"agent {i}" for i in range(AGENTS)])
    held, idle = (pa.array([bytes([b]) * 16], pa.uuid()) for b in (1, 2))
    content = pa.concat_arrays([held.storage, idle.storage]).take(pa.array(np.where(said.holds, 0, 1)))
    _fill(case, "traces", traces, trace=np.arange(traces), trace_id=[f"t{i}" for i in range(traces)])
    _fill(case, "rulings", traces, trace=np.arange(traces), ruled=[True] * traces, valued=[True] * traces)
    everyone = np.tile(np.arange(AGENTS), traces)
    party = {"actor": names.take(pa.array(everyone)), "kind": ["agent"] * len(everyone)}
    _fill(case, "parties", len(everyone), trace=np.repeat(np.arange(traces), AGENTS), **party)
    sent = {"sender": names.take(pa.array(said.tail)), "channel": ["C2"] * n, "content": content}
    sent |= {"source": np.zeros(n), "line": np.arange(1, n + 1), "time": said.seq}
    _fill(case, "events", n, event=np.arange(n), trace=said.trace, seq=said.seq, **sent)
    told = {"recipient": names.take(pa.array(said.head)), "grade": ["declared"] * n}
    _fill(case, "deliveries", n, event=np.arange(n), delivered=[True] * n, **told)
    given = {"actor": names.take(pa.array(np.zeros(traces, np.int64))), "kind": ["initial"] * traces}
    first = held.storage.take(pa.array(np.zeros(traces, np.int64)))
    _fill(case, "sightings", traces, trace=np.arange(traces), seq=np.zeros(traces), content=first, **given)
    _fill(case, "vault", 1, value=[0], scope=["case"], attribute=["account"], text=["-"])
    _fill(case, "matches", 1, content=held.storage, value=[0], standing=["confirmed"])
    _fill(case, "sources", 1, source=[0], name=["bench"], sha256=["-"])
    at = np.flatnonzero(said.holds)
    judged = {"recipient": told["recipient"].take(pa.array(at)), "channel": ["C2"] * len(at)}
    judged |= {word: ["sanitize"] * len(at) for word in ("static", "dynamic")}
    judged |= {"grade": ["declared"] * len(at), "standing": ["confirmed"] * len(at)}
    _fill(case, "verdicts", len(at), event=at, trace=said.trace[at], value=np.zeros(len(at)), **judged)
    return case


def _fill(case: Case, table: str, rows: int, **columns: Any) -> None:
    """Append rows; columns that are not given are NULL."""
    fields = arrow_schema(table)
    made = []
    for field in fields:
        given = columns.get(field.name)
        if given is None:
            made.append(pa.nulls(rows, field.type))
        elif pa.types.is_fixed_size_binary(getattr(given, "type", pa.null())):
            made.append(pa.ExtensionArray.from_storage(pa.uuid(), given))
        else:
            made.append(pa.array(given).cast(field.type))
    case.insert(table, pa.Table.from_arrays(made, names=fields.names))


def searches(said: Talk) -> float:
    """Seconds the set-wise searches take for realised, temporal and carrying distances, from arrays in memory."""
    traces = int(said.trace.max()) + 1
    groups = np.repeat(np.arange(traces), AGENTS)
    zeros = np.zeros(len(said.seq), np.int64)
    contacts = Contacts(said.trace * AGENTS + said.tail, said.trace * AGENTS + said.head, said.seq, zeros)
    starts = Starts(np.arange(traces), np.arange(traces) * AGENTS, np.zeros(traces, np.int64))
    started = time.process_time()
    over = index(contacts, groups)
    spread(over, starts, searches=traces, timed=False)
    spread(over, starts, searches=traces)
    spread(index(contacts.take(said.holds), groups), starts, searches=traces)
    return time.process_time() - started


def loop(said: Talk, traces: int) -> float:
    """Seconds a plain loop takes for the same distances over the first traces: a networkx graph for each.

    Realised by its search; temporal and carrying by one pass over the messages, a hop count for each agent.
    """
    n = int(np.searchsorted(said.trace, traces))
    columns = [column[:n].tolist() for column in said]
    bounds = np.searchsorted(said.trace[:n], np.arange(traces + 1)).tolist()
    started = time.process_time()
    for begin, end in pairwise(bounds):
        _, seq, tail, head, holds = (column[begin:end] for column in columns)
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(range(AGENTS))
        graph.add_edges_from(
            (a, b, s, {"seq": s, "holds": h}) for s, a, b, h in zip(seq, tail, head, holds, strict=True)
        )
        nx.single_source_shortest_path_length(graph, 0)
        for carrying in (False, True):
            _earliest(graph, carrying)
    return time.process_time() - started


def _earliest(graph: "nx.MultiDiGraph[int]", carrying: bool) -> dict[int, int]:
    hops = {0: 0}
    for tail, head, data in sorted(graph.edges(data=True), key=lambda edge: edge[2]["seq"]):
        if tail in hops and (data["holds"] or not carrying):
            hops[head] = min(hops.get(head, hops[tail] + 1), hops[tail] + 1)
    return hops


def many(traces: int = 100_000, events: int = 30) -> Iterator[Row]:
    """Many small traces."""
    yield from _measured(f"{traces:,} traces of {AGENTS} agents", talk(traces, events), min(traces, SAMPLE))


def one(events: int = 100_000) -> Iterator[Row]:
    """One long trace, and how time grows up to it."""
    name = f"one trace of {events:,} events"
    small = _distances(talk(1, events // 10))
    large = _distances(talk(1, events))
    yield from _measured(name, talk(1, events), 1)
    yield Row(f"{name}: time an event / at a tenth", large / 10 / small, "x", 1.3, f"{large:.2f} s")


def _distances(said: Talk) -> float:
    with case_of(said) as case:
        find_exposures(case)
        return min(_timed(lambda: distances(case)) for _ in range(3))


def _measured(name: str, said: Talk, sample: int) -> Iterator[Row]:
    traces = int(said.trace.max()) + 1
    with case_of(said) as case:
        yield Row(f"{name}: stage of the audit", _timed(lambda: find_exposures(case)), "s")
        took = _timed(lambda: distances(case))
        plain = loop(said, sample) * traces / sample
        yield Row(f"{name}: four distances", took, "s", note=f"{len(said.trace) / took:,.0f} events a second")
        alone = searches(said)
        yield Row(f"{name}: searches alone", alone, "s", note=f"{len(said.trace) / alone:,.0f} events a second")
        yield Row(f"{name}: networkx loop / searches alone", plain / alone, "x", note=f"loop {plain:.1f} s")
        for what, run in _OTHERS.items():
            yield Row(f"{name}: {what}", _timed(lambda run=run: run(case)), "s")  # type: ignore[misc]


_OTHERS: dict[str, Callable[[Case], object]] = {
    "ways and patterns": lambda case: patterns(case, find_ways(case)),
    "topology": topology,
    "guards of every trace": frontier,
    "greedy curve of five": lambda case: greedy(case, limit=5),
}


def _timed(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def rows() -> Iterator[Row]:
    """Everything; the one trace first, since the peak of the process only grows."""
    for what, part in (("one trace of 100,000 events", one()), ("100,000 traces of 10 agents", many())):
        yield from part
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        yield Row(f"{what}: peak memory of the whole", peak, "MB", note="with the case in memory and the networkx loop")


if __name__ == "__main__":
    for figure in rows():
        Console(width=150).print(f"{figure.name}: {figure.value:.2f} {figure.unit} {figure.note}")
