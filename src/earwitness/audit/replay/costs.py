"""What protection costs in text: spans acted on without need, and how much of the rest is left.

`content_kept` is a proxy. It compares words, not meaning: of the words of a text that lie outside every value its
recipient may not have, it counts how many are still there. It is taken on a sample of deliveries.
"""

import re
from collections import Counter
from typing import Any

from earwitness.audit.replay.condition import Plan
from earwitness.schema.case import Case

SAMPLE = 300
PREPARE = ("CREATE OR REPLACE TEMP TABLE rp_cost (plan INTEGER, measure VARCHAR, k BIGINT, n BIGINT)",)

_COLLATERAL = """
    INSERT INTO rp_cost
    SELECT {plan}, 'collateral', count(*) FILTER (a.span NOT IN (SELECT span FROM rp_touch)), count(*)
    FROM rp_act a JOIN rp_flow f USING (class) WHERE a.action <> 'allow'
"""
# The same deliveries for every plan, drawn by a hash of what they are.
_DRAWN = f"""
    CREATE OR REPLACE TEMP TABLE rp_drawn AS
    SELECT c.class, x.text, coalesce(p.places, []) AS places
    FROM rp_class c JOIN rulings r ON r.trace = c.trace AND r.ruled JOIN contents x ON x.content = c.content
    LEFT JOIN (
        SELECT o.class, list(DISTINCT struct_pack(start := k.start, stop := k.stop)) AS places
        FROM rp_occ o JOIN rp_class c USING (class)
        JOIN rp_known k ON k.trace = c.trace AND k.content = c.content AND k.value = o.value
        WHERE o.truth = 'sanitize' GROUP BY o.class) p USING (class)
    ORDER BY hash(c.trace, c.content, c.channel, c.recipient), c.class LIMIT {SAMPLE}
"""
_SHOWN = """
    SELECT d.class, any_value(t.text), list(p.plan)
    FROM rp_plan p CROSS JOIN rp_drawn d LEFT JOIN rp_sent s ON s.plan = p.plan AND s.class = d.class
    LEFT JOIN replay_texts t ON t.variant = s.variant GROUP BY d.class, s.variant
"""
_WORD = re.compile(r"\w+")


def note_collateral(case: Case, plan: Plan) -> None:
    """Count what a plan acts on, and what of it lies on no known value, after `act`."""
    case.execute(_COLLATERAL.format(plan=plan.number))


def note_like(case: Case, plan: Plan, first: Plan) -> None:
    """Note for a plan what was counted for another that acts alike."""
    case.execute("INSERT INTO rp_cost SELECT ?, measure, k, n FROM rp_cost WHERE plan = ?", [plan.number, first.number])


def note_kept(case: Case) -> None:
    """Compare the words of drawn deliveries before and after, for every plan; after `conclude`."""
    case.execute(_DRAWN)
    meant = {number: Counter(_words(text, places)) for number, text, places in case.rows("SELECT * FROM rp_drawn")}
    kept: dict[int, list[int]] = {}
    for number, text, plans in case.rows(_SHOWN):
        should = meant[number]
        left = should if text is None else should & Counter(_WORD.findall(text))
        for plan in plans:
            total = kept.setdefault(plan, [0, 0])
            total[0] += left.total()
            total[1] += should.total()
    for plan, (k, n) in kept.items():
        case.execute("INSERT INTO rp_cost VALUES (?, 'content_kept', ?, ?)", [plan, k, n])


def _words(text: str, places: list[dict[str, Any]]) -> list[str]:
    """Words that touch none of the places."""
    covered = bytearray(len(text))
    for place in places:
        covered[place["start"] : place["stop"]] = b"\1" * (min(place["stop"], len(text)) - place["start"])
    return [m[0] for m in _WORD.finditer(text) if not any(covered[m.start() : m.end()])]
