"""Recipients by consumption: whoever is later shown a content has received it, whatever the record says of addressees.

A tool result, a log line or an artifact rarely names who will read it. Where a later context of another agent
holds it, that agent is a recipient of the weakest grade, `consumed`. Three kinds of evidence, none of them time
alone: a sighting that names the event; a sighting of the same text; a context that contains the text.
"""

import ahocorasick_rs

from earwitness.schema.case import Case

# Shorter texts are said by several parties independently ("done", "yes"): equality proves nothing.
SHORTEST = 24

# A response is an agent's own words; what an agent sent itself it had before.
_SHOWN = "s.actor IS NOT NULL AND s.kind <> 'response' AND s.actor IS DISTINCT FROM e.sender AND s.seq > e.seq"

_CONSUMED = f"""
    INSERT INTO deliveries
    WITH shown AS (
        SELECT e.event, s.actor FROM events e JOIN sightings s ON s.trace = e.trace AND s.event_id = e.event_id
        WHERE {_SHOWN}
        UNION
        SELECT e.event, s.actor FROM events e JOIN sightings s ON s.trace = e.trace AND s.content = e.content
        JOIN contents c ON c.content = e.content WHERE {_SHOWN} AND length(c.text) >= {SHORTEST}
        UNION
        SELECT event, actor FROM contained
    )
    SELECT DISTINCT event, actor, 'consumed', true FROM shown
    WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = shown.event AND d.recipient = shown.actor)
"""

# Only events nobody is known to have received are searched for inside longer contexts.
_OPEN = f"""
    SELECT e.trace, e.event, e.seq, e.sender, c.text FROM events e JOIN contents c USING (content)
    WHERE length(c.text) >= {SHORTEST} AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = e.event)
      AND EXISTS (SELECT 1 FROM sightings s WHERE s.trace = e.trace AND s.actor IS DISTINCT FROM e.sender)
    ORDER BY e.trace
"""
_CONTEXTS = """
    SELECT s.actor, s.seq, c.text FROM sightings s JOIN contents c USING (content)
    WHERE s.trace = ? AND s.actor IS NOT NULL AND s.kind <> 'response'
"""


def resolve(case: Case) -> int:
    """Add deliveries of grade `consumed`; gives their number. Needs the order of events and sightings settled."""
    before = case.count("deliveries")
    case.execute("CREATE OR REPLACE TEMP TABLE contained (event BIGINT, actor VARCHAR)")
    _find_contained(case)
    case.execute(_CONSUMED)
    case.execute("DROP TABLE contained")
    return case.count("deliveries") - before


def _find_contained(case: Case) -> None:
    by_trace: dict[int, list[tuple[int, int, str | None, str]]] = {}
    for trace, *event in case.rows(_OPEN):
        by_trace.setdefault(trace, []).append(tuple(event))
    found = [pair for trace, events in by_trace.items() for pair in _contained(events, case.rows(_CONTEXTS, [trace]))]
    if found:
        case.con.executemany("INSERT INTO contained VALUES (?, ?)", found)


def _contained(
    events: list[tuple[int, int, str | None, str]], contexts: list[tuple[str, int, str]]
) -> set[tuple[int, str]]:
    """Pairs of event and actor: one automaton over the events of a trace, one pass over its contexts."""
    texts = list(dict.fromkeys(text for *_, text in events))
    owners: dict[str, list[tuple[int, int, str | None]]] = {}
    for event, seq, sender, text in events:
        owners.setdefault(text, []).append((event, seq, sender))
    automaton = ahocorasick_rs.AhoCorasick(texts)
    found = set()
    for actor, shown, context in contexts:
        for pattern in {hit[0] for hit in automaton.find_matches_as_indexes(context, overlapping=True)}:
            for event, seq, sender in owners[texts[pattern]]:
                if seq < shown and sender != actor:
                    found.add((event, actor))
    return found
