"""Links between traces: what was joined into a run is folded into it, and what has to do with each other is linked.

Joined are only traces that their own records join (see `earwitness.ingest.spans.links`). What is found here stays
apart: a conversation, an A2A task, a tool call or a text that several traces hold in common says that they belong
together, but not that they are one run. Every query groups by the id in common, so none compares traces pair by pair.
"""

from collections.abc import Iterable

import pyarrow as pa

from earwitness.schema.case import Case

# Shorter texts are said in many runs independently.
SHORTEST = 32

# Where the id of a trace stands in numbers, and has to follow a trace that was joined.
_NUMBERED = ("events", "sightings", "actors", "losses", "labels", "vault", "rules", "links", "traces")

_TIDY = (
    # A trace is not linked to itself, and two of which one was joined need no other word.
    "DELETE FROM links USING traces t WHERE links.trace = t.trace AND links.other = t.trace_id",
    """CREATE OR REPLACE TEMP TABLE kept AS
       SELECT trace, other, kind, bool_or(joined) AS joined, max(n) AS n, first(source ORDER BY rowid) AS source,
              first(line ORDER BY rowid) AS line, first("offset" ORDER BY rowid) AS "offset"
       FROM links GROUP BY trace, other, kind""",
    "DELETE FROM links",
    "INSERT INTO links SELECT * FROM kept ORDER BY trace, other, kind",
    "DROP TABLE kept",
)

# Each trace that shares an id with others is linked to the first of them.
_INSERT = """
    INSERT INTO links (trace, other, kind, joined, n, source)
    WITH shared AS ({shared}), pairs AS (
        SELECT min(trace) OVER (PARTITION BY key) AS trace, trace AS later FROM shared
    ), found AS (SELECT trace, later, count(*) AS n FROM pairs WHERE trace <> later GROUP BY trace, later)
    SELECT f.trace, t.trace_id, '{kind}', false, n, t.source FROM found f JOIN traces t ON t.trace = f.later
    WHERE NOT EXISTS (SELECT 1 FROM links l JOIN traces o ON o.trace_id = l.other WHERE l.kind = '{kind}'
                      AND ((l.trace = f.trace AND o.trace = t.trace) OR (l.trace = t.trace AND o.trace = f.trace)))
    ORDER BY ALL
"""
_CONVERSATION = """
    SELECT DISTINCT trace, coalesce(attributes->>'$.conversation', attributes->>'$.session_id',
                                    attributes->>'$.thread_id') AS key
    FROM traces WHERE key IS NOT NULL
"""
# The log of an A2A server names its traces by the context.
_TASK = """
    WITH named AS (
        SELECT trace, unnest([attributes->>'$.task', attributes->>'$.context']) AS key FROM traces
        WHERE attributes LIKE '%"task"%' OR attributes LIKE '%"context"%'
    )
    SELECT DISTINCT trace, key FROM named WHERE key IS NOT NULL
    UNION SELECT trace, trace_id FROM traces WHERE trace_id IN (SELECT key FROM named)
"""
_CALL = r"(?:call_|toolu_|tooluse_|chatcmpl-tool-)[A-Za-z0-9]{16,}"
_TOOL_CALL = f"""
    SELECT DISTINCT trace, regexp_extract(event_id, '{_CALL}') AS key FROM events
    WHERE (contains(event_id, 'call') OR contains(event_id, 'tool')) AND key <> ''
"""
# A text is evidence if one trace gave it to an agent, one other one got it, and no third one holds it.
_CROSSING = f"""
    CREATE OR REPLACE TEMP TABLE crossing AS
    WITH held AS (
        SELECT content, trace, channel = 'C2' AS said, false AS given FROM events WHERE channel IN ('C2', 'C3')
        UNION ALL
        SELECT content, trace, false, true FROM sightings WHERE kind = 'initial'
    ), shared AS (
        SELECT content FROM held GROUP BY content
        HAVING min(trace) <> max(trace) AND count(*) FILTER (NOT given) > 0 AND count(DISTINCT trace) = 2
    ), roles AS (
        SELECT content, trace, bool_or(said) AS said, bool_or(given) AS given FROM held SEMI JOIN shared USING (content)
        GROUP BY content, trace
    )
    SELECT a.content, a.trace AS earlier, b.trace AS later, b.given FROM roles a JOIN roles b USING (content)
    WHERE a.trace <> b.trace AND NOT a.given AND (b.given OR (a.said AND b.said AND a.trace < b.trace))
      AND EXISTS (SELECT 1 FROM contents c WHERE c.content = a.content AND length(c.text) >= {SHORTEST})
"""
# Two runs of one task say the same without knowing of each other.
_AGAIN = """
    DELETE FROM crossing USING traces a, traces b
    WHERE crossing.earlier = a.trace AND crossing.later = b.trace AND a.scenario = b.scenario
"""
_ASKED_ALIKE = """
    DELETE FROM crossing WHERE EXISTS (
        SELECT 1 FROM sightings a JOIN sightings b USING (content)
        WHERE a.kind = 'initial' AND b.kind = 'initial' AND a.trace = crossing.earlier AND b.trace = crossing.later)
    AND NOT given
"""
_TEXT = """
    INSERT INTO links (trace, other, kind, joined, n, source)
    SELECT x.earlier, t.trace_id, 'text', false, count(*), t.source FROM crossing x JOIN traces t ON t.trace = x.later
    WHERE NOT EXISTS (SELECT 1 FROM links l WHERE l.trace = x.earlier AND l.other = t.trace_id AND l.kind = 'text')
    GROUP BY x.earlier, t.trace_id, t.source ORDER BY ALL
"""


