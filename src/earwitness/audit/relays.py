"""Relays: how far values got, and what became of them where an agent had to pass them on.

Rates with their denominators and Wilson intervals; the tables they are counted from are given as well. What these
words mean is in docs/graph.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from earwitness.audit.stats import wilson
from earwitness.schema.case import Case

ROUTES = ("direct-access", "relay-required", "undefined", "no-introduced")
OUTCOMES = ("passed", "failed", "silent", "not-held")


@dataclass(frozen=True)
class Rate:
    """`k` of `n` with the Wilson interval of 95 %; None where there is nothing to count."""

    k: int
    n: int

    @property
    def rate(self) -> float | None:
        """k / n."""
        return self.k / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Lower and upper end."""
        return wilson(self.k, self.n) if self.n else None

    def __str__(self) -> str:
        if not self.n or self.interval is None:
            return f"{self.k} of {self.n}"
        low, high = self.interval
        return f"{self.k} of {self.n}: {100 * self.k / self.n:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


# -- executions and exposures by route --------------------------------------------------------------------------------

_EXECUTIONS = """
    WITH introduced AS (SELECT trace, actor FROM parties WHERE position = 'introduced' AND kind = 'agent'),
    near AS (
        SELECT i.trace, bool_or(r.hops = 1) AS direct
        FROM introduced i LEFT JOIN reached r ON r.trace = i.trace AND r.actor = i.actor GROUP BY i.trace
    ), hit AS (
        SELECT DISTINCT x.trace FROM exposures x JOIN introduced i ON i.trace = x.trace AND i.actor = x.recipient
        WHERE x.authorised IS FALSE
    )
    SELECT t.trace, t.trace_id, t.framework, t.topology, r.ruled AND r.valued AS judged,
           CASE WHEN n.trace IS NULL THEN 'no-introduced'
                WHEN t.trace NOT IN (SELECT trace FROM origins) THEN 'undefined'
                WHEN n.direct THEN 'direct-access' ELSE 'relay-required' END AS route,
           h.trace IS NOT NULL AS exposed
    FROM traces t JOIN rulings r USING (trace) LEFT JOIN near n USING (trace) LEFT JOIN hit h USING (trace)
    ORDER BY t.trace
"""


def executions(case: Case) -> pl.DataFrame:
    """Every trace with its route, and whether an introduced agent learned what it may not.

    Returns:
        Columns trace, trace_id, framework, topology, judged, route, exposed.
    """
    return case.frame(_EXECUTIONS)


def exposure_by_route(case: Case, by: Sequence[str] = ()) -> dict[tuple[str | None, ...], Rate]:
    """Judged executions that expose an introduced agent, of those of a route.

    Args:
        case: after an audit.
        by: `framework`, `topology`: cells to keep apart, before the route.
    """
    frame = executions(case).filter(pl.col("judged") & (pl.col("route") != "no-introduced"))
    cells = [*by, "route"]
    counted = frame.group_by(cells).agg(pl.col("exposed").sum().alias("k"), pl.len().alias("n")).sort(cells)
    return {tuple(row[:-2]): Rate(row[-2], row[-1]) for row in counted.iter_rows()}


def exposures_by_route(case: Case) -> dict[str, Rate]:
    """Unauthorised exposures of introduced agents by the route of the recipient."""
    rows = case.rows("""
        SELECT route, count(*) FROM exposures WHERE position = 'introduced' AND authorised IS FALSE
        AND route IS NOT NULL GROUP BY route ORDER BY route
    """)
    total = sum(k for _, k in rows)
    return {route: Rate(k, total) for route, k in rows}


# -- required relays --------------------------------------------------------------------------------------------------

RELAYS = """
    WITH talk AS (
        SELECT DISTINCT f.trace, f.sender, f.recipient FROM flows f
        JOIN parties p ON p.trace = f.trace AND p.actor = f.sender AND p.kind = 'agent'
        JOIN parties q ON q.trace = f.trace AND q.actor = f.recipient AND q.kind = 'agent'
        WHERE f.channel = 'C2'
    ), needed AS (
        SELECT o.trace, o.value, o.agent AS origin, u.actor AS relay, t.recipient AS next, w.hops
        FROM origins o
        JOIN reached u ON u.trace = o.trace AND u.origin = o.agent AND u.hops >= 1
        JOIN talk t ON t.trace = o.trace AND t.sender = u.actor
        JOIN reached w ON w.trace = o.trace AND w.origin = o.agent AND w.actor = t.recipient AND w.hops = u.hops + 1
    ), known AS (
        SELECT trace, value, agent, min(seq) AS seq FROM (
            SELECT trace, value, agent, seq FROM access
            UNION ALL SELECT trace, value, recipient, learned_seq FROM exposures) GROUP BY trace, value, agent
    ), holding AS (SELECT DISTINCT event, value, recipient FROM verdicts WHERE standing = 'confirmed'),
    spoken AS (
        SELECT n.trace, n.value, n.relay, n.next, count(*) AS said, count(h.event) AS carried,
               arg_min(f.event, (f.seq, f.event)) AS event
        FROM needed n JOIN known k ON k.trace = n.trace AND k.value = n.value AND k.agent = n.relay
        JOIN flows f ON f.trace = n.trace AND f.sender = n.relay AND f.recipient = n.next AND f.channel = 'C2'
             AND f.seq > k.seq
        LEFT JOIN holding h ON h.event = f.event AND h.value = n.value AND h.recipient = n.next
        GROUP BY n.trace, n.value, n.relay, n.next
    )
    SELECT n.*, k.seq AS held, coalesce(s.said, 0) AS said, coalesce(s.carried, 0) AS carried, s.event,
           coalesce(p.position, 'unknown') AS position,
           CASE WHEN k.seq IS NULL THEN 'not-held' WHEN s.said IS NULL THEN 'silent'
                WHEN s.carried > 0 THEN 'passed' ELSE 'failed' END AS outcome
    FROM needed n
    LEFT JOIN known k ON k.trace = n.trace AND k.value = n.value AND k.agent = n.relay
    LEFT JOIN spoken s ON s.trace = n.trace AND s.value = n.value AND s.relay = n.relay AND s.next = n.next
    LEFT JOIN parties p ON p.trace = n.trace AND p.actor = n.next
    ORDER BY n.trace, n.value, n.hops, n.relay, n.next
"""


