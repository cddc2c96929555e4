"""Differences of every measure between two sides, paired by run where runs have partners."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import msgspec
import polars as pl

from earwitness.audit.compare.intervals import Interval, clustered, newcombe, tango
from earwitness.audit.compare.pairing import Pairing
from earwitness.audit.compare.sides import Side
from earwitness.audit.stats import Outcome, cochran_q, mcnemar_exact

Row = dict[str, Any]

# A rise of these is for the worse. The others say how, not how much.
LEAKS = frozenset(
    {
        "any_leakage",
        "any_leakage_verifiable",
        "audit_gap",
        "audit_gap_verifiable",
        "channel_leakage",
        "channel_leakage_verifiable",
        "event_leakage",
        "field_disclosure",
        "filtered_leakage",
        "new_agent_disclosure",
        "route_exposure",
        "surface_leakage",
        "unauthorised_propagation",
    }
)
_GROUP = ("measure", "group")


def differences(left: Side, right: Side, pairing: Pairing, *, paired: bool = True) -> list[Row]:
    """One row a measure and group: counts of both sides, difference as a fraction (right minus left), interval, test.

    The method is `tango` where a unit is one run of each side, `clustered` where it is several events or repeated
    runs, `newcombe` where nothing is paired or a side does not vary.

    Args:
        left: one side.
        right: the other.
        pairing: of these two.
        paired: count runs with a partner only; else all runs as if independent.
    """
    units = _keyed((left, right), pairing)
    joined = units[0].join(units[1], on=[*_GROUP, "key"], how="full", coalesce=True, suffix="_right")
    together = paired and pairing.pairs > 0
    rows = joined.select(
        *_GROUP,
        pl.col("k").alias("kl"),
        pl.col("n").alias("nl"),
        pl.col("k_right").alias("kr"),
        pl.col("n_right").alias("nr"),
        (pl.col("n").is_not_null() & pl.col("n_right").is_not_null()).alias("both"),
    )
    figures = _figures(rows, together)
    return [_row(one, together) for one in figures.sort(*_GROUP).to_dicts() if one["nl"] and one["nr"]]


def _keyed(sides: Sequence[Side], pairing: Pairing) -> list[pl.DataFrame]:
    """Counts of each measure and group by the key of runs, for each side."""
    units = _levelled([s.units for s in sides])
    return [_grouped(u, s, k, pairing) for u, s, k in zip(units, sides, pairing.keys, strict=True)]


def _levelled(units: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """With the cells that add up to n told where k = 0 too, if some side has them."""
    on = ["measure", "cells"]
    cells = pl.concat(u.filter("part").select(*on, "cell") for u in units).unique()
    out = []
    for one in units:
        part = one.filter("part")
        every = part.group_by(*on, "trace").agg(pl.first("n")).join(cells, on=on)
        full = every.join(part.drop("n"), on=[*on, "trace", "cell"], how="left").with_columns(
            pl.col("k").fill_null(0), pl.lit(True).alias("part")
        )
        out.append(pl.concat([one.filter(~pl.col("part")), full.select(one.columns)]))
    return out


def _grouped(units: pl.DataFrame, side: Side, keys: pl.DataFrame, pairing: Pairing) -> pl.DataFrame:
    units = units.join(side.runs.join(keys, on="trace").select("trace", "key", *pairing.columns), on="trace")
    parts = []
    for (measure, cells), few in units.group_by("measure", "cells"):
        shared = [c for c in str(cells).split(",") if c in pairing.columns]
        group = pl.struct(*shared, "cell").struct.json_encode() if shared else pl.struct("cell").struct.json_encode()
        parts.append(few.select(pl.lit(measure).alias("measure"), group.alias("group"), "key", "k", "n"))
    return pl.concat(parts).group_by(*_GROUP, "key").agg(pl.sum("k"), pl.sum("n"))


def _figures(rows: pl.DataFrame, together: bool) -> pl.DataFrame:
    """Sums of each group, cells of the paired table, and the variance of the difference between clusters."""
    alone = rows.group_by(_GROUP).agg(
        (~pl.col("both") & pl.col("nl").is_not_null()).sum().alias("alone_left"),
        (~pl.col("both") & pl.col("nr").is_not_null()).sum().alias("alone_right"),
    )
    used = rows.filter("both") if together else rows
    used = used.with_columns(_strayed("l"), _strayed("r"))
    counts = used.group_by(_GROUP).agg(
        pl.len().alias("clusters"),
        *(pl.sum(c).alias(c) for c in ("kl", "nl", "kr", "nr")),
        pl.max_horizontal(pl.max("nl"), pl.max("nr")).alias("most"),
        ((pl.col("kl") > 0) & (pl.col("kr") == 0)).sum().alias("left_only"),
        ((pl.col("kl") == 0) & (pl.col("kr") > 0)).sum().alias("right_only"),
        *_variances(together),
    )
    return alone.join(counts, on=_GROUP, how="left")


def _strayed(side: str) -> pl.Expr:
    """How far a cluster strays from the pooled rate: the linearised residual of a ratio (k - p n) / N."""
    k, n = pl.col(f"k{side}"), pl.col(f"n{side}")
    rate = k.sum().over(_GROUP) / n.sum().over(_GROUP)
    return ((k - rate * n) / n.sum().over(_GROUP)).alias(f"d{side}")


def _variances(together: bool) -> list[pl.Expr]:
    """Variance of the difference between clusters, and whether each side strays at all.

    Sums of squares of what clusters stray, widened for the mean that was taken off.
    """

    def spread(one: pl.Expr) -> pl.Expr:
        m = one.count()
        return pl.when(m > 1).then((one**2).sum() * m / (m - 1)).otherwise(0.0)

    both = spread(pl.col("dr") - pl.col("dl")) if together else spread(pl.col("dl")) + spread(pl.col("dr"))
    # Where a side does not vary, its part of the variance is unknown, not nothing.
    varies = (spread(pl.col("dl")) > 0) & (spread(pl.col("dr")) > 0)
    return [both.alias("variance"), varies.alias("varies")]


def _row(one: Row, together: bool) -> Row:
    single = one["most"] == 1
    interval = _interval(one, together, single)
    test = mcnemar_exact(one["left_only"], one["right_only"]) if together and single else None
    row = {"measure": one["measure"], "group": ungrouped(one["group"])}
    for name, letter in (("left", "l"), ("right", "r")):
        k, n = one[f"k{letter}"], one[f"n{letter}"]
        row[name] = {"k": k, "n": n, "rate": k / n, "alone": one[f"alone_{name}"] if together else 0}
    row |= {"pairs": one["clusters"] if together else 0, "difference": row["right"]["rate"] - row["left"]["rate"]}
    row |= {"low": interval.low, "high": interval.high, "method": interval.method}
    row |= {"left_only": one["left_only"] if test is not None else None}
    row |= {"right_only": one["right_only"] if test is not None else None, "p": _p(test)}
    return row | {"worse": one["measure"] in LEAKS and interval.low > 0}


def _p(test: Outcome | None) -> float | None:
    """Where no pair differs there is nothing that speaks against the sides being alike."""
    return None if test is None else 1.0 if test.p is None else test.p


def _interval(one: Row, together: bool, single: bool) -> Interval:
    if together and single:
        return tango(one["left_only"], one["right_only"], one["clusters"])
    if single or not (one["varies"] and one["variance"]):
        return newcombe(one["kl"], one["nl"], one["kr"], one["nr"])
    return clustered(one["kr"] / one["nr"] - one["kl"] / one["nl"], one["variance"])


def ungrouped(group: str) -> Row:
    """The cells of a group by name; what is not told is left out."""
    cells = msgspec.json.decode(group)
    inner = msgspec.json.decode(cells.pop("cell"))
    return {k: v for k, v in {**cells, **inner}.items() if v is not None}


def spread(sides: Sequence[Side], pairing: Pairing) -> list[Row]:
    """Cochran's Q of each measure whose unit is one run, over the runs that stand on every side."""
    units = _keyed(sides, pairing)
    named = [one.rename({"k": f"k{at}", "n": f"n{at}"}) for at, one in enumerate(units)]
    wide = reduce(lambda a, b: a.join(b, on=[*_GROUP, "key"]), named)
    names = [f"k{at}" for at in range(len(sides))]
    single = pl.max_horizontal([f"n{at}" for at in range(len(sides))]).max().over(_GROUP) == 1
    out = []
    for (measure, group), few in wide.filter(single).sort(*_GROUP, "key").group_by(*_GROUP, maintain_order=True):
        test = cochran_q(few.select(names).to_numpy() > 0)
        row = {"measure": measure, "group": ungrouped(str(group)), "n": few.height}
        out.append(row | {"q": test.statistic, "df": test.df, "p": test.p})
    return out


def totals(sides: Sequence[Side], pairing: Pairing) -> list[Row]:
    """Counts of each measure and group on every side, over all of its runs; None where a side has no unit."""
    units = _keyed(sides, pairing)
    summed = [
        u.group_by(_GROUP).agg(pl.sum("k").alias(f"k{n}"), pl.sum("n").alias(f"n{n}")) for n, u in enumerate(units)
    ]
    wide = reduce(lambda a, b: a.join(b, on=_GROUP, how="full", coalesce=True), summed)
    out = []
    for one in wide.sort(*_GROUP).to_dicts():
        counts = [(one[f"k{n}"], one[f"n{n}"]) for n in range(len(sides))]
        told = [{"k": k, "n": n, "rate": k / n} if n else None for k, n in counts]
        out.append({"measure": one["measure"], "group": ungrouped(one["group"]), "sides": told})
    return out
