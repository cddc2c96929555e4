"""Who is there only because the topology grew: told by a baseline run of the same scenario."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from earwitness.schema.case import Case

_ROSTERS = """
    SELECT DISTINCT coalesce(t.scenario, '') AS scenario, a.actor FROM actors a JOIN traces t USING (trace)
    WHERE a.kind = 'agent' {chosen}
"""
_PLACE = """
    UPDATE actors SET position = CASE WHEN EXISTS (
        SELECT 1 FROM baseline b WHERE b.scenario = coalesce(t.scenario, '') AND b.actor = actors.actor
    ) THEN 'original' ELSE 'introduced' END
    FROM traces t
    WHERE t.trace = actors.trace AND actors.kind = 'agent' AND actors.position = 'unknown'
      AND coalesce(t.scenario, '') IN (SELECT scenario FROM baseline)
"""
_PLACED = """
    SELECT count(*) FILTER (position = 'original'), count(*) FILTER (position = 'introduced'),
           count(DISTINCT trace) FILTER (position = 'unknown')
    FROM actors WHERE kind = 'agent'
"""


@dataclass(frozen=True)
class Placed:
    """Agents by position, and traces in which some agent's is still not known."""

    original: int
    introduced: int
    unknown_traces: int


def introduce_from_baseline(case: Case, baseline: Case | Sequence[int]) -> Placed:
    """Give agents whose position nobody stated one: `original` if in a baseline run, else `introduced`.

    Runs are paired by scenario (runs without one with each other). Traces whose scenario has no baseline run are left
    alone. What a trace or, later, a roster says outranks the baseline. Call it after the import and before the audit.

    Args:
        case: the runs to judge.
        baseline: a case with the baseline runs, or the numbers of those of them that stand in `case`.
    """
    rosters = _rosters(case, baseline)
    with case.transaction():
        case.con.register("baseline", rosters)
        try:
            case.execute(_PLACE)
        finally:
            case.con.unregister("baseline")
    return Placed(*case.rows(_PLACED)[0])


def _rosters(case: Case, baseline: Case | Sequence[int]) -> pa.Table:
    if isinstance(baseline, Case):
        return baseline.arrow(_ROSTERS.format(chosen=""))
    return case.arrow(_ROSTERS.format(chosen=f"AND list_contains({[int(t) for t in baseline]}::INTEGER[], a.trace)"))
