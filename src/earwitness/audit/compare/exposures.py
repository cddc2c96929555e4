"""Exposures that are new, gone, moved or the same, told by what was learned and by whom, never by numbers of a case."""

from typing import Any, NamedTuple

import polars as pl

from earwitness.audit.compare.pairing import Pairing
from earwitness.audit.compare.sides import Side

# An exposure is known by these; by which way it came is compared.
KEY = ("key", "attribute", "mark", "recipient")
WAY = ("channel", "sender", "route", "carried", "distance")
STATUSES = ("new", "gone", "moved", "same")
_SAID = {True: "authorised", False: "unauthorised", None: "unruled"}


class Compared(NamedTuple):
    """Unauthorised exposures of two sides.

    Attributes:
        table: one row an exposure of a paired run: KEY, status, ways and example of each side, `was` (what the other
            side says of a new or gone one: absent, authorised, unruled).
        alone: exposures of each side in runs without partner, same columns as a side has.
    """

    table: pl.DataFrame
    alone: tuple[pl.DataFrame, pl.DataFrame]


def compare_exposures(left: Side, right: Side, pairing: Pairing) -> Compared:
    """Hold the unauthorised exposures of two sides against each other.

    `moved`: the same recipient learned the same value in the same run, by no way that the other side shows too.
    """
    keys = [k["key"] for k in pairing.keys]
    common = set(keys[0].to_list()) & set(keys[1].to_list())
    sides = [s.exposures.join(k, on="trace") for s, k in zip((left, right), pairing.keys, strict=True)]
    paired = [s.filter(pl.col("key").is_in(list(common))) for s in sides]
    told = [_gathered(s) for s in paired]
    joined = told[0].join(told[1], on=KEY, how="full", coalesce=True, nulls_equal=True, suffix="_right")
    met = pl.col("ways").list.set_intersection(pl.col("ways_right")).list.len() > 0
    here, there = pl.col("bad").fill_null(False), pl.col("bad_right").fill_null(False)
    status = (
        pl.when(there & ~here).then(pl.lit("new")).when(here & ~there).then(pl.lit("gone"))
        .when(met).then(pl.lit("same")).otherwise(pl.lit("moved"))
    )  # fmt: skip
    was = pl.when(there & ~here).then("said").when(here & ~there).then("said_right")
    table = joined.filter(here | there).with_columns(
        status.alias("status"),
        pl.when(there != here).then(was.fill_null("absent")).alias("was"),
    )
    alone = tuple(_bad(s).filter(~pl.col("key").is_in(list(common))) for s in sides)
    return Compared(table.sort("status", *KEY), (alone[0], alone[1]))


def _bad(exposures: pl.DataFrame) -> pl.DataFrame:
    return exposures.filter(pl.col("authorised").eq_missing(False))


def _gathered(exposures: pl.DataFrame) -> pl.DataFrame:
    """One row a key: whether it is unauthorised in any run of the key, by which ways, and an example of the first."""
    bad = pl.col("authorised").eq_missing(False)
    ordered = exposures.with_columns(
        bad.alias("bad"), pl.struct(WAY).struct.json_encode().alias("way"),
        pl.col("authorised").replace_strict(_SAID, return_dtype=pl.String).alias("said"),
    ).sort("bad", "way", "event", descending=[True, False, False])  # fmt: skip
    return ordered.group_by(KEY, maintain_order=True).agg(
        pl.col("bad").any(),
        pl.col("said").first(),
        pl.col("way").filter(pl.col("bad")).unique(maintain_order=True).alias("ways"),
        pl.col("trace").n_unique().alias("runs"),
        *(pl.col(c).first() for c in ("trace", "event", "value", "fingerprint")),
    )


def counts(table: pl.DataFrame) -> dict[str, int]:
    """How many of each status."""
    found: dict[str, Any] = dict(table["status"].value_counts().iter_rows())
    return {s: int(found.get(s, 0)) for s in STATUSES}
