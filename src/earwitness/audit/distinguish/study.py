"""The study: for each horizon the advantage, its null, and what else could explain it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from earwitness.audit.distinguish.classify import Advantage, advantage, require
from earwitness.audit.distinguish.confounds import Direction, Lengths, Order, directions, lengths, order, repaired
from earwitness.audit.distinguish.features import NAMES, features
from earwitness.audit.distinguish.pairs import pairs
from earwitness.audit.semantic.found import Floats
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress, silent
from earwitness.schema.tables import arrow_schema
from earwitness.schema.tables_study import STUDIED

PERMUTATIONS = 100
SEED = 1
# Fewer scenarios than this teach nothing.
FEWEST = 4


@dataclass(frozen=True)
class StudyOptions:
    """How to study.

    Attributes:
        permutations: how often labels are shuffled for the null.
        seed: of folds, shuffling and re-pairing.
        disclosed: keep pairs of which a side discloses a value without being allowed to.
        progress: told what is being done.
    """

    permutations: int = PERMUTATIONS
    seed: int = SEED
    disclosed: bool = False
    progress: Progress = silent


class Control(NamedTuple):
    """True pairs against synthetic ones, by absolute differences of features.

    Attributes:
        advantage: of telling them apart; None for too few.
        ratios: of each feature that varies the mean difference of true pairs over that of synthetic ones.
    """

    advantage: Advantage | None
    ratios: dict[str, float]


class Horizon(NamedTuple):
    """All of one horizon."""

    horizon: int | None
    pairs: int
    scenarios: int
    advantage: Advantage | None
    order: Order
    lengths: Lengths
    directions: list[Direction]
    control: Control


class Study(NamedTuple):
    """All horizons, and what was left out."""

    horizons: list[Horizon]
    disclosed: int
    unpaired: int


def study(case: Case, options: StudyOptions | None = None) -> Study:
    """Study the neighbouring pairs of an audited case, and fill `distinguishability`.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    options = options or StudyOptions()
    require()
    for table in STUDIED:
        case.execute(table.ddl)
    told = {"permutations": options.permutations, "seed": options.seed, "disclosed": options.disclosed}
    with case.stage("distinguish", told):
        found = pairs(case, disclosed=options.disclosed)
        values = features(case)
        horizons = [_horizon(part, values, options) for part in _by_horizon(found.frame)]
        case.clear("distinguishability")
        case.insert("distinguishability", _rows(horizons))
    return Study(horizons, found.disclosed, found.unpaired)


def _by_horizon(frame: pl.DataFrame) -> list[pl.DataFrame]:
    return [part for _, part in frame.sort("horizon", nulls_last=True).group_by("horizon", maintain_order=True)]


def _horizon(frame: pl.DataFrame, values: pl.DataFrame, options: StudyOptions) -> Horizon:
    horizon = frame["horizon"][0]
    options.progress(f"horizon {horizon or 'all'}", 0)
    one, two = (_side(frame, values, s) for s in "ab")
    _, group = np.unique(frame["scenario"].to_numpy(), return_inverse=True)
    scenarios = len(np.unique(group))
    enough = scenarios >= FEWEST
    told = advantage(one, two, group, options.permutations, options.seed) if enough else None
    control = _control(frame, one, two, group, options)
    return Horizon(
        horizon, len(frame), scenarios, told, order(frame), lengths(frame), directions(one, two), control
    )  # fmt: skip


def _side(frame: pl.DataFrame, values: pl.DataFrame, side: str) -> Floats:
    """Features of one side, a row a pair."""
    joined = frame.select(pl.col(f"trace_{side}").alias("trace")).join(
        values, on="trace", how="left", maintain_order="left"
    )
    told: Floats = joined.select(NAMES).to_numpy().astype(np.float64)
    return told


def _control(frame: pl.DataFrame, one: Floats, two: Floats, group: Any, options: StudyOptions) -> Control:
    """A test in which the order of members plays no part: a difference has no sign."""
    rows, others = repaired(frame, options.seed)
    if not len(rows):
        return Control(None, {})
    real, synthetic = np.abs(one[rows] - two[rows]), np.abs(one[rows] - two[others])
    means = zip(NAMES, real.mean(axis=0).tolist(), synthetic.mean(axis=0).tolist(), strict=True)
    ratios = {name: r / s for name, r, s in means if s > 0}
    if len(np.unique(group[rows])) < FEWEST:
        return Control(None, ratios)
    # Label true is the second side: so true pairs are it.
    return Control(advantage(synthetic, real, group[rows], options.permutations, options.seed), ratios)


def _rows(horizons: list[Horizon]) -> pa.Table:
    rows: list[tuple[Any, ...]] = []
    for h in horizons:
        for name, a in (("advantage", h.advantage), ("control", h.control.advantage)):
            if a:
                rows += [(h.horizon, name, None, a.estimate, a.low, a.high, a.n)]
                rows += [(h.horizon, f"null_{name}", None, a.null, a.null_low, a.null_high, a.n)]
                rows += [(h.horizon, f"p_{name}", None, a.p, None, None, a.n)]
        rows += [(h.horizon, "order_correlation", None, h.order.correlation, None, None, h.pairs)]
        rows += [(h.horizon, "length_correlation", None, h.lengths.correlation, None, None, h.lengths.n)]
        rows += [(h.horizon, "length_correlation_within", None, h.lengths.within, None, None, h.lengths.n)]
        rows += [(h.horizon, "direction_t", d.feature, d.t, None, None, h.pairs) for d in h.directions]
        rows += [(h.horizon, "control_ratio", name, r, None, None, h.pairs) for name, r in h.control.ratios.items()]
    schema = arrow_schema("distinguishability")
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
