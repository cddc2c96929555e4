"""Recipients by consumption: whoever is later shown a content has received it, whatever the record says of addressees.

A tool result, a log line or an artifact rarely names who will read it. Where a later context of another agent
holds it, that agent is a recipient of the weakest grade, `consumed`. Three kinds of evidence, none of them time
alone: a sighting that names the event; a sighting of the same text; a context that contains the text.
"""

from typing import Any

import ahocorasick_rs
import pyarrow as pa

from earwitness.schema.case import Case

# Shorter texts are said by several parties independently ("done", "yes"): equality proves nothing.
SHORTEST = 24

# A response is an agent's own words; what an agent sent itself it had before.
_SHOWN = "s.actor IS NOT NULL AND s.kind <> 'response' AND s.actor IS DISTINCT FROM e.sender AND s.seq > e.seq"

# Who was shown what is settled before any text is read: reading texts is what costs.
_SHOWN_TO = f"""
    CREATE OR REPLACE TEMP TABLE shown AS
    SELECT DISTINCT e.event, s.actor, NULL::UUID AS content
    FROM events e JOIN sightings s ON s.trace = e.trace AND s.event_id = e.event_id WHERE {_SHOWN}
    UNION
    SELECT DISTINCT e.event, s.actor, e.content
    FROM events e JOIN sightings s ON s.trace = e.trace AND s.content = e.content WHERE {_SHOWN}
"""
_CONSUMED = """
    INSERT INTO deliveries
    SELECT DISTINCT event, actor, 'consumed', true FROM shown
    WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = shown.event AND d.recipient = shown.actor)
"""
_KNOWN = "DELETE FROM shown USING deliveries d WHERE d.event = shown.event AND d.recipient = shown.actor"
_SHORT = f"DELETE FROM shown USING contents c WHERE c.content = shown.content AND length(c.text) < {SHORTEST}"

# Only events nobody is known to have received are searched for inside longer contexts.
_OPEN = """
    CREATE OR REPLACE TEMP TABLE open_event AS
    SELECT e.trace, e.event, e.seq, e.sender, e.content FROM events e
    WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = e.event)
      AND EXISTS (SELECT 1 FROM sightings s WHERE s.trace = e.trace AND s.actor IS DISTINCT FROM e.sender)
"""
_OPEN_TEXTS = f"""
    SELECT e.trace, e.event, e.seq, e.sender, c.text FROM open_event e JOIN contents c USING (content)
    WHERE length(c.text) >= {SHORTEST} ORDER BY e.trace
"""
_CONTEXTS = """
    SELECT s.trace, s.actor, s.seq, c.text FROM sightings s JOIN contents c USING (content)
    WHERE s.actor IS NOT NULL AND s.kind <> 'response' AND list_contains(?, s.trace)
"""
# Traces whose contexts are fetched at once.
_TOGETHER = 200


def resolve(case: Case) -> int:
    """Add deliveries of grade `consumed`; gives their number. Needs the order of events and sightings settled."""
    before = case.count("deliveries")
    case.execute(_SHOWN_TO)
    case.execute(_KNOWN)
    if case.count("shown"):
        case.execute(_SHORT)
    _find_contained(case)
    case.execute(_CONSUMED)
    case.execute("DROP TABLE shown")
    return case.count("deliveries") - before


def _find_contained(case: Case) -> None:
    case.execute(_OPEN)
    events = _by_trace(case.rows(_OPEN_TEXTS) if case.count("open_event") else [])
    case.execute("DROP TABLE open_event")
    traces, found = list(events), list[tuple[int, str]]()
    for at in range(0, len(traces), _TOGETHER):
        some = traces[at : at + _TOGETHER]
        contexts = _by_trace(case.rows(_CONTEXTS, [some]))
        found += [pair for t in some if t in contexts for pair in _contained(events[t], contexts[t])]
    if found:
        columns = {"event": [event for event, _ in found], "actor": [actor for _, actor in found]}
        case.insert("shown", pa.table(columns))


def _by_trace(rows: list[tuple[Any, ...]]) -> dict[int, list[Any]]:
    """The rest of each row, by the trace it begins with."""
    out: dict[int, list[Any]] = {}
    for trace, *rest in rows:
        out.setdefault(trace, []).append(tuple(rest))
    return out


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
