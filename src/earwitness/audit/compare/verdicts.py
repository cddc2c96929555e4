"""Which verdicts change when the same recordings are judged otherwise, by the rules that decide them."""

from typing import Any

import polars as pl

from earwitness.audit.compare.pairing import Pairing
from earwitness.audit.compare.sides import Side

_KEY = ("key", "channel", "sender", "recipient", "content", "mark")
_RULES = ("left_verdict", "left_rule", "right_verdict", "right_rule")


def same_recordings(left: Side, right: Side) -> bool:
    """Whether the sides were read from a file in common: else no occurrence of one is an occurrence of the other."""
    return bool(left.sources & right.sources)


def changed(left: Side, right: Side, pairing: Pairing) -> dict[str, Any]:
    """Occurrences (event, value, recipient) by what each side says of them.

    An occurrence is known by its run, channel, parties, text and value. `rules`: occurrences whose verdict or deciding
    rule changed, with their number. `unchanged`: their number. `only_left`, `only_right`: found by one side alone.
    """
    told = [
        s.verdicts.join(k, on="trace").group_by(_KEY).agg(pl.min("verdict"), pl.min("rule"), pl.sum("n"))
        for s, k in zip((left, right), pairing.keys, strict=True)
    ]
    joined = told[0].join(told[1], on=_KEY, how="full", coalesce=True, nulls_equal=True, suffix="_right")
    n = pl.max_horizontal("n", "n_right").alias("n")
    rows = joined.select(
        pl.col("verdict").alias("left_verdict"), pl.col("rule").alias("left_rule"),
        pl.col("verdict_right").alias("right_verdict"), pl.col("rule_right").alias("right_rule"), n,
    )  # fmt: skip
    grouped = rows.group_by(_RULES).agg(pl.sum("n")).sort("n", *_RULES, descending=[True, *(False,) * len(_RULES)])
    same = pl.col("left_verdict").eq_missing(pl.col("right_verdict"))
    same_rule = same & pl.col("left_rule").eq_missing(pl.col("right_rule"))
    one_sided = pl.col("left_verdict").is_null() | pl.col("right_verdict").is_null()
    return {
        "unchanged": _sum(grouped.filter(same_rule)),
        "changed": _sum(grouped.filter(~same & ~one_sided)),
        "only_left": _sum(grouped.filter(pl.col("right_verdict").is_null())),
        "only_right": _sum(grouped.filter(pl.col("left_verdict").is_null())),
        "rules": grouped.filter(~same_rule).to_dicts(),
    }


def _sum(frame: pl.DataFrame) -> int:
    return int(frame["n"].sum())
