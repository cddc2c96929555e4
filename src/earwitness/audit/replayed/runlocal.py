"""The second pass: what keys, labels and names told in one place of a run is looked for everywhere in that run.

The registry this builds lives for one run and comes from the run alone: `"employer": "Acme"` in a tool's result makes
`Acme` a value of the messages that follow. Runs are taken in groups, so that memory holds the needles of one group.
"""

import polars as pl
import pyarrow as pa

from earwitness.audit.recognizers.registry import find_recognizers
from earwitness.audit.replayed.reading import contents
from earwitness.audit.replayed.subjects import PERSONS
from earwitness.audit.scan import Scanner
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress

# A run keeps so many values, the surest first; a group of runs is closed when it has so many.
PER_RUN = 2_000
_PER_GROUP = 50_000
_THERE = """
    content IN (SELECT content FROM events WHERE trace BETWEEN {first} AND {last}
                UNION SELECT content FROM sightings WHERE trace BETWEEN {first} AND {last})
"""

_HELD = """
    CREATE OR REPLACE TEMP TABLE held AS SELECT DISTINCT content, trace FROM (
        SELECT content, trace FROM events UNION ALL SELECT content, trace FROM sightings)
"""
# Of several finds of one value the surest speaks for all; among equals the alphabet decides, so that runs agree.
_BEST = "min(struct_pack(c := -confidence, e := entity, a := attribute, v := value_type, t := tier, s := subject))"
_SPREAD = """
    best.e AS entity, best.a AS attribute, best.v AS value_type, -best.c AS confidence, best.t AS tier,
    best.s AS subject
"""
# What may be looked for: three letters or digits at least, no number of one or two digits, no label of any sort.
_TOLD = r"""
    SELECT content, canonical, entity, attribute, value_type, confidence, tier, subject FROM detections
    WHERE (recognizer IN (SEEDING) OR tier = 2) AND confidence >= 0.4 AND length(canonical) BETWEEN 3 AND 400
      AND NOT regexp_full_match(canonical, '[\d.,%$€£+ -]{0,3}')
      AND (recognizer IN ('json_key', 'json_list') OR NOT regexp_full_match(canonical, '[a-z]{1,4}'))
"""
# First and last name in fields of their own are a whole name, too.
_JOINED = """
    SELECT content, canonical || ' ' || following AS canonical, entity,
           replace(attribute, 'first', 'full') AS attribute,
           'value_dependent' AS value_type, confidence, tier, canonical || ' ' || following AS subject
    FROM (SELECT *, lead(canonical) OVER w AS following, lead(attribute) OVER w AS next, lead(start) OVER w AS beside
          FROM detections
          WHERE recognizer = 'json_key' AND regexp_matches(attribute, '(first|given|last|family|sur)_?name')
          WINDOW w AS (PARTITION BY content ORDER BY start))
    WHERE regexp_matches(attribute, 'first|given') AND regexp_matches(next, 'last|family|sur') AND beside - stop < 80
"""
_SEEDS = f"""
    CREATE OR REPLACE TEMP TABLE seed AS
    SELECT trace, canonical, {_SPREAD}
    FROM (SELECT trace, canonical, {_BEST} AS best, count(*) AS n
          FROM ({_TOLD} UNION ALL {_JOINED}) s JOIN held h USING (content)
          WHERE NOT EXISTS (SELECT 1 FROM actors a WHERE a.trace = h.trace AND lower(a.actor) = lower(s.canonical))
          GROUP BY trace, canonical)
    QUALIFY row_number() OVER (PARTITION BY trace ORDER BY best.c, n DESC, canonical) <= {PER_RUN}
"""
_PERSON = r"\p{Lu}[\p{L}''’-]{2,}( \p{Lu}\.?)?( \p{Lu}[\p{L}''’-]{2,}){1,2}"
# The same value as people write it: thousands set off, underscores as spaces, the parts of a name.
_WRITTEN = rf"""
    CREATE OR REPLACE TEMP TABLE written AS
    SELECT trace, needle, canonical, {_SPREAD}
    FROM (SELECT trace, lower(needle) AS needle, min(canonical) AS canonical, {_BEST} AS best FROM (
        SELECT *, canonical AS needle FROM seed
        UNION ALL
        SELECT *, format('{{:,}}', split_part(canonical, '.', 1)::BIGINT)
                  || CASE WHEN contains(canonical, '.') THEN '.' || split_part(canonical, '.', 2) ELSE '' END
        FROM seed WHERE regexp_full_match(canonical, '\d{{4,15}}(\.\d+)?')
        UNION ALL
        SELECT *, replace(canonical, '_', ' ') FROM seed WHERE regexp_full_match(canonical, '[A-Za-z]+(_[A-Za-z]+)+')
        UNION ALL
        SELECT * REPLACE (0.3 AS confidence), unnest(string_split(canonical, ' ')) FROM seed
        WHERE confidence > 0.5 AND (entity = 'PERSON' OR regexp_matches(attribute, '{PERSONS}'))
          AND regexp_full_match(canonical, '{_PERSON}')
    ) WHERE length(needle) >= 3 GROUP BY trace, lower(needle))
"""
_GROUPS = f"""
    SELECT min(trace), max(trace) FROM (
        SELECT trace, (sum(count(*)) OVER (ORDER BY trace) - 1) // {_PER_GROUP} AS bucket FROM written GROUP BY trace)
    GROUP BY bucket ORDER BY 1
"""
# What the first pass found at the same place, or as the beginning or end of more, needs not be told again.
_FOUND = """
    INSERT INTO detections
    SELECT p.content, h.trace, p.start, p.stop, 'run_local', w.entity, w.attribute, w.value_type, w.tier,
           w.confidence * 0.9, w.canonical, NULL, false, w.subject
    FROM place p JOIN held h USING (content) JOIN needle n USING (pattern)
    JOIN written w ON w.trace = h.trace AND w.needle = n.needle
    WHERE h.trace BETWEEN ? AND ?
      AND NOT EXISTS (SELECT 1 FROM detections d WHERE d.content = p.content AND d.start = p.start AND d.stop >= p.stop
                      AND d.trace IS NULL AND d.confidence >= w.confidence * 0.9)
      AND NOT EXISTS (SELECT 1 FROM detections d WHERE d.content = p.content AND d.stop = p.stop AND d.start <= p.start
                      AND d.trace IS NULL AND d.confidence >= w.confidence * 0.9)
"""


