"""What else could tell the members of a pair apart: order of generation, length of the values, scenario and task."""

from typing import NamedTuple

import numpy as np
import polars as pl

from earwitness.audit.distinguish.features import NAMES
from earwitness.audit.distinguish.pairs import CELL
from earwitness.audit.semantic.found import Floats
from earwitness.audit.semantic.words import Ints

# |t| from here on is called directional.
DIRECTIONAL = 2.0


class Order(NamedTuple):
    """Generation order beside the pair member.

    Attributes:
        correlation: of member and order within pairs, -1 to 1; None where no order is known.
        later: pairs whose second member was generated later.
        earlier: pairs whose second member was generated earlier.
        unknown: pairs whose order is not known.
        basis: what order was read from: `started_at`, `position` in one file, or both.
    """

    correlation: float | None
    later: int
    earlier: int
    unknown: int
    basis: str


class Lengths(NamedTuple):
    """Length of values beside length of answers.

    Attributes:
        correlation: Pearson's r over all runs; None where it is undefined.
        within: that of the differences within pairs.
        equal: pairs whose values are equally long.
        apart: mean absolute difference of answer lengths in these, characters; None for no such pair.
        n: pairs with both lengths.
    """

    correlation: float | None
    within: float | None
    equal: int
    apart: float | None
    n: int


class Direction(NamedTuple):
    """A feature within pairs.

    Attributes:
        feature: its name.
        t: paired t of second minus first member; None where the difference never varies.
        first: pairs in which the first member has more.
        second: pairs in which the second has more.
        mean: mean difference.
    """

    feature: str
    t: float | None
    first: int
    second: int
    mean: float


def order(pairs: pl.DataFrame) -> Order:
    """Whether one member was always generated before the other."""
    timed = pl.col("started_at_a").is_not_null() & pl.col("started_at_b").is_not_null()
    timed = timed & (pl.col("started_at_a") != pl.col("started_at_b"))
    placed = (pl.col("source_a") == pl.col("source_b")) & (pl.col("line_a") != pl.col("line_b"))
    by_time, by_place = pl.col("started_at_b") > pl.col("started_at_a"), pl.col("line_b") > pl.col("line_a")
    found = pairs.select(
        pl.when(timed).then(by_time).when(placed).then(by_place).alias("later"),
        pl.when(timed).then(pl.lit("started_at")).when(placed).then(pl.lit("position")).alias("basis"),
    )
    later, known = int(found["later"].sum() or 0), int(found["later"].count())
    basis = " and ".join(sorted(found["basis"].drop_nulls().unique().to_list())) or "none"
    correlation = 2 * later / known - 1 if known else None
    return Order(correlation, later, known - later, len(pairs) - known, basis)


def lengths(pairs: pl.DataFrame) -> Lengths:
    """Whether longer values go with longer answers."""
    known = pairs.drop_nulls(["value_length_a", "value_length_b", "answer_a", "answer_b"])
    value = [known[f"value_length_{s}"].cast(pl.Float64).to_numpy() for s in "ab"]
    answer = [known[f"answer_{s}"].cast(pl.Float64).to_numpy() for s in "ab"]
    same = value[0] == value[1]
    apart = np.abs(answer[1] - answer[0])[same]
    return Lengths(
        _pearson(np.concatenate(value), np.concatenate(answer)),
        _pearson(value[1] - value[0], answer[1] - answer[0]),
        int(same.sum()),
        float(apart.mean()) if len(apart) else None,
        len(known),
    )


def _pearson(x: Floats, y: Floats) -> float | None:
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def directions(one: Floats, two: Floats) -> list[Direction]:
    """Each feature that varies, the most directional first."""
    found = []
    for n, name in enumerate(NAMES):
        d = two[:, n] - one[:, n]
        if not np.any(d):
            continue
        spread = float(d.std(ddof=1)) if len(d) > 1 else 0.0
        t = float(d.mean() / (spread / np.sqrt(len(d)))) if spread > 0 else None
        found.append(Direction(name, t, int((d < 0).sum()), int((d > 0).sum()), float(d.mean())))
    return sorted(found, key=lambda d: (-abs(d.t) if d.t is not None else -np.inf, d.feature))


def repaired(pairs: pl.DataFrame, seed: int) -> tuple[Ints, Ints]:
    """Synthetic pairs: rows of `pairs`, and for each another row of its domain and cell, of another scenario.

    Rows of cells with one scenario have no other and are left out.
    """
    cell = [c for c in CELL if c != "scenario"]
    rng = np.random.default_rng(seed)
    first, second = [], []
    for _, part in pairs.with_row_index("row").group_by(cell, maintain_order=True):
        rows = part["row"].to_numpy().astype(np.int64)
        names, scenario = np.unique(part["scenario"].to_numpy(), return_inverse=True)
        if len(names) < 2:
            continue
        # Scenarios in random order, each with the next: nobody meets its own.
        place = rng.permutation(len(names))
        following = {int(place[n]): int(place[(n + 1) % len(names)]) for n in range(len(names))}
        members = {n: rows[scenario == n] for n in range(len(names))}
        for row, own in zip(rows.tolist(), scenario.tolist(), strict=True):
            first.append(row)
            second.append(int(rng.choice(members[following[own]])))
    return np.array(first, np.int64), np.array(second, np.int64)
