"""One side of a comparison, read from a case into frames that hold no protected value.

Values are known by a hash under a key that is drawn for each comparison and never written down: the two sides may be
cases with different keys of their own, and nothing that leaves the program can be tried against guessed values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from earwitness.audit.measure import MEASURES
from earwitness.audit.measures.base import Measure, quoted
from earwitness.audit.measures.facts import ATTRIBUTE, REPEAT, TRACE_CELLS, fact
from earwitness.audit.relays import RELAYS
from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError, InputError

# What tells two runs of a scenario apart. A run is compared with the run of the same cell on the other side.
CELLS = tuple(c for c in TRACE_CELLS if c != "scenario")
RUN = "run"
_MOST_GROUPS = 40

_RUNS = """
    SELECT f.trace, t.trace_id, f.scenario, {cells}, CASE WHEN f.scenario IS NULL THEN t.trace_id END AS id,
           f.judged, f.{by}::VARCHAR AS grp
    FROM ({fact}) f JOIN traces t USING (trace) ORDER BY f.trace
"""
_MARKS = """
    CREATE OR REPLACE TEMP TABLE mark AS
    SELECT value, attribute, fingerprint, sha256('{key}' || attribute || chr(31) || text) AS mark FROM vault
"""

# Disclosures that nobody is known to have received stand beside the exposures, with recipient NULL.
_EXPOSURES = """
    WITH told AS (
        SELECT x.trace, x.value, x.recipient, x.event, e.channel, x.sender, x.route, x.carried, x.distance,
               x.authorised
        FROM exposures x JOIN events e USING (event)
        UNION ALL
        SELECT v.trace, v.value, NULL, arg_min(v.event, (f.seq, v.event)), arg_min(v.channel, (f.seq, v.event)),
               arg_min(f.sender, (f.seq, v.event)), NULL, NULL, NULL, false
        FROM verdicts v JOIN flows f ON f.event = v.event AND f.recipient IS NULL
        WHERE v.recipient IS NULL AND v.dynamic = 'sanitize' AND v.standing = 'confirmed' GROUP BY v.trace, v.value
    )
    SELECT t.trace, m.mark, m.attribute, m.fingerprint, t.value, t.recipient, t.event, t.channel, t.sender, t.route,
           t.carried, t.distance, t.authorised
    FROM told t JOIN mark m USING (value)
"""
_VERDICTS = """
    SELECT v.trace, v.channel, f.sender, v.recipient, f.content::VARCHAR AS content, m.mark,
           min(v.dynamic) AS verdict, min(v.dynamic_rule) AS rule, count(*) AS n
    FROM verdicts v JOIN flows f ON f.event = v.event AND f.recipient IS NOT DISTINCT FROM v.recipient
    JOIN mark m USING (value)
    WHERE v.standing = 'confirmed' GROUP BY ALL
"""

# A measure, counted run by run: by the same words as ever, with the run for a cell.
_COUNTED = """
    WITH fact AS ({fact}), {relay}units AS ({units})
    SELECT trace, {cells} count(*){hit} AS k, count(*) AS n FROM units GROUP BY ALL
