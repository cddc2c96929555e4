"""The published rule: a value as it is written, whatever the case of its letters."""

import polars as pl
import pyarrow as pa

from earwitness.audit.registry import patterns
from earwitness.audit.rulesets import RuleSet
from earwitness.audit.scan import Scanner, batches
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress

_SCAN_BYTES = 8 << 20

# A hit belongs to the values whose scope the content lies in: one equi-join a scope.
_OWNED = """
    INSERT INTO matches
    WITH held AS (SELECT DISTINCT content, trace FROM (
        SELECT content, trace FROM events UNION ALL SELECT content, trace FROM sightings)),
    placed AS (SELECT hit.*, held.trace, t.scenario FROM hit JOIN held USING (content) JOIN traces t USING (trace)),
    owned AS (
        SELECT p.content, v.value, p.start, p.stop, p.hits, n.form
        FROM placed p JOIN needles n USING (pattern) JOIN vault v ON v.value = n.value AND v.trace = p.trace
        WHERE v.scope = 'trace'
        UNION
        SELECT p.content, v.value, p.start, p.stop, p.hits, n.form
        FROM placed p JOIN needles n USING (pattern) JOIN vault v ON v.value = n.value AND v.scenario = p.scenario
        WHERE v.scope = 'scenario'
        UNION
        SELECT h.content, v.value, h.start, h.stop, h.hits, n.form
        FROM hit h JOIN needles n USING (pattern) JOIN vault v USING (value) WHERE v.scope = 'case'
    )
    SELECT content, value, min(start), min_by(stop, start), sum(hits), 1, max(form), 1.0, 'confirmed', NULL
    FROM owned GROUP BY content, value
"""


def match_literally(case: Case, rules: RuleSet, progress: Progress) -> None:
    """Fill `matches` with values as they are written, whatever the case of their letters."""
    needles = patterns(case, rules)
    case.execute(
        "CREATE OR REPLACE TEMP TABLE hit (content UUID, pattern BIGINT, start BIGINT, stop BIGINT, hits BIGINT)"
    )
    _scan_all(case, Scanner(needles["needle"].to_list(), whole=rules.whole), progress)
    case.execute(_OWNED)
    case.execute("DROP TABLE hit")


def _scan_all(case: Case, scanner: Scanner, progress: Progress) -> None:
    # A second cursor reads what the import committed while this transaction writes.
    with case.con.cursor() as reading:
        reader = reading.sql("SELECT content, text FROM contents").to_arrow_reader(50_000)
        done = 0
        for ids, texts in batches(reader, _SCAN_BYTES):
            _store(case, scanner.scan(texts), ids)
            done += texts.nbytes
            progress("scanning contents", done)


def _store(case: Case, hits: pl.DataFrame, ids: pa.Array) -> None:
    if hits.is_empty():
        return
    rows = hits.to_arrow()
    table = pa.table(
        [ids.take(rows.column("row")), *(rows.column(c) for c in ("pattern", "start", "stop", "hits"))],
        names=["content", "pattern", "start", "stop", "hits"],
    )
    case.insert("hit", table)
