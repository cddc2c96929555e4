"""The measuring detector with all forms: finds needles in contents and makes matches of them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import polars as pl
import pyarrow as pa

from earwitness.audit.forms.decode import decoded
from earwitness.audit.forms.finder import SCHEMA, Finder
from earwitness.audit.forms.needles import MOST_VARIED, Needles
from earwitness.audit.forms.variant import CONFIRMED
from earwitness.audit.forms.views import View, views
from earwitness.audit.match_split import Fragments, scan_borders
from earwitness.audit.scan import batches
from earwitness.audit.weak import settle
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress

_SCAN_BYTES, _ROWS, _THREADS = 2 << 20, 10_000, 2
# What the store needs to read texts one after another; the needles take the rest.
_READING = "200MB"
Searched = tuple[pl.DataFrame, list[tuple[int, int, str]]]
Search = Callable[[pa.Array], Searched]
Ahead = tuple[pa.Array, pa.Array, "Future[Searched]"]
# What each layer of encoding costs: the more, the less likely somebody reads it.
_LAYER = 0.97

# A hit belongs to the values whose scope the content lies in: one equi-join a scope.
_PLACED = """
    CREATE OR REPLACE TEMP TABLE placed AS
    WITH held AS (SELECT DISTINCT content, trace FROM (
        SELECT content, trace FROM events UNION ALL SELECT content, trace FROM sightings)),
    seen AS (SELECT hit.*, held.trace, t.scenario FROM hit JOIN held USING (content) JOIN traces t USING (trace)),
    owned AS (
        SELECT DISTINCT seen.* EXCLUDE (trace, scenario), o.* EXCLUDE (needle)
        FROM seen JOIN owners o USING (needle) JOIN vault v ON v.value = o.value AND v.trace = seen.trace
        WHERE v.scope = 'trace'
        UNION
        SELECT DISTINCT seen.* EXCLUDE (trace, scenario), o.* EXCLUDE (needle)
        FROM seen JOIN owners o USING (needle) JOIN vault v ON v.value = o.value AND v.scenario = seen.scenario
        WHERE v.scope = 'scenario'
        UNION
        SELECT hit.*, o.* EXCLUDE (needle)
        FROM hit JOIN owners o USING (needle) JOIN vault v ON v.value = o.value WHERE v.scope = 'case'
    )
    SELECT content, value, part, parts, start, stop, hits, coalesce(event, -1) AS event,
           CASE WHEN form = 'verbatim' THEN surface WHEN surface IN ('verbatim', 'case') THEN form
                ELSE form || '+' || surface END AS form,
           confidence * sureness AS confidence
    FROM owned
"""
_WHOLE = f"""
    INSERT INTO matches
    SELECT content, value, arg_min(start, rank), arg_min(stop, rank), sum(hits), 1, arg_min(form, rank),
           max(confidence), CASE WHEN max(confidence) >= {CONFIRMED} THEN 'confirmed' ELSE 'possible' END,
           nullif(event, -1)
    FROM (SELECT *, struct_pack(c := -confidence, s := start) AS rank FROM found)
    GROUP BY content, value, event
"""
# A list is disclosed where all its items stand together; some items, or all of them far apart, are only possible.
_LISTS = """
    CREATE OR REPLACE TEMP TABLE found AS
    SELECT content, value, start, stop, hits, event, form, confidence FROM placed WHERE form NOT LIKE 'item%'
    UNION ALL
    SELECT content, value, min(start), max(stop), min(hits), event,
           CASE WHEN count(DISTINCT part) = any_value(parts) THEN 'list' ELSE 'some-items' END,
           CASE WHEN count(DISTINCT part) < any_value(parts) THEN 0.5 * count(DISTINCT part) / any_value(parts)
                WHEN max(stop) - min(start) <= 3 * sum(length) + 60 * any_value(parts) THEN 0.9 ELSE 0.6 END
    FROM (SELECT content, value, part, event, any_value(parts) AS parts, min(start) AS start, min(stop) AS stop,
                 sum(hits) AS hits, min(stop - start) AS length
          FROM placed WHERE form LIKE 'item%' GROUP BY content, value, part, event)
    GROUP BY content, value, event
"""
# Where a value was found whole in a text it need not be looked for across its border.
_SPLIT_ONLY = """
    DELETE FROM matches USING (SELECT content, value FROM matches WHERE event IS NULL) whole
    WHERE matches.event IS NOT NULL AND matches.content = whole.content AND matches.value = whole.value
"""
_HIT = """
    CREATE OR REPLACE TEMP TABLE hit (content UUID, needle BIGINT, start BIGINT, stop BIGINT, hits BIGINT,
                                      surface VARCHAR, sureness DOUBLE, event BIGINT)