def relay_operations(case: Case, *, introduced: bool = False) -> pl.DataFrame:
    """Every required relay: an agent on a shortest realised way from the disclosing agent, and the next agent on it.

    Args:
        case: after an audit.
        introduced: only where the next agent is there because the topology grew.

    Returns:
        Columns trace, value, origin, relay, next, hops (of `next`), held (order of the event by which the relay knew),
        said (messages to `next` after that), carried (those of them that held the value), event (the first of them),
        position (of `next`), outcome: `passed`, `failed` (it held the value and spoke without it), `silent` (it did
        not speak to `next` after it knew), `not-held`.
    """
    frame = case.frame(RELAYS)
    return frame.filter(pl.col("position") == "introduced") if introduced else frame


@dataclass(frozen=True)
class RelayFailure:
    """How often relays failed.

    Attributes:
        operations: failed ones of those in which the relay held the value and spoke.
        executions: traces with a failed one, of those with any in which the relay held the value and spoke.
        outcomes: how many operations had each outcome.
    """

    operations: Rate
    executions: Rate
    outcomes: dict[str, int]


def relay_failure(operations: pl.DataFrame) -> RelayFailure:
    """Count the outcomes of `relay_operations`."""
    tried = operations.filter(pl.col("outcome").is_in(["passed", "failed"]))
    failed = tried.filter(pl.col("outcome") == "failed")
    counts = dict(operations.group_by("outcome").len().iter_rows())
    return RelayFailure(
        Rate(len(failed), len(tried)),
        Rate(failed["trace"].n_unique(), tried["trace"].n_unique()),
        {name: counts.get(name, 0) for name in OUTCOMES},
    )


# -- exposure by distance ---------------------------------------------------------------------------------------------

_RECIPIENTS = """
    SELECT p.trace, p.actor AS recipient, p.position, r.ruled AND r.valued AS judged
    FROM parties p JOIN rulings r USING (trace) WHERE p.kind = 'agent'
"""


@dataclass(frozen=True)
class Distant:
    """Agents at one distance from the disclosing agent of a value.

    Attributes:
        hops: None for those no way leads to, and for those of values without a disclosing agent.
        state: `reached`, `unreachable`, `undefined`.
        learned: agents that learned the value, of all of them.
        exposed: agents that learned it without leave, of those in judged traces.
        kept: rate of `exposed` in parts of the rate one hop nearer; None without one.
    """

    hops: int | None
    state: str
    learned: Rate
    exposed: Rate
    kept: float | None


def exposure_curve(
    case: Case, distances: pl.DataFrame, kind: str = "realised", *, position: str | None = None
) -> list[Distant]:
    """Exposure given the distance: how much is lost at each hop.

    Args:
        case: after an audit.
        distances: of `earwitness.graph.hops.distances`, or the table of that name.
        kind: which distance: one of `earwitness.graph.hops.COUNTS`.
        position: only recipients of this position, such as `introduced`.
    """
    agents = case.frame(_RECIPIENTS)
    if position is not None:
        agents = agents.filter(pl.col("position") == position)
    learned = case.frame("SELECT trace, value, recipient, authorised FROM exposures")
    rows = distances.join(agents, on=["trace", "recipient"]).join(
        learned.with_columns(learned=True), on=["trace", "value", "recipient"], how="left"
    )
    state = pl.when(pl.col("origin").is_null()).then(2).when(pl.col(kind).is_null()).then(1).otherwise(0)
    bad = pl.col("authorised") == False  # noqa: E712 - NULL is no answer
    counted = rows.group_by(state.alias("state"), pl.col(kind).alias("hops")).agg(
        pl.len().alias("n"),
        pl.col("learned").fill_null(False).sum().alias("k"),
        pl.col("judged").sum().alias("judged"),
        (bad & pl.col("judged")).fill_null(False).sum().alias("bad"),
    )
    return _curve(counted.sort("state", "hops"))


def _curve(counted: pl.DataFrame) -> list[Distant]:
    out: list[Distant] = []
    for state, hops, n, k, judged, bad in counted.iter_rows():
        exposed = Rate(bad, judged)
        before = out[-1].exposed.rate if out and hops is not None and out[-1].hops == hops - 1 else None
        kept = exposed.rate / before if before and exposed.rate is not None else None
        out.append(Distant(hops, ("reached", "unreachable", "undefined")[state], Rate(k, n), exposed, kept))
    return out
