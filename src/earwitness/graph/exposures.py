"""Who learned what, from whom, and how far that was: disclosing agents, first disclosures, distances, routes.

Set-wise over all traces at once. `walk` gives the way of one exposure, event by event.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from earwitness.graph.distances import bfs, chase, roots
from earwitness.schema.case import Case
from earwitness.schema.words import GRADES

# Vault access: the agent obtains the value before anyone tells it, by initial input, tool result or memory read.
_OBTAINED = f"""
    CREATE OR REPLACE TEMP TABLE obtained AS
    WITH held AS (SELECT m.content, m.value, v.scope, v.trace, v.scenario
                  FROM matches m JOIN vault v USING (value)
                  WHERE m.standing = 'confirmed' AND m.event IS NULL),
    shown AS (
        SELECT trace, actor AS agent, seq, content, 'initial' AS access, 0 AS doubt
        FROM sightings WHERE kind = 'initial'
        UNION ALL
        SELECT trace, recipient, seq, content, channel, list_position({list(GRADES)}, grade) FROM flows
        WHERE channel IN ('C4', 'C5') AND recipient IS NOT NULL
    ),
    agents AS (
        SELECT a.trace, coalesce(al.actor, a.agent) AS agent, a.seq, a.content, a.access, a.doubt, t.scenario
        FROM shown a LEFT JOIN aliases al ON al.alias = a.agent JOIN traces t USING (trace)
        JOIN parties p ON p.trace = a.trace AND p.actor = coalesce(al.actor, a.agent) AND p.kind = 'agent'
    )
    SELECT a.trace, h.value, a.agent, min(a.seq) AS seq, arg_min(a.access, (a.seq, a.doubt)) AS access,
           arg_min(a.doubt, (a.seq, a.doubt)) AS doubt
    FROM agents a JOIN held h USING (content)
    WHERE h.scope = 'case' OR h.trace = a.trace OR (h.scope = 'scenario' AND h.scenario = a.scenario)
    GROUP BY a.trace, h.value, a.agent
"""

_ACCESS = "INSERT INTO access SELECT trace, value, agent, seq, access FROM obtained"

# The disclosing agent is the earliest of them. Whoever only read along is not the one a result was given to.
_ORIGINS = """
    INSERT INTO origins
    SELECT trace, value, arg_min(agent, (seq, doubt, agent)), min(seq), arg_min(access, (seq, doubt, agent))
    FROM obtained GROUP BY trace, value
"""

_EXPOSURES = """
    CREATE OR REPLACE TEMP TABLE exposed AS
    WITH told AS (
        SELECT v.trace, v.value, v.recipient, v.event, f.seq, f.sender, v.dynamic
        FROM verdicts v JOIN flows f ON f.event = v.event AND f.recipient = v.recipient
        WHERE v.recipient IS NOT NULL AND v.standing = 'confirmed'
    ), first AS (
        SELECT trace, value, recipient, bool_or(dynamic = 'sanitize') AS crossed, any_value(dynamic) AS verdict,
               arg_min(event, (seq, event)) AS learned, min(seq) AS learned_seq,
               arg_min(event, (dynamic <> 'sanitize', seq, event)) AS event
        FROM told GROUP BY trace, value, recipient
    )
    SELECT row_number() OVER (ORDER BY f.trace, f.value, f.learned_seq, f.recipient) - 1 AS exposure,
           f.trace, f.value, f.recipient, f.event, e.seq, t.sender, f.learned, f.learned_seq, l.sender AS teacher,
           o.agent AS origin, coalesce(p.position, 'unknown') AS position, p.kind,
           CASE WHEN f.crossed THEN false WHEN f.verdict = 'unruled' THEN NULL ELSE true END AS authorised
    FROM first f
    JOIN told t ON t.event = f.event AND t.value = f.value AND t.recipient = f.recipient
    JOIN told l ON l.event = f.learned AND l.value = f.value AND l.recipient = f.recipient
    JOIN events e ON e.event = f.event
    LEFT JOIN origins o ON o.trace = f.trace AND o.value = f.value
    LEFT JOIN parties p ON p.trace = f.trace AND p.actor = f.recipient
    QUALIFY row_number() OVER (PARTITION BY f.trace, f.value, f.recipient ORDER BY t.sender, l.sender) = 1
"""

# The sender knew the value through an exposure of its own, unless it had access to the vault before it was told.
_VIA = """
    SELECT e.exposure, a.seq IS NOT NULL AS holder,
           CASE WHEN a.seq IS NULL OR a.seq > v.learned_seq THEN v.exposure END AS via
    FROM exposed e
    LEFT JOIN exposed v ON v.trace = e.trace AND v.value = e.value AND v.recipient = e.sender AND v.learned_seq < e.seq
    LEFT JOIN access a ON a.trace = e.trace AND a.value = e.value AND a.agent = e.sender AND a.seq < e.seq
    ORDER BY e.exposure
