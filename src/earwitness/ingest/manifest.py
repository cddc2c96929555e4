"""A table of cells: what scenario, topology, adversary, ... each trace of an import belongs to.

Most recordings say nothing of the experiment they are part of. A manifest names each run by its trace id (`trace`), by
the name of its file (`file`: the whole name, the last part of it, or the name inside of an archive), or by both, and
says in the other columns what it was. CSV, JSONL or Parquet.

With a column `event` (the id of an event within its trace) it is a table of events, and sets their `turn` and
`archetype`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from earwitness.schema.case import Case
from earwitness.schema.errors import InputError

KEYS = ("trace", "file")
EVENT = "event"
EVENT_COLUMNS = ("turn", "archetype")
COLUMNS = ("framework", "scenario", "domain", "topology", "model", "arm", "adversary", "horizon", "pair")
# Columns of the traces that come from the recording alone; a manifest that sets them is a mistake.
_RECORDED = ("trace_id", "source", "started_at", "request", "observable", "attributes")

_MATCHED = """
    CREATE OR REPLACE TEMP TABLE matched AS
    WITH named AS (
        SELECT trace, trace_id, unnest(list_distinct([
            s.name, regexp_extract(s.name, '[^/!]+$'), regexp_extract(s.name, '[^!]+$')])) AS file
        FROM traces t JOIN sources s USING (source)
    )
    SELECT DISTINCT m.n, t.trace FROM manifest m JOIN traces t ON t.trace_id = m.trace WHERE m.file IS NULL
    UNION
    SELECT DISTINCT m.n, t.trace FROM manifest m JOIN named t ON t.file = m.file
    WHERE m.trace IS NULL OR m.trace = t.trace_id
"""
_TWICE = "SELECT trace, list_sort(list(n))[:2] FROM matched GROUP BY trace HAVING count(*) > 1 ORDER BY 2 LIMIT 1"
_SPLIT = """
    SELECT m.n, count(*) FROM matched JOIN manifest m USING (n) WHERE m.file IS NOT NULL AND m.trace IS NULL
    GROUP BY m.n HAVING count(*) > 1 ORDER BY m.n
"""
_EVENTS_MATCHED = """
    CREATE OR REPLACE TEMP TABLE chosen AS
    SELECT x.n, e.event FROM matched x JOIN manifest m USING (n)
    JOIN events e ON e.trace = x.trace AND e.event_id = m.event
"""
_EVENTS_UNUSED = "SELECT n FROM manifest WHERE n NOT IN (SELECT n FROM chosen) ORDER BY n"
_EVENTS_UNNAMED = """
    SELECT s.name, count(*) FROM events e LEFT JOIN sources s USING (source)
    WHERE e.event NOT IN (SELECT event FROM chosen) GROUP BY s.name ORDER BY s.name
"""
_EVENTS_TWICE = "SELECT list_sort(list(n))[:2] FROM chosen GROUP BY event HAVING count(*) > 1 ORDER BY 1 LIMIT 1"
_UNUSED = "SELECT n FROM manifest WHERE n NOT IN (SELECT n FROM matched) ORDER BY n"
_UNNAMED = """
    SELECT s.name, count(*) FROM traces t LEFT JOIN sources s USING (source)
    WHERE t.trace NOT IN (SELECT trace FROM matched) GROUP BY s.name ORDER BY s.name
