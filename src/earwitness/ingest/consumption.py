"""Recipients by consumption: whoever is later shown a content has received it, whatever the record says of addressees.

A tool result, a log line or an artifact rarely names who will read it. Where a later context of another agent
holds it, that agent is a recipient of the weakest grade, `consumed`. Three kinds of evidence, none of them time
alone: a sighting that names the event; a sighting of the same text; a context that contains the text.
"""

from collections.abc import Callable, Iterable, Iterator

import ahocorasick_rs
import pyarrow as pa

from earwitness.schema.case import Case

_Owners = dict[str, list[tuple[int, int, str | None]]]
# Shorter texts are said by several parties independently ("done", "yes"): equality proves nothing.
SHORTEST = 24

# A response is an agent's own words; what an agent sent itself it had before.
_SHOWN = "s.actor IS DISTINCT FROM e.sender AND s.seq > e.seq"
# Who was shown something last was also shown it; histories show it again and again.
_LAST = "SELECT trace, actor, {key}, max(seq) AS seq FROM sightings WHERE actor IS NOT NULL AND kind <> 'response'"

# Who was shown what is settled before any text is read: reading texts is what costs.
_SHOWN_TO = f"""
    CREATE OR REPLACE TEMP TABLE shown AS
    SELECT DISTINCT e.event, s.actor, NULL::UUID AS content
    FROM events e JOIN ({_LAST.format(key="event_id")} AND event_id IS NOT NULL GROUP BY ALL) s
    ON s.trace = e.trace AND s.event_id = e.event_id WHERE {_SHOWN}
    UNION
    SELECT DISTINCT e.event, s.actor, e.content
    FROM events e JOIN ({_LAST.format(key="content")} GROUP BY ALL) s
    ON s.trace = e.trace AND s.content = e.content WHERE {_SHOWN}
"""
_CONSUMED = """
    INSERT INTO deliveries
    SELECT DISTINCT event, actor, 'consumed', true FROM shown
    WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = shown.event AND d.recipient = shown.actor)
    ORDER BY event, actor
"""
_KNOWN = "DELETE FROM shown USING deliveries d WHERE d.event = shown.event AND d.recipient = shown.actor"
_SHORT = f"DELETE FROM shown USING contents c WHERE c.content = shown.content AND length(c.text) < {SHORTEST}"

# What a store holds is written anew: whoever was shown only the later write, by its id, has nothing of the one before.
_ELSEWHERE = """
    DELETE FROM shown USING (
        SELECT h.event, h.actor FROM shown h JOIN events e ON e.event = h.event AND e.channel IN ('C5', 'C7')
        JOIN sightings s ON s.trace = e.trace AND s.actor = h.actor AND s.content = h.content
                         AND s.kind <> 'response' AND s.seq > e.seq
        LEFT JOIN events o ON o.trace = s.trace AND o.event_id = s.event_id
        WHERE h.content IS NOT NULL GROUP BY ALL
        HAVING bool_and(coalesce(o.channel = e.channel AND o.kind = e.kind AND o.seq > e.seq, false))
    ) later
    WHERE shown.event = later.event AND shown.actor = later.actor AND shown.content IS NOT NULL
"""

# Only events nobody is known to have received are searched for inside longer contexts, and only where somebody else
# than their sender was shown something.
_OPEN = """
    CREATE OR REPLACE TEMP TABLE open_event AS
    SELECT e.trace, e.event, e.seq, e.sender, e.content FROM events e
    JOIN (SELECT trace, min(actor) AS first, max(actor) AS last, bool_or(actor IS NULL) AS nobody
          FROM sightings GROUP BY trace) s USING (trace)
    WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = e.event)
      AND (s.first IS DISTINCT FROM e.sender OR s.last IS DISTINCT FROM e.sender OR s.nobody)
"""
_OPEN_SIZES = f"""
    SELECT e.trace, sum(strlen(c.text)), count(*) FROM open_event e JOIN contents c USING (content)
    WHERE length(c.text) >= {SHORTEST} GROUP BY e.trace ORDER BY e.trace
"""
_OPEN_SIZES_IN = f"""
    SELECT e.event, strlen(c.text), 1 FROM open_event e JOIN contents c USING (content)
    WHERE length(c.text) >= {SHORTEST} AND e.trace = ? ORDER BY e.event
"""
_OPEN_TEXTS = f"""
    SELECT e.trace, e.event, e.seq, e.sender, c.text FROM open_event e JOIN contents c USING (content)
    WHERE length(c.text) >= {SHORTEST} AND e.trace BETWEEN ? AND ? AND e.event BETWEEN ? AND ?
"""
# A context is read once, whoever was shown it and however often.
_CONTEXTS = f"""
    SELECT s.trace, c.text, s.viewers FROM (
        SELECT trace, content, list({{'actor': actor, 'seq': seq}}) AS viewers
        FROM ({_LAST.format(key="content")} AND trace BETWEEN ? AND ? GROUP BY ALL) GROUP BY trace, content
    ) s JOIN contents c USING (content) WHERE strlen(c.text) >= ?
"""
# Traces whose texts are looked for at once: so many, with so many bytes of text and so many texts.
_TRACES, _BYTES, _TEXTS = 5000, 16 << 20, 100_000
# The same of one long trace, whose contexts are read anew for each part: so many bytes and texts at once.
_PART_BYTES, _PART_TEXTS = 64 << 20, 150_000
_ALL_EVENTS = (0, (1 << 63) - 1)
_ROWS = 200
# Up to so many texts are looked for one by one: to build an automaton costs more.
_FEW = 12
# Of a text so much is looked for, and the rest is compared: an automaton takes forty times the text it is made of.
# More where more than a few begin alike.
_BEGINNINGS, _ALIKE = (32, 128, 512, 2048), 8


