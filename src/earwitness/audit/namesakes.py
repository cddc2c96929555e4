"""Values that may be somebody else's: names, dates and other short facts that several people share.

A registry of many people holds namesakes, and birthdays and postcodes that others have too. Where such a value is found
in a run that shows nothing else of its subject, it need not be of the subject: it is `possible`. What identifies by
itself (an identifier, a telephone number, an e-mail address, that stands once in the registry) is never in question,
and neither is a subject that such a value shows to be meant, or that a rule of the run names.
"""

import pyarrow as pa

from earwitness.audit.told import kind_of
from earwitness.schema.case import Case
from earwitness.schema.views import IN_SCOPE

# In a registry of so many subjects what is no identifier is met by chance.
CROWD = 100

SEEN = """
    SELECT DISTINCT e.trace, m.value FROM matches m
    JOIN events e ON e.content = m.content AND (m.event IS NULL OR m.event = e.event) WHERE m.standing = 'confirmed'
"""
_FIND = f"""
    CREATE OR REPLACE TEMP TABLE namesakes AS
    WITH person AS (
        SELECT v.*, i.value IS NOT NULL AS identifies, lower(v.text) AS key,
               count(DISTINCT v.subject) OVER (PARTITION BY v.attribute) AS crowd
        FROM vault v LEFT JOIN identifying i USING (value) WHERE v.subject IS NOT NULL
    ), shared AS (SELECT key FROM person GROUP BY key HAVING count(DISTINCT subject) > 1),
    found AS (
        SELECT DISTINCT e.trace, v.value, v.subject, v.identifies AND v.key NOT IN (SELECT key FROM shared) AS sure,
               v.crowd >= {CROWD} OR v.key IN (SELECT key FROM shared) AS questionable
        FROM ({{seen}}) e JOIN traces t USING (trace) JOIN person v ON v.value = e.value
        WHERE {IN_SCOPE.format(trace="e.trace", scenario="t.scenario")}
    ), meant AS (
        SELECT trace, subject FROM found WHERE sure
        UNION SELECT trace, unnest(subjects) FROM rules WHERE trace IS NOT NULL
        UNION SELECT t.trace, unnest(r.subjects) FROM rules r JOIN traces t USING (scenario) WHERE r.trace IS NULL
    )
    SELECT f.trace, f.value FROM found f ANTI JOIN meant USING (trace, subject) WHERE f.questionable AND NOT f.sure
"""


def find_namesakes(case: Case, seen: str = SEEN) -> int:
    """Leave the temporary table `namesakes` (trace, value), after detection; gives the number of its rows.

    Args:
        case: its values described, and what was found.
        seen: SQL, which values (trace, value) are found.
    """
    rows = case.rows("SELECT value, attribute, text, value_type FROM vault WHERE subject IS NOT NULL")
    sure = [value for value, attribute, text, kind in rows if kind_of(attribute, text, kind) in ("id", "email")]
    case.con.register("identifying", pa.table({"value": pa.array(sure, pa.int64())}))
    try:
        case.execute(_FIND.format(seen=seen))
    finally:
        case.con.unregister("identifying")
    return case.count("namesakes")