"""


@dataclass(frozen=True)
class Applied:
    """What became of a manifest.

    Attributes:
        what: `traces` or `events`.
        rows: rows of the manifest.
        found: traces or events that a row was found for.
        unused: numbers of the rows nothing was found for, from 1.
        unnamed: names of sources, and how many of their traces or events no row names.
        shared: numbers of rows that name a file with several traces, and how many.
        columns: what was set.
    """

    what: str
    rows: int
    found: int
    unused: tuple[int, ...]
    unnamed: tuple[tuple[str, int], ...]
    shared: tuple[tuple[int, int], ...]
    columns: tuple[str, ...]


def read_manifest(path: Path) -> pl.DataFrame:
    """The rows of a manifest: `n` from 1, `trace`, `file`, the columns of `COLUMNS` it has, others as text.

    Raises:
        InputError: naming the file, and the row or column that is wrong.
    """
    frame = _read(path)
    if not set(KEYS) & set(frame.columns):
        raise InputError(f"{path}: no column `trace` and no column `file`; a manifest names its runs by one of them")
    if strange := [c for c in frame.columns if c in _RECORDED]:
        raise InputError(f"{path}: the column {strange[0]} comes from the recording and cannot be set; leave it out")
    known = frame.with_columns(pl.lit(None, pl.String).alias(k) for k in KEYS if k not in frame.columns)
    rows = known.with_columns(_text(c) for c in known.columns).with_row_index("n", offset=1)
    _check(path, rows)
    if EVENT in rows.columns:
        _check_events(path, rows)
    return _whole(path, _whole(path, rows, "horizon"), "turn" if EVENT in rows.columns else "")


def _whole(path: Path, rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """The rows with a column of whole numbers."""
    if column not in rows.columns:
        return rows
    number = pl.col(column).cast(pl.Int32, strict=False)
    bad = rows.filter(pl.col(column).is_not_null() & (number.is_null() | (number < 0)))
    if len(bad):
        raise InputError(f"{path}: row {bad['n'][0]}: {column} is no whole number; count turns in digits")
    return rows.with_columns(number)


def _read(path: Path) -> pl.DataFrame:
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        ".csv": lambda p: pl.read_csv(p, infer_schema=False),
        ".jsonl": lambda p: pl.read_ndjson(p, infer_schema_length=None),
        ".ndjson": lambda p: pl.read_ndjson(p, infer_schema_length=None),
        ".parquet": pl.read_parquet,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: a manifest ends in .csv, .jsonl or .parquet")
    try:
        frame = reader(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or 'no such file'}") from None
    except pl.exceptions.PolarsError:
        raise InputError(f"{path}: cannot be parsed as {path.suffix[1:]}; check quoting and columns") from None
    if "n" in frame.columns:
        frame = frame.rename({"n": "n_"})
    if nested := [c for c, kind in frame.schema.items() if kind.is_nested()]:
        raise InputError(f"{path}: the column {nested[0]} holds lists or objects; a manifest holds one value a cell")
    return frame


def _text(column: str) -> pl.Expr:
    """A cell as text; an empty one says nothing."""
    text = pl.col(column).cast(pl.String).str.strip_chars()
    return pl.when(text != "").then(text).alias(column)


def _check(path: Path, rows: pl.DataFrame) -> None:
    bare = rows.filter(pl.col("trace").is_null() & pl.col("file").is_null())
    if len(bare):
        raise InputError(f"{path}: row {bare['n'][0]}: neither `trace` nor `file` is given")
    keys = [*KEYS, *(c for c in (EVENT,) if c in rows.columns)]
    twice = rows.group_by(keys).agg(pl.col("n").sort()).filter(pl.col("n").list.len() > 1)
    if len(twice):
        first, second = min(twice["n"].to_list())[:2]
        what = "event" if EVENT in keys else "run"
        raise InputError(f"{path}: rows {first} and {second} name the same {what} ({len(twice):,} are named twice)")


def _check_events(path: Path, rows: pl.DataFrame) -> None:
    """A table of events says nothing but turns and archetypes; the cells of a trace stand in a table of their own."""
    others = [c for c in rows.columns if c not in ("n", *KEYS, EVENT, *EVENT_COLUMNS)]
    if others:
        raise InputError(
            f"{path}: a table of events sets turn and archetype; put {others[0]} into a table without `event`"
        )
    nameless = rows.filter(pl.col(EVENT).is_null())
    if len(nameless):
        raise InputError(f"{path}: row {nameless['n'][0]}: no event is given")


def apply_manifest(case: Case, rows: pl.DataFrame, path: Path) -> Applied:
    """Set what a manifest says on the traces of a case; a cell that is empty leaves what was recorded.

    Raises:
        InputError: two rows are of one trace, or no row is of any.
    """
    case.con.register("manifest", rows.to_arrow())
    try:
        with case.transaction():
            case.execute(_MATCHED)
            applied = (_set_events if EVENT in rows.columns else _set_traces)(case, rows, path)
            case.execute("DROP TABLE matched")
    finally:
        case.con.unregister("manifest")
    return applied


def _set_traces(case: Case, rows: pl.DataFrame, path: Path) -> Applied:
    for _, (first, second) in case.rows(_TWICE):
        raise InputError(f"{path}: rows {first} and {second} name the same trace, one by its id and one by its file")
    applied = _applied(case, "traces", rows, path)
    case.execute(_update(applied.columns))
    return applied


def _set_events(case: Case, rows: pl.DataFrame, path: Path) -> Applied:
    case.execute(_EVENTS_MATCHED)
    for ((first, second),) in case.rows(_EVENTS_TWICE):
        raise InputError(f"{path}: rows {first} and {second} name the same event")
    applied = _applied(case, "events", rows, path)
    sets = ", ".join(f"{c} = coalesce(m.{c}, events.{c})" for c in applied.columns)
    chosen = "SELECT x.event AS number, r.* FROM chosen x JOIN manifest r USING (n)"
    if sets:
        case.execute(f"UPDATE events SET {sets} FROM ({chosen}) m WHERE events.event = m.number")
    case.execute("DROP TABLE chosen")
    return applied


def _applied(case: Case, what: str, rows: pl.DataFrame, path: Path) -> Applied:
    """What was found for the rows; none at all is a mistake."""
    events = what == "events"
    found = case.count("chosen" if events else "matched")
    if not found:
        raise InputError(
            f"{path}: none of its {len(rows):,} rows names one of the {what} of this import; "
            "compare with `SELECT trace_id FROM traces` and `SELECT event_id FROM events` of a case imported without it"
        )
    unused = tuple(n for (n,) in case.rows(_EVENTS_UNUSED if events else _UNUSED))
    unnamed = tuple((str(name), n) for name, n in case.rows(_EVENTS_UNNAMED if events else _UNNAMED))
    shared = () if events else tuple((n, held) for n, held in case.rows(_SPLIT))
    columns = tuple(c for c in rows.columns if c not in ("n", *KEYS, EVENT))
    return Applied(what, len(rows), found, unused, unnamed, shared, columns)


def _update(columns: tuple[str, ...]) -> str:
    """The statement that sets them; what the traces have no column for goes into their attributes."""
    sets = [f"{c} = coalesce(m.{c}, traces.{c})" for c in COLUMNS if c in columns]
    others = [c for c in columns if c not in COLUMNS]
    if others:
        pairs = ", ".join(f"{_literal(c)}, m.{_quoted(c)}" for c in others)
        # A merge leaves out what is null, and would otherwise delete it.
        given = f"json_merge_patch('{{}}'::JSON, json_object({pairs}))"
        sets.append(f"attributes = json_merge_patch(coalesce(traces.attributes, '{{}}'::JSON), {given})")
    if not sets:
        return "SELECT 1"
    chosen = "SELECT x.trace AS number, r.* FROM matched x JOIN manifest r USING (n)"
    return f"UPDATE traces SET {', '.join(sets)} FROM ({chosen}) m WHERE traces.trace = m.number"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
