"""Last words of a trace that were no answer to the user, because the next agent's trace goes on with them.

Some recorders write each turn of a group chat as a trace of its own, so that what an agent says to the group looks
like the end of a run. It was a message if another agent, later and in the same source, was shown it together with
something else of that trace, and the user said nothing in between: in a further turn of a conversation with the user
his new words come after the answer.
"""

from earwitness.schema.case import Case

# Words with which several traces ended are common, and prove nothing.
_SHOWN = """
    CREATE OR REPLACE TEMP TABLE shown AS
    WITH ended AS (
        SELECT e.event, e.trace, e.sender, e.content, t.source, t.started_at FROM events e JOIN traces t USING (trace)
        WHERE e.channel = 'C1' AND e.kind = 'final' AND t.started_at IS NOT NULL
        QUALIFY min(e.trace) OVER (PARTITION BY e.content) = max(e.trace) OVER (PARTITION BY e.content)
    )
    SELECT n.event, n.trace, n.content, s.trace AS later, min(s.seq) AS seq
    FROM ended n JOIN sightings s ON s.content = n.content AND s.trace <> n.trace
    JOIN traces t ON t.trace = s.trace AND t.source = n.source AND t.started_at > n.started_at
    WHERE s.actor <> n.sender GROUP BY ALL
"""
_FOUND = """
    CREATE OR REPLACE TEMP TABLE passed AS
    SELECT DISTINCT h.event, h.trace, h.later
    FROM shown h JOIN sightings a ON a.trace = h.trace AND a.content <> h.content
    JOIN sightings b ON b.trace = h.later AND b.content = a.content AND b.seq < h.seq
    WHERE NOT EXISTS (SELECT 1 FROM sightings u
                      WHERE u.trace = h.later AND u.kind IN ('initial', 'input') AND u.seq > h.seq)
"""
_STEPS = (
    "UPDATE events SET channel = 'C2', kind = 'message' WHERE event IN (SELECT event FROM passed)",
    "DELETE FROM deliveries WHERE event IN (SELECT event FROM passed)",
    """UPDATE traces SET observable = list_sort(list_append(observable, 'C2'))
       WHERE trace IN (SELECT trace FROM passed) AND NOT list_contains(observable, 'C2')""",
    """INSERT INTO links (trace, other, kind, joined, n, source)
       SELECT p.trace, t.trace_id, 'text', false, count(*), t.source FROM passed p JOIN traces t ON t.trace = p.later
       WHERE NOT EXISTS (SELECT 1 FROM links l WHERE l.trace = p.trace AND l.other = t.trace_id AND l.kind = 'text')
       GROUP BY p.trace, t.trace_id, t.source ORDER BY ALL""",
)


def settle(case: Case) -> None:
    """Make messages of such words, and link the traces; needs one row a trace, and steps in order."""
    if case.count("traces") < 2:
        return
    case.execute(_SHOWN)
    case.execute(_FOUND)
    if case.one("SELECT count(*) FROM passed"):
        for statement in _STEPS:
            case.execute(statement)
    for name in ("passed", "shown"):
        case.execute(f"DROP TABLE {name}")