def search(case: Case, progress: Progress) -> None:
    """Add to `detections` where the run-local values stand."""
    seeds = ", ".join(f"'{r.name}'" for r in find_recognizers() if r.seeds)
    case.execute(_HELD)
    case.execute(_SEEDS.replace("SEEDING", seeds))
    case.execute(_WRITTEN)
    for first, last in case.rows(_GROUPS):
        _group(case, int(first), int(last), progress)
    for table in ("held", "seed", "written"):
        case.execute(f"DROP TABLE {table}")


def _group(case: Case, first: int, last: int, progress: Progress) -> None:
    frame = case.frame(f"SELECT DISTINCT needle FROM written WHERE trace BETWEEN {first} AND {last} ORDER BY needle")
    needles = [n.lower() for n in frame["needle"]]
    numbered = pa.table({"pattern": pa.array(range(len(frame)), pa.int64()), "needle": frame["needle"].to_arrow()})
    case.execute("CREATE OR REPLACE TEMP TABLE place (content UUID, pattern BIGINT, start BIGINT, stop BIGINT)")
    case.con.register("numbered", numbered)
    case.execute("CREATE OR REPLACE TEMP TABLE needle AS SELECT * FROM numbered")
    case.con.unregister("numbered")
    scanner = Scanner(needles, whole=True)
    there = _THERE.format(first=first, last=last)
    for ids, texts, base in contents(case, there, "looking again for what the run told", progress):
        _keep(case, ids, scanner.everywhere(texts), base)
    case.execute(_FOUND, [first, last])
    case.execute("DROP TABLE place")
    case.execute("DROP TABLE needle")


def _keep(case: Case, ids: pa.Array, places: pl.DataFrame, base: int) -> None:
    rows = places.with_columns(pl.col("start") + base, pl.col("stop") + base).to_arrow()
    columns = [ids.take(rows.column("row")), *(rows.column(c) for c in ("pattern", "start", "stop"))]
    case.insert("place", pa.table(columns, names=["content", "pattern", "start", "stop"]))
