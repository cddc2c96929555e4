"""Files that recorded one run of Semantic Kernel side by side: message callbacks, runtime log, text log, prompts.

No id stands in all of them. Runtime log and text log hold the number of the orchestration; elsewhere the evidence is
that the same agents said the same words. Each kind of recorder writes a run once, so words that two files of one kind
hold are of two runs alike, and prove nothing. What is found is linked, not joined: each file tells the messages anew.
"""

import pyarrow as pa

from earwitness.ingest.record import Source
from earwitness.schema.case import Case

_SHORTEST, _TEXTS = 16, 2

_FRESH = """
    NOT EXISTS (SELECT 1 FROM links l WHERE l.kind = '{kind}'
                AND ((l.trace = a AND l.other = other.trace_id) OR (l.trace = b AND l.other = first.trace_id)))
"""
_INSERT = """
    INSERT INTO links (trace, other, kind, joined, n, source)
    WITH pairs AS ({pairs})
    SELECT a, other.trace_id, '{kind}', false, n, other.source
    FROM pairs JOIN traces first ON first.trace = a JOIN traces other ON other.trace = b
    WHERE {fresh} ORDER BY ALL
"""
_NUMBERED = r"""
    SELECT a.trace AS a, b.trace AS b, 1 AS n FROM traces a JOIN traces b
    ON a.trace_id = 'sk-' || regexp_extract(b.trace_id, '^sk-log-([0-9a-f]{32})$', 1)
"""
_SAID = f"""
    WITH said AS (
        SELECT DISTINCT e.trace, e.sender, e.content, r.dialect
        FROM events e JOIN traces t USING (trace) JOIN recorders r ON r.source = t.source
        JOIN contents c ON c.content = e.content
        WHERE t.framework = 'semantic_kernel' AND e.channel IN ('C1', 'C2') AND e.sender IS NOT NULL
          AND length(c.text) >= {_SHORTEST}
    ), alike AS (
        SELECT sender, content FROM said GROUP BY ALL
        HAVING count(DISTINCT trace) > 1 AND count(DISTINCT trace) = count(DISTINCT dialect)
    )
    SELECT a.trace AS a, b.trace AS b, count(*) AS n
    FROM said a JOIN said b USING (sender, content) JOIN alike USING (sender, content)
    WHERE a.trace < b.trace GROUP BY ALL HAVING count(*) >= {_TEXTS}
"""


def find(case: Case, sources: list[Source]) -> None:
    """Link what recorded the same run; needs one row a trace."""
    if case.one("SELECT count(*) FROM traces WHERE framework = 'semantic_kernel'") < 2:
        return
    rows = [(s.number, min(s.dialects)) for s in sources if s.dialects]
    table = pa.table({"source": [r[0] for r in rows], "dialect": [r[1] for r in rows]})
    case.con.register("recorders", table)
    try:
        for kind, pairs in (("run_id", _NUMBERED), ("text", _SAID)):
            case.execute(_INSERT.format(kind=kind, pairs=pairs, fresh=_FRESH.format(kind=kind)))
    finally:
        case.con.unregister("recorders")
