"""What an import would take for evidence in sanitized traces: nobody may seem to receive what the record never showed.

Texts that were different may be alike once they are sanitized, so that a sighting of one looks like a copy of another.
The importer's own rule is asked, in a case of its own, and such sightings are withheld.
"""

from earwitness.audit.replay.apart import apart
from earwitness.ingest import consumption
from earwitness.schema.case import Case

# Only where something was changed, and somebody was shown something, can there be anything new.
_TRACES = """
    CREATE OR REPLACE TEMP TABLE rx_trace AS
    SELECT DISTINCT trace FROM (
        SELECT e.trace FROM rx_event v JOIN events e USING (event) WHERE v.shown IS DISTINCT FROM e.content OR parts > 1
        UNION SELECT s.trace FROM rx_seen x JOIN sightings s ON s.rowid = x.sighting WHERE x.shown <> s.content)
    WHERE trace IN (SELECT trace FROM sightings)
"""
_TEXTS = """
    SELECT DISTINCT ON (content) content, text FROM (
        SELECT content, text FROM contents UNION ALL SELECT changed, text FROM replay_texts WHERE text IS NOT NULL
        UNION ALL SELECT shown, text FROM rx_cut)
    WHERE content IN (SELECT v.shown FROM rx_event v JOIN events USING (event) JOIN rx_trace USING (trace)
                      UNION SELECT x.shown FROM rx_seen x JOIN sightings s ON s.rowid = x.sighting
                      JOIN rx_trace USING (trace))
"""
_EVENTS = """
    SELECT v.copy AS event, e.trace, v.id AS event_id, e.seq, e.sender, v.shown AS content
    FROM rx_event v JOIN events e USING (event) JOIN rx_trace USING (trace) WHERE v.shown IS NOT NULL
"""
_DELIVERIES = """
    SELECT v.copy AS event, d.actor AS recipient, d.grade, d.delivered
    FROM rx_to d JOIN rx_event v USING (event, part) JOIN events e USING (event) JOIN rx_trace USING (trace)
"""
_SIGHTINGS = """
    SELECT s.trace, s.actor, s.kind, s.seq, x.shown AS content, x.id AS event_id
    FROM rx_seen x JOIN sightings s ON s.rowid = x.sighting JOIN rx_trace USING (trace) WHERE x.shown IS NOT NULL
"""
_WITHHOLD = """
    UPDATE rx_seen SET shown = NULL, id = NULL
    FROM sightings s, fresh f JOIN rx_event v ON v.copy = f.event JOIN events e ON e.event = v.event
    WHERE s.rowid = rx_seen.sighting AND s.trace = e.trace AND s.actor = f.recipient AND s.seq > e.seq
"""


_TABLES = {"contents": _TEXTS, "events": _EVENTS, "deliveries": _DELIVERIES, "sightings": _SIGHTINGS}


def hold_back_evidence(case: Case) -> int:
    """Withhold sightings that would make somebody a recipient; gives how many recipients that would have made."""
    case.execute(_TRACES)
    fresh = _withhold(case) if case.count("rx_trace") else 0
    case.execute("DROP TABLE rx_trace")
    return fresh


def _withhold(case: Case) -> int:
    with apart(case, _TABLES) as other:
        before = other.count("deliveries")
        consumption.resolve(other)
        fresh = other.arrow(f"SELECT event, recipient FROM deliveries WHERE rowid >= {before}")
    case.con.register("fresh", fresh)
    try:
        case.execute(_WITHHOLD)
    finally:
        case.con.unregister("fresh")
    return int(fresh.num_rows)
