"""What a difference says, in a sentence."""

from typing import Any

from earwitness.reports.printing import many

Row = dict[str, Any]


def sentence(row: Row, left: str, right: str) -> str:
    """The difference of one measure.

    Args:
        row: of `earwitness.audit.compare.differences`.
        left: name of one side.
        right: of the other.
    """
    rates = " and ".join(
        f"{row[side]['k']:,} of {row[side]['n']:,} ({100 * row[side]['rate']:.2f} %) in {name}"
        for side, name in (("left", left), ("right", right))
    )
    return f"{measure_name(row)}: {rates}: {_finding(row, right)}, {points(row)}; {_basis(row, left, right)}."


def measure_name(row: Row) -> str:
    """`channel_leakage (multi, C2)`."""
    group = ", ".join(str(v) for v in row["group"].values())
    return f"{row['measure']} ({group})" if group else str(row["measure"])


def points(row: Row) -> str:
    """`+3.20 points [1.10, 5.30]`."""
    return f"{100 * row['difference']:+.2f} points [{100 * row['low']:.2f}, {100 * row['high']:.2f}]"


def told(row: Row) -> bool:
    """Whether the interval leaves 0 out."""
    return bool(row["low"] > 0 or row["high"] < 0)


def _finding(row: Row, right: str) -> str:
    if not told(row):
        return "no difference can be told"
    return f"{'higher' if row['difference'] > 0 else 'lower'} in {right}"


def _basis(row: Row, left: str, right: str) -> str:
    if row["p"] is not None:
        split = f"{row['left_only']:,} only in {left}, {row['right_only']:,} only in {right}"
        return f"{row['pairs']:,} pairs, {split}, McNemar p = {row['p']:.3g}"
    paired = f"{row['pairs']:,} pairs" if row["pairs"] else "without pairs"
    return f"{paired}, {METHODS[row['method']]}"


def way(row: Row) -> str:
    """`lead (C2)`; of what moved, what it was and what it is, with the hops to it."""
    both = bool(row["left"] and row["right"])
    sides = [[_step(w, hops=both) for w in row[side][:2]] for side in ("left", "right")]
    return " => ".join(", ".join(side) for side in sides if side)


def _step(way: Row, *, hops: bool) -> str:
    far = "" if not hops else ", hops unknown" if way["carried"] is None else f", {many(way['carried'], 'hop')}"
    return f"{way['sender'] or '?'} ({way['channel']}{far})"


METHODS = {
    "tango": "score interval for pairs",
    "clustered": "units of a run or of repeated runs taken together",
    "newcombe": "sides taken as independent",
}
