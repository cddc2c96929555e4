"""How much two passages tell together: the share of the union of their stems, for many pairs at once.

Shares add up at most: share(a | b) <= share(a) + share(b). So a pair whose shares do not sum to the threshold cannot
reach it, and queries leave it out before it is made. Nothing is lost by that.
"""

from collections.abc import Callable

import numpy as np
import polars as pl
import pyarrow as pa

from earwitness.audit.reconstruction.wordings import FEWEST_SHARED, MOST_STEMS
from earwitness.audit.semantic.found import Floats
from earwitness.audit.semantic.words import Ints
from earwitness.schema.case import Case

# Wording and two passages of each of many pairs to scores, 0 to 1.
Scorer = Callable[[Ints, Ints, Ints], Floats]

_BLOCK = 200_000
# Shares are sums of fractions: what misses the threshold by less than this reaches it.
EPSILON = 1e-9
# SQL: whether two passages `a` and `b` can reach the threshold together.
REACH = f"a.share + b.share >= a.threshold - {EPSILON}"


def reaching(case: Case, query: str, keys: list[str], scorer: Scorer) -> pl.DataFrame:
    """For each key the pair of passages that tells most, where it reaches the threshold.

    Args:
        case: with the tables that the query reads.
        query: gives the keys, `wording`, `threshold`, and the sets of stems `one` and `two`; what else it gives
            belongs to the pair and is kept.
        keys: columns that name what is scored.
        scorer: how much pairs tell.
    """
    reader = case.con.sql(query).to_arrow_reader(_BLOCK)
    schema = pl.DataFrame(pl.from_arrow(reader.schema.empty_table())).with_columns(pl.lit(0.0).alias("score"))
    parts = [schema.clear()]
    for batch in reader:
        parts.append(_scored(batch, scorer))
        if len(parts) > 16:
            parts = [_best(pl.concat(parts), keys)]
    return _best(pl.concat(parts), keys).drop("one", "two")


def _scored(batch: pa.RecordBatch, scorer: Scorer) -> pl.DataFrame:
    """The pairs of a batch that reach their threshold, with their score."""
    frame = pl.DataFrame(pl.from_arrow(batch))
    scores = scorer(*(frame[c].to_numpy() for c in ("wording", "one", "two")))
    enough = scores >= frame["threshold"].to_numpy() - EPSILON
    return frame.with_columns(pl.Series("score", np.minimum(scores, 1.0))).filter(pl.Series(enough, dtype=pl.Boolean))


def by_share(share: Floats) -> Scorer:
    """Scores sets of stems by the share of their union; a union of one stem is a coincidence and scores nothing.

    Args:
        share: shares of stems by wording and bit.
    """

    def score(wording: Ints, one: Ints, two: Ints) -> Floats:
        scores, number = np.zeros(len(one)), np.zeros(len(one), np.int64)
        for bit in range(MOST_STEMS):
            held = ((one | two) >> bit) & 1
            scores += held * share[wording, bit]
            number += held
        return np.where(number >= FEWEST_SHARED, scores, 0.0)

    return score


def _best(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    rest = [c for c in frame.columns if c not in keys and c != "score"]
    order = frame.sort([*keys, "score", *rest], descending=[False] * len(keys) + [True] + [False] * len(rest))
    return order.unique(keys, keep="first", maintain_order=True)