"""


@dataclass(frozen=True)
class Side:
    """One side.

    Attributes:
        name: what the report calls it.
        runs: one row a trace: trace, trace_id, scenario, the cells, id (of runs without scenario), judged, grp.
        units: one row a run and figure: trace, measure, cells (columns of runs it is grouped by), cell (JSON of the
            others), k, n, part (the cells of a run add up to n; those with k = 0 are not told).
        exposures: one row a trace, value and recipient, authorised or not; the value as `mark`.
        verdicts: occurrences by content.
        sources: hashes of the files it was read from.
    """

    name: str
    runs: pl.DataFrame
    units: pl.DataFrame
    exposures: pl.DataFrame
    verdicts: pl.DataFrame
    sources: frozenset[str]


def read_side(case: Case, name: str, key: str, by: str = RUN, measures: Sequence[Measure] = ()) -> Side:
    """Read an audited case.

    Args:
        case: it may be open read-only.
        name: what the report calls it.
        key: letters and digits, the same for both sides, drawn for this comparison.
        by: column by which `split` will cut.
        measures: none for all shares that an audit counts.

    Raises:
        InputError: there is no such column, or a measure is no share of units.
    """
    column = REPEAT if by == RUN else by
    if column not in (*CELLS, REPEAT) and not column.startswith(ATTRIBUTE):
        raise InputError(f"nothing can be compared by {by!r}; by {', '.join((*CELLS, RUN))} or attributes.KEY")
    cells = ", ".join(f"f.{c}::VARCHAR AS {c}" for c in CELLS)
    runs = case.frame(_RUNS.format(cells=cells, by=quoted(column), fact=fact((column,))))
    case.execute(_MARKS.format(key=key))
    told, exposures = case.frame(_VERDICTS), case.frame(_EXPOSURES)
    case.execute("DROP TABLE mark")
    units = pl.concat(_units(case, m, split) for m in _comparable(measures) for split in m.splits)
    sources = frozenset(str(r[0]) for r in case.rows("SELECT DISTINCT sha256 FROM sources WHERE sha256 IS NOT NULL"))
    return Side(name, runs, units, exposures, told, sources)


def _comparable(measures: Sequence[Measure]) -> list[Measure]:
    wrong = [m.name for m in measures if m.kind == "mean"]
    if wrong:
        raise InputError(f"{wrong[0]} is a mean, not a share of units; only shares are compared")
    return list(measures) or [m for m in MEASURES if not m.asked and m.kind != "mean"]


def _units(case: Case, one: Measure, split: Sequence[str]) -> pl.DataFrame:
    """The units of a measure by run and its own cells."""
    own = [c for c in dict.fromkeys((*split, *one.keep)) if c not in CELLS or c in one.keep]
    shared = [c for c in split if c in CELLS and c not in own]
    relay = f"relay AS ({RELAYS}), " if one.relays else ""
    part = one.kind == "part"
    query = _COUNTED.format(
        fact=fact(),
        relay=relay,
        units=one.units,
        cells="".join(f"{quoted(c)}, " for c in own),
        hit="" if part else " FILTER (hit)",
    )
    cell = pl.struct(own).struct.json_encode() if own else pl.lit("{}")
    n = pl.col("n").sum().over("trace") if part else pl.col("n")
    frame = case.frame(query).with_columns(cell.alias("cell"), n.alias("n"))
    return frame.select(
        pl.col("trace").cast(pl.Int32),
        pl.lit(one.name).alias("measure"),
        pl.lit(",".join(shared)).alias("cells"),
        pl.col("cell").cast(pl.String),
        pl.col("k").cast(pl.Int64),
        pl.col("n").cast(pl.Int64),
        pl.lit(part).alias("part"),
    )


def split(side: Side, by: str) -> tuple[list[Side], int]:
    """The side cut up by the column it was read for, in the order of names; and the runs that tell nothing of it.

    Raises:
        CaseError: fewer than two groups, or too many to compare.
    """
    names = sorted(side.runs["grp"].drop_nulls().unique().to_list(), key=_natural)
    if len(names) < 2:
        told = f"all of them say {names[0]!r}" if names else "none says anything"
        raise CaseError(f"{side.name}: nothing to compare by {by}: of {side.runs.height:,} traces {told}")
    if len(names) > _MOST_GROUPS:
        raise CaseError(f"{side.name}: {len(names):,} groups by {by}; at most {_MOST_GROUPS} can be compared")
    silent = int(side.runs["grp"].null_count())
    return [_chosen(side, name) for name in names], silent


def _natural(name: str) -> tuple[int, str]:
    """2 before 10."""
    return (len(name), name) if name.isdigit() else (0, name)


def _chosen(side: Side, name: str) -> Side:
    """The runs of one group."""
    runs = side.runs.filter(pl.col("grp") == name)

    def few(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.join(runs, on="trace", how="semi")

    return replace(
        side, name=name, runs=runs, units=few(side.units), exposures=few(side.exposures), verdicts=few(side.verdicts)
    )
