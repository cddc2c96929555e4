"""The traces whose flow is worth drawing, and what is drawn of them."""

from dataclasses import dataclass, field
from typing import NamedTuple

from earwitness.schema.case import Case

MOST_TRACES, MOST_ACTORS, LEAST_TRACES = 6, 14, 3

# Most recipients who should not have learned first; one trace a cell, more cells before more traces.
_TELLING = """
    WITH score AS (
        SELECT c.trace, count(DISTINCT c.recipient) AS recipients, max(coalesce(c.carried, 0)) AS hops, count(*) AS n
        FROM crossing c WHERE c.recipient IS NOT NULL GROUP BY c.trace
    ), ranked AS (
        SELECT s.*, t.trace_id, t.topology, t.arm, t.framework, t.model,
               row_number() OVER (PARTITION BY t.topology, t.arm
                                  ORDER BY recipients DESC, hops DESC, n DESC, trace) AS place
        FROM score s JOIN traces t USING (trace)
    )
    SELECT trace, trace_id, topology, arm, framework, model, recipients, place FROM ranked
    ORDER BY place, recipients DESC, hops DESC, n DESC, trace LIMIT ?
"""
_EDGES = """
    SELECT * FROM (SELECT f.sender, f.recipient, f.channel, min(f.seq) AS seq, count(DISTINCT f.event) AS n,
           count(v.value) > 0 AS carries, coalesce(bool_or(v.dynamic = ?), false) AS crossing,
           coalesce(list_sort(list(DISTINCT w.attribute) FILTER (v.dynamic = ?)), []) AS attributes,
           min(f.seq) FILTER (v.dynamic = ?) AS first
    FROM flows f
    LEFT JOIN verdicts v ON v.event = f.event AND v.recipient = f.recipient AND v.standing = 'confirmed'
    LEFT JOIN vault w USING (value)
    WHERE f.trace = ? AND f.sender IS NOT NULL AND f.recipient IS NOT NULL
    GROUP BY f.sender, f.recipient, f.channel)
    ORDER BY coalesce(first, seq), seq, sender, recipient, channel
"""


class Edge(NamedTuple):
    """Deliveries of one channel between two actors; `crossing` where one of them was not allowed (or ruled)."""

    sender: str
    recipient: str
    channel: str
    seq: int
    n: int
    carries: bool
    crossing: bool
    attributes: tuple[str, ...]
    first: int | None


class Node(NamedTuple):
    """An actor of the trace."""

    name: str
    kind: str
    position: str


@dataclass(frozen=True)
class Flow:
    """What is drawn of a trace."""

    trace: int
    trace_id: str
    topology: str | None
    arm: str | None
    framework: str | None
    model: str | None
    origin: str | None
    nodes: dict[str, Node]
    edges: list[Edge]
    left_out: int = field(default=0)


def telling_traces(case: Case, verdict: str) -> list[Flow]:
    """Up to six traces, one of every topology and arm first. Needs `crossing` of `evidence.Evidence`."""
    rows = case.rows(_TELLING, [MOST_TRACES])
    kept = [row for i, row in enumerate(rows) if row[-1] == 1 or i < LEAST_TRACES]
    return [_flow(case, verdict, row) for row in kept]


def _flow(case: Case, verdict: str, row: tuple[int, str, str, str, str, str, int, int]) -> Flow:
    trace, trace_id, topology, arm, framework, model, *_ = row
    rows = case.rows(_EDGES, [verdict, verdict, verdict, trace])
    edges = [Edge(*r)._replace(attributes=tuple(r[7])) for r in rows]
    known = {r[0]: Node(*r) for r in case.rows("SELECT actor, kind, position FROM parties WHERE trace = ?", [trace])}
    origin = case.one(
        """SELECT o.agent FROM crossing c JOIN origins o ON o.trace = c.trace AND o.value = c.value
           WHERE c.trace = ? GROUP BY o.agent ORDER BY count(*) DESC, o.agent LIMIT 1""",
        [trace],
    )
    names = _most_telling(edges, origin)
    drawn = [e for e in edges if e.sender in names and e.recipient in names]
    nodes = {name: known.get(name, Node(name, "agent", "unknown")) for name in names}
    left_out = len({n for e in edges for n in (e.sender, e.recipient)} - set(names))
    return Flow(trace, trace_id, topology, arm, framework, model, origin, nodes, drawn, left_out)


def _most_telling(edges: list[Edge], origin: str | None) -> list[str]:
    """Actors on crossing edges first, then the others, as many as can be read in one drawing."""
    ordered = sorted(edges, key=lambda e: not e.crossing)
    names = dict.fromkeys(name for e in ordered for name in (e.sender, e.recipient))
    if origin is not None:
        names = {origin: None} | names
    return list(names)[:MOST_ACTORS]