def resolve(case: Case) -> int:
    """Add deliveries of grade `consumed`; gives their number. Needs the order of events and sightings settled."""
    before = case.count("deliveries")
    case.execute(_SHOWN_TO)
    case.execute(_KNOWN)
    if case.count("shown"):
        case.execute(_SHORT)
        case.execute(_ELSEWHERE)
    _find_contained(case)
    case.execute(_CONSUMED)
    case.execute("DROP TABLE shown")
    return case.count("deliveries") - before


def _find_contained(case: Case) -> None:
    case.execute(_OPEN)
    found = set[tuple[int, str]]()
    for part in _parts(case) if case.count("open_event") else ():
        found |= _contained(case, *part)
    case.execute("DROP TABLE open_event")
    if found:
        pairs = sorted(found)
        case.insert("shown", pa.table({"event": [event for event, _ in pairs], "actor": [actor for _, actor in pairs]}))


def _parts(case: Case) -> Iterator[tuple[int, int, int, int]]:
    """First and last trace, and first and last event, of what is looked for at once."""
    sizes = case.rows(_OPEN_SIZES)
    whole = {trace for trace, length, n in sizes if length <= _PART_BYTES and n <= _PART_TEXTS}
    for first, last in _ranges(sizes, _TRACES, _BYTES, _TEXTS):
        if first < last or first in whole:
            yield first, last, *_ALL_EVENTS
            continue
        events = case.rows(_OPEN_SIZES_IN, [first])
        yield from ((first, last, *part) for part in _ranges(events, len(events), _PART_BYTES, _PART_TEXTS))


def _ranges(sizes: list[tuple[int, int, int]], most: int, size: int, texts: int) -> Iterator[tuple[int, int]]:
    """First and last of the rows of each batch; one that is large stands alone."""
    some: list[int] = []
    taken, held = 0, 0
    for key, length, n in sizes:
        if some and (taken + length > size or held + n > texts or len(some) >= most):
            yield some[0], some[-1]
            some, taken, held = [], 0, 0
        some.append(key)
        taken, held = taken + length, held + n
    if some:
        yield some[0], some[-1]


def _contained(case: Case, first: int, last: int, first_event: int, last_event: int) -> set[tuple[int, str]]:
    """Pairs of event and actor in some traces."""
    owners: dict[int, _Owners] = {}
    open_texts = case.rows(_OPEN_TEXTS, [first, last, first_event, last_event])
    for trace, event, seq, sender, text in open_texts:
        owners.setdefault(trace, {}).setdefault(text, []).append((event, seq, sender))
    inside = _Searchers(owners)
    found = set[tuple[int, str]]()
    contexts = case.con.execute(_CONTEXTS, [first, last, min(len(row[-1]) for row in open_texts)])
    while rows := contexts.fetchmany(_ROWS):
        for trace, context, viewers in rows:
            heard = [o for t in inside[trace](context) for o in owners[trace][t]] if trace in owners else []
            found.update(
                (event, v["actor"])
                for event, seq, sender in heard
                for v in viewers
                if seq < v["seq"] and sender != v["actor"]
            )
    return found


class _Searchers(dict[int, Callable[[str], Iterable[str]]]):
    """What finds the open texts of a trace: made for the first context that is long enough to hold one."""

    def __init__(self, owners: dict[int, _Owners]) -> None:
        self._owners = owners

    def __missing__(self, trace: int) -> Callable[[str], Iterable[str]]:
        self[trace] = found = _searcher(list(self._owners[trace]))
        return found


def _searcher(texts: list[str]) -> Callable[[str], Iterable[str]]:
    """What finds those of some texts that stand in another."""
    if len(texts) <= _FEW:
        return lambda context: [t for t in texts if t in context]
    beginnings = _by_beginning(texts)
    groups = list(beginnings.values())
    find = ahocorasick_rs.AhoCorasick(list(beginnings)).find_matches_as_indexes
    return lambda context: {
        text for n, at, _ in find(context, overlapping=True) for text in groups[n] if context.startswith(text, at)
    }


def _by_beginning(texts: list[str]) -> dict[str, list[str]]:
    """Texts by a beginning that few of them share."""
    found: dict[str, list[str]] = {}
    for length in _BEGINNINGS:
        groups: dict[str, list[str]] = {}
        for text in texts:
            groups.setdefault(text[:length], []).append(text)
        found |= {beginning: group for beginning, group in groups.items() if len(group) <= _ALIKE}
        texts = [text for group in groups.values() if len(group) > _ALIKE for text in group]
    return found | {text: [text] for text in texts}
