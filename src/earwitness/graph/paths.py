"""Ways looked up: by value, ends, trace and pattern, each with every hop's evidence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from earwitness.graph.exposures import Step
from earwitness.graph.ways import By, Pattern, Ways, pattern_of
from earwitness.schema.case import Case
from earwitness.schema.words import GRADES


@dataclass(frozen=True)
class Trail:
    """The way by which one recipient first learned one value.

    Attributes:
        exposure: its number.
        authorised: None where no policy rules.
        source: where the value came from; None for a sender the record does not name.
        held: how the source had it: `initial`, `tool`, `memory`, `unseen`, `unknown`.
        steps: every hop with its evidence, first hop first.
    """

    exposure: int
    trace: int
    value: int
    recipient: str
    authorised: bool | None
    source: str | None
    held: str
    steps: tuple[Step, ...]

    @property
    def hops(self) -> int:
        """Hops from the source."""
        return len(self.steps)

    @property
    def weakest(self) -> str | None:
        """The weakest evidence for a recipient on the way."""
        grades = [s.grade for s in self.steps if s.grade in GRADES]
        return max(grades, key=lambda g: [*GRADES].index(g), default=None)


def find_paths(
    case: Case,
    ways: Ways,
    *,
    values: Sequence[int] | None = None,
    source: str | None = None,
    recipient: str | None = None,
    trace: int | None = None,
    pattern: Pattern | None = None,
    by: By = "name",
    unauthorised: bool = True,
    limit: int | None = 20,
) -> list[Trail]:
    """The ways that fit every given condition, longest first.

    Args:
        case: after an audit.
        ways: of `find_ways`.
        values: numbers of values.
        source: an actor the way begins with or goes through before its end.
        recipient: an actor the way ends at.
        trace: number of a trace.
        pattern: one of `patterns`, made with the same `by`.
        by: how the pattern was made.
        unauthorised: only exposures nobody allowed.
        limit: so many.
    """
    table = ways.table
    if pattern is not None:
        numbers = pattern_of(ways, by)
        table = table.filter(numbers == numbers[pattern.example])
    for column, wanted in (("trace", trace), ("recipient", recipient)):
        if wanted is not None:
            table = table.filter(pl.col(column) == wanted)
    if values is not None:
        table = table.filter(pl.col("value").is_in(list(values)))
    if unauthorised:
        table = table.filter(pl.col("authorised") == False)  # noqa: E712 - NULL is no answer
    if source is not None:
        passed = through(ways, source)
        table = table.filter(pl.Series(passed).gather(table["exposure"]))
    top = table.sort(["hops", "exposure"], descending=[True, False])[slice(limit)]
    return [_path(case, ways, row) for row in top.select(_FIELDS).iter_rows()]


_FIELDS = ("exposure", "trace", "value", "recipient", "authorised", "source", "source_held")


def _path(case: Case, ways: Ways, row: tuple[int, int, int, str, bool | None, str | None, str]) -> Trail:
    return Trail(*row, tuple(ways.steps(case, row[0])))


def through(ways: Ways, actor: str) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Whether the way of each exposure begins with the actor or goes through it before its end."""
    teacher = (ways.table["teacher"] == actor).fill_null(False).to_numpy()
    passed = teacher.copy()
    for level in ways.levels()[1:]:
        passed[level] |= passed[ways.parent[level]]
    return passed
