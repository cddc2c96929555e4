"""Neighbouring pairs: two runs of one scenario and cell that differ in their pair member.

Of several runs a member, the first goes with the first. Cells with other than two members are left out and counted.
"""

from typing import NamedTuple

import polars as pl

from earwitness.schema.case import Case

CELL = ("scenario", "domain", "framework", "topology", "model", "arm", "adversary", "horizon")
# Value lengths are of the values a run brings itself: those are what a pair differs in.
_RUNS = f"""
    SELECT t.trace, {", ".join(f"t.{c}" for c in CELL)}, t.pair, t.started_at, t.source, e.line, e.answer,
           coalesce(v.size, w.size) AS value_length, t.trace IN (
               SELECT trace FROM verdicts WHERE dynamic = 'sanitize' AND standing = 'confirmed') AS disclosed
    FROM traces t
    JOIN (SELECT e.trace, min(e.line) AS line,
                 coalesce(avg(length(c.text)) FILTER (e.channel = 'C1'), avg(length(c.text))) AS answer
          FROM events e JOIN contents c USING (content) GROUP BY e.trace) e USING (trace)
    LEFT JOIN (SELECT trace, sum(length(text)) AS size FROM vault WHERE scope = 'trace' GROUP BY trace) v USING (trace)
    LEFT JOIN (SELECT scenario, sum(length(text)) AS size FROM vault WHERE scope = 'scenario' GROUP BY scenario) w
        ON w.scenario = t.scenario
    WHERE t.pair IS NOT NULL AND t.scenario IS NOT NULL ORDER BY t.trace
"""


class Pairs(NamedTuple):
    """Pairs and what was left out.

    Attributes:
        frame: one row a pair: the cell, and of either side (`_a`, `_b`) trace, member, start, source, line, mean
            length of its answers, length of its values. Side a is the member whose name sorts first.
        disclosed: pairs left out because a side discloses a value without being allowed to.
        unpaired: runs left out because they have no partner.
    """

    frame: pl.DataFrame
    disclosed: int
    unpaired: int


def pairs(case: Case, *, disclosed: bool = False) -> Pairs:
    """The pairs of a case; `disclosed` keeps those that disclose."""
    runs = case.frame(_RUNS)
    two = runs.filter(pl.col("pair").n_unique().over(CELL) == 2).with_columns(
        (pl.col("pair").rank("dense").over(CELL) - 1).alias("side"),
        pl.col("trace").rank("ordinal").over([*CELL, "pair"]).alias("turn"),
    )
    rest = ("trace", "pair", "started_at", "source", "line", "answer", "value_length", "disclosed")
    sides = [
        two.filter(pl.col("side") == n).select(*CELL, "turn", *(pl.col(c).alias(f"{c}_{s}") for c in rest))
        for n, s in enumerate("ab")
    ]
    joined = sides[0].join(sides[1], on=[*CELL, "turn"], nulls_equal=True).sort("trace_a", "trace_b")
    clean = joined if disclosed else joined.filter(~pl.col("disclosed_a") & ~pl.col("disclosed_b"))
    return Pairs(clean, len(joined) - len(clean), len(runs) - 2 * len(joined))
