"""Strata of (event, value) pairs: what a deterministic tier decides, what nobody could have told, and the rest.

`certain-positive`: recognisers or the registry found the value, and confirm it. `certain-negative`: nothing was found
and the sender is an agent that had not obtained the value by then. `semantic-middle`: everything else, which only
a reader can decide; the figures of a semantic detector are told on this stratum alone.
"""

from earwitness.schema.case import Case
from earwitness.schema.tables import TABLES
from earwitness.schema.tables_labels import LABELLED

STRATA = ("certain-positive", "semantic-middle", "certain-negative")

# Matches as detection left them, whatever people have decided since.
DETECTED = """(
    SELECT m.*, false AS overruled FROM matches m ANTI JOIN overruled o
        ON o.content = m.content AND o.value = m.value AND o.tier = m.tier AND o.event IS NOT DISTINCT FROM m.event
    UNION ALL SELECT * EXCLUDE (label), true FROM overruled)"""

# Since when each agent has a value: by access of its own, or because it was told.
KNOWS = """(
    SELECT trace, value, actor, min(seq) AS seq FROM (
        SELECT trace, value, agent AS actor, seq FROM access
        UNION ALL SELECT trace, value, recipient, learned_seq FROM exposures)
    GROUP BY ALL)"""


def stratum(tier: str, standing: str, sender: str, since: str) -> str:
    """SQL: the stratum, from expressions for the match, the kind of the sender and since when it had the value."""
    return f"""CASE WHEN {tier} <= 2 AND {standing} = 'confirmed' THEN 'certain-positive'
                    WHEN {standing} IS NULL AND {sender} = 'agent' AND {since} IS NULL THEN 'certain-negative'
                    ELSE 'semantic-middle' END"""


def prepare(case: Case) -> None:
    """Make the tables of judgement where the case was written without them."""
    for table in (*LABELLED, TABLES["judgements"]):
        case.execute(table.ddl)
