"""The measures: counts by SQL over the tables of a case, rates and intervals beside them.

Each is declared in `earwitness.audit.measures`; formulas, sources and a worked example: docs/measures.md.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa

from earwitness.audit.coverage import assess
from earwitness.audit.measures import archetypes, channels, events, horizons, occurrences, recipients, repeats, routes
from earwitness.audit.measures.base import Measure, cells_of, counted, statement
from earwitness.audit.measures.facts import fact
from earwitness.audit.significance import find_significance
from earwitness.audit.stats import bootstrap, wilson
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.tables import arrow_schema

MEASURES: tuple[Measure, ...] = (
    *channels.MEASURES,
    *recipients.MEASURES,
    *events.MEASURES,
    *routes.MEASURES,
    *occurrences.MEASURES,
    *horizons.MEASURES,
    *archetypes.MEASURES,
    *repeats.MEASURES,
)


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes:
        name: of the measure.
        group: its cell; cells the record does not name are left out.
        k: numerator.
        n: denominator.
        low: lower end of the interval of 95 %.
        high: upper end.
        sql: the statement that made it, which needs nothing but the case.
    """

    name: str
    group: dict[str, Any]
    k: int
    n: int
    low: float
    high: float
    sql: str

    @property
    def rate(self) -> float:
        """k / n."""
        return self.k / self.n


def measure(case: Case) -> int:
    """Fill `coverage`, `measures` and `significance` after `decide` and `find_exposures`; gives the number of figures.

    Measures that are `asked` only are left to `figures`.
    """
    assess(case)
    case.clear("measures")
    case.execute(f"CREATE OR REPLACE TEMP TABLE fact AS {fact()}")
    for one in MEASURES:
        if not one.asked:
            _record(case, one)
    find_significance(case)
    case.execute("DROP TABLE fact")
    return case.count("measures")


def _record(case: Case, one: Measure) -> None:
    for cells in cells_of(one, ()):
        query = f"SELECT * FROM ({counted(one, cells)}) WHERE n > 0 ORDER BY ALL"
        found = list(_figures(one, query, case.frame(query)))
        if found:
            case.insert("measures", _rows(found))


def figures(case: Case, measures: Iterable[Measure] = MEASURES, by: Sequence[str] = ()) -> list[Figure]:
    """Count measures over an audited case, which may be open for reading only.

    Args:
        case: after an audit.
        measures: which.
        by: cells instead of those of the measure: columns of the trace (`model`), `attributes.KEY`, or further cells.

    Raises:
        InputError: a measure cannot be counted by one of the cells.
    """
    out: list[Figure] = []
    for one in measures:
        for cells in cells_of(one, by):
            query = statement(one, cells)
            out += _figures(one, query, case.frame(query))
    return out


def named(names: Sequence[str]) -> tuple[Measure, ...]:
    """Measures by name, in the order of `MEASURES`; all of them where no name is given.

    Raises:
        InputError: there is no measure of that name.
    """
    known = {m.name for m in MEASURES}
    wrong = [n for n in names if n not in known]
    if wrong:
        raise InputError(f"no measure is called {wrong[0]!r}; there are: {', '.join(sorted(known))}")
    return tuple(m for m in MEASURES if not names or m.name in names)


def _figures(one: Measure, sql: str, frame: pl.DataFrame) -> Iterable[Figure]:
    for row in frame.to_dicts():
        k, n = int(row.pop("k")), int(row.pop("n"))
        low, high = _INTERVALS[one.kind](k, n, row.pop("spread", None))
        yield Figure(one.name, {c: v for c, v in row.items() if v is not None}, k, n, low, high, sql)


def _proportion(k: int, n: int, spread: object) -> tuple[float, float]:
    return wilson(k, n)


def _mean(k: int, n: int, spread: Any) -> tuple[float, float]:
    return bootstrap({int(p["key"]): int(p["value"]) for p in spread})


_INTERVALS: dict[str, Callable[[int, int, Any], tuple[float, float]]] = {
    "share": _proportion,
    "part": _proportion,
    "mean": _mean,
}


def _rows(found: Sequence[Figure]) -> pa.Table:
    columns = {
        "name": [f.name for f in found],
        "grp": [msgspec.json.encode(f.group).decode() for f in found],
        "k": [f.k for f in found],
        "n": [f.n for f in found],
        "rate": [f.rate for f in found],
        "low": [f.low for f in found],
        "high": [f.high for f in found],
    }
    return pa.table(columns, schema=arrow_schema("measures"))