"""


def match_forms(case: Case, progress: Progress) -> str | None:
    """Fill `matches` with every form of every value; gives a note if not all forms were looked for."""
    frame = case.frame("SELECT value, attribute, text, aliases FROM vault ORDER BY value")
    varied = len(frame) <= MOST_VARIED
    needles = Needles(frame, varied=varied)
    case.execute(_HIT)
    with case.confined(_READING):
        fragments = _scan(case, needles, progress)
    case.con.register("owners", needles.owners.to_arrow())
    try:
        for statement in (_PLACED, _LISTS, _WHOLE, _SPLIT_ONLY):
            case.execute(statement)
    finally:
        case.con.unregister("owners")
    for table in ("hit", "placed", "found"):
        case.execute(f"DROP TABLE {table}")
    settle(case)
    return _note(len(frame), varied=varied, complete=fragments.complete)


def _note(values: int, *, varied: bool, complete: bool) -> str | None:
    """What was left out because there are too many values."""
    if not varied:
        return f"{values:,} values: looked for as written and with other separators, not in other forms or in fragments"
    return (
        None if complete else f"{values:,} values: identifiers in fragments over several messages were not looked for"
    )


def _scan(case: Case, needles: Needles, progress: Progress) -> Fragments:
    """Fill the hits of all contents, of the borders between messages, and of fragments."""
    finder, fragments = Finder(needles), Fragments(case, needles)
    if needles.needles:
        _scan_all(case, finder, fragments, progress)
        scan_borders(case, finder, progress)
    fragments.join()
    return fragments


def _scan_all(case: Case, finder: Finder, fragments: Fragments, progress: Progress) -> None:
    """Two batches are searched at a time: most of a search runs outside the interpreter."""

    def search(texts: pa.Array) -> Searched:
        seen = list(views(texts))
        return find(finder, texts, seen), fragments.find(seen)

    # A second cursor reads what the import committed while this transaction writes.
    with case.con.cursor() as reading, ThreadPoolExecutor(_THREADS) as pool:
        reader = reading.sql("SELECT content, text FROM contents").to_arrow_reader(_ROWS)
        done = 0
        for ids, texts, searched in _ahead(pool, search, batches(reader, _SCAN_BYTES)):
            hits, pieces = searched.result()
            _store(case, hits, ids)
            fragments.keep(pieces, ids)
            done += texts.nbytes
            progress("scanning contents", done)


def _ahead(pool: ThreadPoolExecutor, search: Search, read: Iterable[tuple[pa.Array, pa.Array]]) -> Iterator[Ahead]:
    """Batches with their search under way, in order, and no more of them at once than threads and one."""
    waiting: deque[Ahead] = deque()
    for ids, texts in read:
        waiting.append((ids, texts, pool.submit(search, texts)))
        if len(waiting) > _THREADS:
            yield waiting.popleft()
    yield from waiting


def find(finder: Finder, texts: pa.Array, seen: Sequence[View] | None = None) -> pl.DataFrame:
    """Hits in contents and in what is hidden in them; columns as in `finder.SCHEMA`."""
    plain = finder.find(texts, seen)
    hidden = decoded(texts)
    if not hidden:
        return plain
    inner = finder.find(pa.array([h.text for h in hidden], pa.large_string()))
    rows = []
    for row, needle, start, stop, hits, told, sureness in inner.iter_rows():
        at = hidden[row]
        layers = _LAYER ** (at.form.count("+") + 1)
        form = at.form if told in ("verbatim", "case") else f"{at.form}+{told}"
        rows.append((at.row, needle, int(at.start[start]), int(at.stop[stop - 1]), hits, form, sureness * layers))
    return _with(plain, pl.DataFrame(rows, SCHEMA, orient="row"))


def _with(plain: pl.DataFrame, hidden: pl.DataFrame) -> pl.DataFrame:
    """What decoding adds: needles that the content did not show as it is, each once."""
    fresh = hidden.join(plain, on=["row", "needle"], how="anti").sort("sureness", descending=True, maintain_order=True)
    return pl.concat([plain, fresh.unique(["row", "needle"], keep="first", maintain_order=True)])


def _store(case: Case, hits: pl.DataFrame, ids: pa.Array) -> None:
    if hits.is_empty():
        return
    rows = hits.to_arrow()
    names = [c for c in SCHEMA if c != "row"]
    nobody = pa.nulls(len(hits), pa.int64())
    columns = [ids.take(rows.column("row")), *(rows.column(c) for c in names), nobody]
    case.insert("hit", pa.table(columns, names=["content", *names, "event"]))