def fold(case: Case, traces: dict[str, int]) -> None:
    """Move what stands under an id that was joined to the run: labels, values and rules may name it, too.

    Args:
        case: with the links of the import.
        traces: numbers by id; an id that was joined gets the number of its run.
    """
    if not case.count("links"):
        return
    moved = _moved(case.rows("SELECT DISTINCT trace, other FROM links WHERE joined"), traces)
    if moved:
        _move(case, moved, {number: name for name, number in reversed(traces.items())})
        for name in [name for name, number in traces.items() if number in moved]:
            traces[name] = moved[traces.pop(name)]  # comes last: the first id of a number is its own


def find(case: Case) -> None:
    """Link traces that hold an id or a text in common; needs one row a trace."""
    if case.count("links"):
        for statement in _TIDY:
            case.execute(statement)
    if case.count("traces") < 2:
        return
    for kind, shared in (("conversation", _CONVERSATION), ("task", _TASK), ("tool_call", _TOOL_CALL)):
        case.execute(_INSERT.format(kind=kind, shared=shared))
    case.execute(_CROSSING)
    if case.one("SELECT count(*) FROM crossing"):
        for statement in (_AGAIN, _ASKED_ALIKE, _TEXT):
            case.execute(statement)
    case.execute("DROP TABLE crossing")


def _moved(pairs: Iterable[tuple[int, str]], traces: dict[str, int]) -> dict[int, int]:
    """The number of each trace that was joined, and that of its run. Of a circle the first is the run."""
    up = {traces[other]: run for run, other in pairs if traces.get(other, run) != run}
    out = {}
    for number in up:
        at, seen = number, {number}
        while at in up and up[at] not in seen:
            at = up[at]
            seen.add(at)
        run = at if at not in up else min(_circle(up, at))
        if run != number:
            out[number] = run
    return out


def _circle(up: dict[int, int], start: int) -> list[int]:
    found, at = [start], up[start]
    while at != start:
        found.append(at)
        at = up[at]
    return found


def _move(case: Case, moved: dict[int, int], names: dict[int, str]) -> None:
    table = pa.table({"trace": pa.array(list(moved), pa.int32()), "run": pa.array(list(moved.values()), pa.int32())})
    case.con.register("moved", table)
    try:
        # Two counts make no order; the time does, or the place in the file.
        for steps in ("events", "sightings"):
            case.execute(f"UPDATE {steps} SET seq = NULL FROM moved m WHERE {steps}.trace = m.trace")
        for name in _NUMBERED:
            case.execute(f"UPDATE {name} SET trace = m.run FROM moved m WHERE {name}.trace = m.trace")
    finally:
        case.con.unregister("moved")
    for number, run in moved.items():
        case.execute("UPDATE traces SET trace_id = ? WHERE trace_id = ?", [names[run], names[number]])
        case.execute("UPDATE links SET other = ? WHERE other = ? AND NOT joined", [names[run], names[number]])
