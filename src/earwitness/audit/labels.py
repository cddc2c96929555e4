"""Published labels beside our findings: where both agree, what only the label says, what only the analyzer says."""

from typing import NamedTuple

from earwitness.schema.case import Case


class Agreement(NamedTuple):
    """Counts of (event, attribute) pairs over labelled events, and of events whose whole set of pairs is equal."""

    agree: int
    label_only: int
    analyzer_only: int
    events: int
    events_equal: int


_COMPARE = """
    WITH labelled AS (SELECT DISTINCT e.event, e.trace FROM labels l JOIN events e USING (trace, event_id)),
    said AS (SELECT DISTINCT e.event, l.attribute FROM labels l JOIN events e USING (trace, event_id)
             WHERE l.attribute IS NOT NULL),
    found AS (SELECT DISTINCT v.event, w.attribute
              FROM verdicts v JOIN vault w USING (value) JOIN labelled USING (event)
              WHERE v.dynamic = 'sanitize' AND v.standing = 'confirmed'),
    pairs AS (SELECT event, s.attribute IS NOT NULL AS label, f.attribute IS NOT NULL AS analyzer
              FROM said s FULL JOIN found f USING (event, attribute)),
    events AS (SELECT event, coalesce(bool_and(label AND analyzer), true) AS equal
               FROM labelled LEFT JOIN pairs USING (event) GROUP BY event)
    SELECT (SELECT count(*) FROM pairs WHERE label AND analyzer), (SELECT count(*) FROM pairs WHERE NOT analyzer),
           (SELECT count(*) FROM pairs WHERE NOT label), count(*), count(*) FILTER (equal) FROM events
"""


def compare(case: Case) -> Agreement:
    """Compare verdicts with the labels inside the files. The labels were never an input of detection."""
    return Agreement(*case.rows(_COMPARE)[0])
