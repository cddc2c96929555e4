"""The measuring detector: which known value stands in which content."""

import msgspec
import polars as pl
import pyarrow as pa

from earwitness.audit.registry import describe_values, patterns
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
        SELECT p.content, v.value, p.start, p.stop, p.hits, n.form, v.text
        FROM placed p JOIN needles n USING (pattern) JOIN vault v ON v.value = n.value AND v.trace = p.trace
        WHERE v.scope = 'trace'
        UNION
        SELECT p.content, v.value, p.start, p.stop, p.hits, n.form, v.text
        FROM placed p JOIN needles n USING (pattern) JOIN vault v ON v.value = n.value AND v.scenario = p.scenario
        WHERE v.scope = 'scenario'
        UNION
        SELECT h.content, v.value, h.start, h.stop, h.hits, n.form, v.text
        FROM hit h JOIN needles n USING (pattern) JOIN vault v USING (value) WHERE v.scope = 'case'
    )
    SELECT content, value, min(start), min_by(stop, start), sum(hits), 1, max(form),
           CASE WHEN length(any_value(text)) < {weak} THEN 0.5 ELSE 1.0 END,
           CASE WHEN length(any_value(text)) < {weak} THEN 'possible' ELSE 'confirmed' END
    FROM owned GROUP BY content, value
"""


def detect(case: Case, rules: RuleSet, progress: Progress) -> int:
    """Fill `matches`; gives their number. Every distinct content is scanned once.

    Where neither contents, values nor the way to match have changed since the last time, nothing is scanned.
    """
    describe_values(case)
    state = _state(case, rules)
    if case.meta("detected") == state:
        return case.count("matches")
    case.clear("matches")
    needles = patterns(case, rules)
    case.execute(
        "CREATE OR REPLACE TEMP TABLE hit (content UUID, pattern BIGINT, start BIGINT, stop BIGINT, hits BIGINT)"
    )
    _scan_all(case, Scanner(needles["needle"].to_list(), whole=rules.whole), progress)
    case.execute(_OWNED.format(weak=rules.weak_below))
    case.execute("DROP TABLE hit")
    case.set_meta("detected", state)
    return case.count("matches")


def _state(case: Case, rules: RuleSet) -> str:
    """What detection depends on, in short: an import changes the counts, a policy the values, an option the rules."""
    values = case.rows("""
        SELECT count(*), bit_xor(hash(value, text, aliases, scope, trace, scenario))::VARCHAR,
               sum(hash(value, text))::VARCHAR FROM vault
    """)
    sizes = [case.count(t) for t in ("contents", "events", "sightings", "sources")]
    return msgspec.json.encode([rules, values, sizes]).decode()


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
