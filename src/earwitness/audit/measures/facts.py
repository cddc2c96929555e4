"""One row a trace: its cell, and what happened in it. Every measure counts over this."""

from collections.abc import Collection

from earwitness.audit.coverage import TRACE_VERDICTS

# Cells of a trace, in the order in which figures are told.
TRACE_CELLS = ("arm", "framework", "model", "topology", "adversary", "domain", "scenario", "horizon", "pair")
# Which recording of the same scenario in the same cell it is, from 1. A column of its own only where asked for.
REPEAT = "repeat"
_REPEAT = """row_number() OVER (
           PARTITION BY t.scenario, t.arm, t.framework, t.model, t.topology, t.adversary, t.horizon, t.pair
           ORDER BY t.started_at NULLS LAST, t.trace) AS repeat"""
# Any other fact of a trace: `attributes.temperature`.
ATTRIBUTE = "attributes."

_FACT = f"""
WITH crossing AS (SELECT * FROM verdicts WHERE dynamic = 'sanitize' AND standing = 'confirmed'),
hit AS (
    SELECT c.trace, bool_or(c.channel = 'C1') AS output, bool_or(c.channel <> 'C1') AS internal,
           bool_or(c.recipient IS NOT NULL) AS propagated, bool_or(p.position = 'introduced') AS introduced
    FROM crossing c LEFT JOIN parties p ON p.trace = c.trace AND p.actor = c.recipient GROUP BY c.trace
), introduced AS (
    SELECT DISTINCT trace FROM parties WHERE position = 'introduced' AND kind = 'agent'
), near AS (
    SELECT trace, bool_or(hops = 1) AS direct FROM (
        SELECT r.trace, r.hops FROM reached r JOIN parties p ON p.trace = r.trace AND p.actor = r.actor
        WHERE p.position = 'introduced' AND p.kind = 'agent') GROUP BY trace
)
SELECT t.trace, t.arm, t.framework, t.model, t.topology, t.adversary, t.domain, t.scenario, t.horizon, t.pair,
       t.observable, {{extra}}v.verdict, h.trace IS NOT NULL AS leaked,
       coalesce(h.output, false) AS output, coalesce(h.internal, false) AS internal,
       coalesce(h.propagated, false) AS propagated, coalesce(h.introduced, false) AS introduced,
       EXISTS (SELECT 1 FROM parties p WHERE p.trace = t.trace AND p.position <> 'unknown') AS positioned,
       i.trace IS NOT NULL AS grown, r.ruled AND r.valued AS judged,
       t.observable IS NULL OR len(list_filter(t.observable, lambda c: c <> 'C1')) > 0 AS inside,
       CASE WHEN i.trace IS NULL THEN 'no-introduced'
            WHEN t.trace NOT IN (SELECT trace FROM origins) THEN 'undefined'
            WHEN n.direct THEN 'direct-access' ELSE 'relay-required' END AS route
FROM traces t JOIN ({TRACE_VERDICTS.strip()}) v USING (trace) JOIN rulings r USING (trace)
LEFT JOIN hit h USING (trace) LEFT JOIN introduced i USING (trace) LEFT JOIN near n USING (trace)
"""


def fact(cells: Collection[str] = ()) -> str:
    """SQL: one row a trace, with the columns of `TRACE_CELLS`, and `repeat` and attributes where `cells` names them.

    Beside them: `verdict` (coverage), `leaked`, `output`, `internal`, `propagated`, `introduced` (what was disclosed,
    where, to whom), `positioned` (of some party the position is known), `grown` (it has an introduced agent),
    `judged`, `inside` (it could show more than C1), `route`.
    """
    extra = [_REPEAT] if REPEAT in cells else []
    extra += [_attribute(c.removeprefix(ATTRIBUTE)) for c in cells if c.startswith(ATTRIBUTE)]
    return _FACT.format(extra="".join(f"{e}, " for e in extra))


def _attribute(key: str) -> str:
    path = "$." + '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
    name = (ATTRIBUTE + key).replace('"', '""')
    return f"""json_extract_string(t.attributes, '{path.replace("'", "''")}') AS "{name}\""""
