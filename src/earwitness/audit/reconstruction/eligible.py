"""How many instances of each axis are eligible: exact counts, without making a single pair.

With N events received by r in τ, N_c of them on channel c, and m agents outside for v in τ, over all (τ, r, v) with r
outside for v:

- inference: Σ N
- cross-channel: Σ (N² - Σ_c N_c²) / 2, unordered pairs of events on different channels
- cross-agent: Σ m (m - 1) / 2 over (τ, v), unordered pairs of agents
"""

from typing import Literal, get_args

from earwitness.schema.case import Case

Axis = Literal["inference", "cross-channel", "cross-agent"]
AXES: tuple[Axis, ...] = get_args(Axis)

# Pairs of events on different channels, from the counts by channel.
_APART = "(sum(n) * sum(n) - sum(n * n)) // 2"
INFERENCE = """
    SELECT 'inference' AS axis, o.trace, o.value, count(*) AS eligible
    FROM rc_outside o JOIN rc_got g USING (trace, actor) GROUP BY o.trace, o.value
"""
CROSS_CHANNEL = f"""
    SELECT 'cross-channel' AS axis, o.trace, o.value, sum(p.pairs)::BIGINT AS eligible
    FROM rc_outside o JOIN (
        SELECT trace, actor, {_APART} AS pairs FROM (
            SELECT trace, actor, channel, count(*)::HUGEINT AS n FROM rc_got GROUP BY ALL)
        GROUP BY trace, actor) p USING (trace, actor)
    GROUP BY o.trace, o.value HAVING sum(p.pairs) > 0
"""
CROSS_AGENT = """
    SELECT 'cross-agent' AS axis, trace, value, count(*) * (count(*) - 1) // 2 AS eligible
    FROM rc_outside WHERE kind = 'agent' GROUP BY trace, value HAVING count(*) > 1
"""
ELIGIBLE: dict[Axis, str] = {
    "inference": INFERENCE,
    "cross-channel": CROSS_CHANNEL,
    "cross-agent": CROSS_AGENT,
}


def count_eligible(case: Case) -> None:
    """Leave the counts in the temporary table `rc_eligible` (axis, trace, value, eligible)."""
    case.execute(f"CREATE OR REPLACE TEMP TABLE rc_eligible AS {' UNION ALL '.join(ELIGIBLE.values())}")
