"""Reproducibility: runs of one scenario in one cell, recorded more than once, held against the first of them."""

from earwitness.audit.measures.base import PAPER, Measure

_RUNS = """
WITH runs AS (
    SELECT f.trace, row_number() OVER again AS repeat, first_value(f.trace) OVER again AS anchor
    FROM fact f JOIN traces t USING (trace) WHERE f.scenario IS NOT NULL
    WINDOW again AS (PARTITION BY f.scenario, f.arm, f.framework, f.model, f.topology, f.adversary, f.horizon, f.pair
                     ORDER BY t.started_at NULLS LAST, f.trace)
), placed AS (
    SELECT trace, channel, sender, content, row_number() OVER (PARTITION BY trace ORDER BY seq, event) AS place
    FROM events
), pairs AS (SELECT trace, anchor FROM runs WHERE repeat > 1),
compared AS (
    SELECT coalesce(b.trace, a.trace) AS trace,
           coalesce(a.content = b.content AND a.channel = b.channel AND a.sender IS NOT DISTINCT FROM b.sender, false)
           AS same
    FROM (SELECT p.trace, e.* EXCLUDE (trace) FROM pairs p JOIN placed e ON e.trace = p.anchor) a
    FULL JOIN (SELECT e.* FROM pairs p JOIN placed e USING (trace)) b ON b.trace = a.trace AND b.place = a.place
)
"""
_CELL = (("framework",),)

MEASURES = (
    Measure(
        "event_reproducibility",
        "events that stand alike (place, channel, sender, text) in a repeated run and in the first",
        f"{PAPER}, section 5.6.6",
        f"{_RUNS}SELECT f.*, c.same AS hit FROM compared c JOIN fact f USING (trace)",
        _CELL,
        asked=True,
        needs="one scenario recorded more than once in one cell",
    ),
    Measure(
        "run_mismatch",
        "repeated runs that differ from the first in any event",
        f"{PAPER}, section 5.6.6",
        f"{_RUNS}SELECT f.*, c.hit FROM (SELECT trace, NOT bool_and(same) AS hit FROM compared GROUP BY trace) c\n"
        "JOIN fact f USING (trace)",
        _CELL,
        asked=True,
        needs="one scenario recorded more than once in one cell",
    ),
)