"""

_WRITE = """
    INSERT INTO exposures
    SELECT e.exposure, e.trace, e.value, e.recipient, e.event, e.seq, e.sender, e.learned, e.learned_seq, w.via,
           e.origin, w.carried, d.hops,
           CASE WHEN e.kind IS DISTINCT FROM 'agent' THEN NULL WHEN e.origin IS NULL THEN 'undefined'
                WHEN d.hops = 0 THEN 'holder' WHEN d.hops = 1 THEN 'direct-access' ELSE 'relay-required' END,
           e.position, e.authorised
    FROM exposed e JOIN way w USING (exposure)
    LEFT JOIN reached d ON d.trace = e.trace AND d.origin = e.origin AND d.actor = e.recipient
"""


def find_exposures(case: Case) -> int:
    """Fill `origins` and `exposures`; gives the number of exposures."""
    case.clear("exposures", "distances")
    case.set_meta("distances", "")
    _find_access(case)
    case.execute(_EXPOSURES)
    case.con.register("way", _ways(case))
    case.execute(_WRITE)
    case.execute("DROP TABLE exposed")
    case.con.unregister("way")
    return case.count("exposures")


def _find_access(case: Case) -> None:
    """Fill `access`, `origins` and `reached`, unless they still hold: no rule has a part in them."""
    parties = case.rows("SELECT count(*), bit_xor(hash(trace, actor, kind))::VARCHAR FROM parties")
    aliases = case.rows("SELECT count(*), bit_xor(hash(alias, actor))::VARCHAR FROM aliases")
    state = f"{case.meta('detected')} {parties} {aliases}"
    if case.meta("accessed") != state:
        case.clear("access", "origins", "reached")
        for statement in (_OBTAINED, _ACCESS, _ORIGINS, "DROP TABLE obtained"):
            case.execute(statement)
        case.insert("reached", realised(case))
        case.set_meta("accessed", state)


def _ways(case: Case) -> pa.Table:
    """For every exposure the exposure it came through, and the hops from the first known holder."""
    frame = case.frame(_VIA)
    via = frame["via"].fill_null(-1).to_numpy().astype(np.int64)
    root, depth = roots(via), chase(via) + 1
    # Hops are known where the way leads back to an agent that had access to the vault.
    known = (root >= 0) & frame["holder"].to_numpy()[root] if len(via) else np.zeros(0, np.bool_)
    return pa.table(
        {
            "exposure": frame["exposure"].to_arrow(),
            "via": frame["via"].to_arrow(),
            "carried": pa.array(depth, pa.int32(), mask=~known),
        }
    )


def realised(case: Case) -> pa.Table:
    """Realised distances: C2 edges that occurred, from each disclosing agent to every actor of its trace.

    Returns:
        Columns trace, origin, actor, hops (0 for the disclosing agent itself).
    """
    edges = case.frame("""
        SELECT DISTINCT trace, sender, recipient FROM flows
        WHERE channel = 'C2' AND sender IS NOT NULL AND recipient IS NOT NULL
    """)
    starts = case.frame("SELECT DISTINCT trace, agent AS sender FROM origins")
    nodes = _number_nodes(case)
    tail = edges.join(nodes, on=["trace", "sender"], how="left", maintain_order="left")["node"]
    head = edges.join(
        nodes, left_on=["trace", "recipient"], right_on=["trace", "sender"], how="left", maintain_order="left"
    )
    begin = starts.join(nodes, on=["trace", "sender"], how="left", maintain_order="left")["node"]
    traces = nodes["trace"].to_numpy().astype(np.int64)
    found = bfs(tail.to_numpy(), head["node"].to_numpy(), begin.to_numpy(), traces)
    return pa.table(
        {
            "trace": starts["trace"].to_arrow().take(found.start),
            "origin": starts["sender"].to_arrow().take(found.start),
            "actor": nodes["sender"].to_arrow().take(found.node),
            "hops": found.hops.astype(np.int32),
        }
    )


def _number_nodes(case: Case) -> pl.DataFrame:
    return case.frame("""
        SELECT trace, sender, row_number() OVER (ORDER BY trace, sender) - 1 AS node FROM (
            SELECT trace, sender FROM flows WHERE channel = 'C2' AND sender IS NOT NULL
            UNION SELECT trace, recipient FROM flows WHERE channel = 'C2' AND recipient IS NOT NULL
            UNION SELECT trace, agent FROM origins)
        ORDER BY node
    """)


class Step(NamedTuple):
    """One hop of a way: the event that carried the value from `sender` to `recipient`."""

    event: int
    sender: str | None
    recipient: str
    channel: str
    grade: str | None
    source: str
    line: int
    pointer: str | None


def walk(case: Case, exposure: int) -> list[Step]:
    """The way of an exposure, first hop first. The last hop is the first disclosure; the others how senders learned."""
    rows = case.rows(
        """
        WITH RECURSIVE way AS (
            SELECT 0 AS back, exposure, via, event, recipient FROM exposures WHERE exposure = ?
            UNION ALL
            SELECT back + 1, x.exposure, x.via, x.learned, x.recipient
            FROM way JOIN exposures x ON x.exposure = way.via WHERE back < 10000
        )
        SELECT w.event, f.sender, w.recipient, f.channel, f.grade, s.name, e.line, e.pointer
        FROM way w JOIN flows f ON f.event = w.event AND f.recipient = w.recipient
        JOIN events e ON e.event = w.event JOIN sources s USING (source)
        ORDER BY back DESC
        """,
        [exposure],
    )
    return [Step(*row) for row in rows]
