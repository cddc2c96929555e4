"""What replayed sanitizers leave and keep: both sides of each beside each other, and why something is left."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from earwitness.reports.plots.rates import NEXT, ROW, Row, order, spread, told
from earwitness.reports.plots.style import (
    INK,
    PURPLE,
    QUIET,
    SERIES,
    SKY,
    VERMILION,
    Plot,
    bare,
    key,
    percent_axis,
    sheet,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CAUSES = {
    "detection_miss": VERMILION,
    "no_recipient": PURPLE,
    "policy_gap": SKY,
    "post_transform": QUIET,
}
# Words on the light colour are dark.
_ON = {"policy_gap": INK}
_MEASURES = {"residual": "residual: less is better", "correct_allow": "correct-allow: more is better"}


def tradeoff(frame: pl.DataFrame, by: str, *, series: str, title: str, note: str = "") -> Plot:
    """What each condition leaves and what it keeps, on two axes side by side: dot, 95 % interval, counts.

    Args:
        frame: rows in the order they are to stand; `measure` (residual or correct_allow), k, n, rate, low, high as
            fractions; the same names for both measures.
        by: column with the names of the conditions.
        series: column that splits each, such as the corpus; at most six.
        title: what is to be seen.
        note: what is counted.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    shown = dict(zip(order(frame, series), SERIES, strict=False))
    parts = [frame.filter(pl.col("measure") == measure).to_dicts() for measure in _MEASURES]
    at, names = spread(parts[0], by)
    with sheet(title, note, height=max(at) + ROW + 0.5, columns=2) as (figure, axes):
        for ax, rows, heading in zip(axes, parts, _MEASURES.values(), strict=True):
            ax.set_title(heading, loc="left", size=10.5, color=INK, pad=8)
            _side(ax, rows, at, series, shown)
        axes[0].set_yticks([y for _, y in names], [words(name) for name, _ in names], size=10.5)
        axes[0].set_ylim(max(at) + NEXT, -NEXT)
        key(figure, [(words(name), colour) for name, colour in shown.items()])
        return Plot(figure, title, [told(r, "measure", by, series) for rows in parts for r in rows])


def _side(ax: "Axes", rows: list[Row], at: list[float], series: str, shown: dict[str, str]) -> None:
    for y, row in zip(at, rows, strict=True):
        colour = shown[row[series]]
        ax.plot([row["low"], row["high"]], [y, y], color=colour, lw=5, alpha=0.25, zorder=2)
        ax.plot([row["rate"]], [y], "o", color=colour, ms=7, zorder=3, clip_on=False)
        counts = f"{row['k']:,} of {row['n']:,}"
        ax.text(1.03, y, counts, transform=ax.get_yaxis_transform(), va="center", size=8.5, color=QUIET)
    ax.set_xlim(-0.02, 1.02)
    bare(ax, grid="x")
    percent_axis(ax.xaxis)


def causes(frame: pl.DataFrame, by: str, *, title: str, note: str = "") -> Plot:
    """Why something is left: a bar each row, divided by cause into shares of what is left, and the count beside it.

    Args:
        frame: the names, and a column of counts for each of the four causes; rows without any are told and not drawn.
        by: column with the names.
        title: what is to be seen.
        note: what is counted.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    rows = frame.to_dicts()
    with sheet(title, note, height=0.4 * len(rows) + 0.3) as (figure, (ax,)):
        for y, row in enumerate(rows):
            _divided(ax, y, row)
        ax.set_yticks(range(len(rows)), [words(r[by]) for r in rows], size=10.5)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_xlim(0, 1)
        bare(ax)
        percent_axis(ax.xaxis)
        key(figure, [(cause.replace("_", " "), colour) for cause, colour in CAUSES.items()])
        return Plot(figure, title, _reasons(rows, by))


def _divided(ax: "Axes", y: int, row: Row) -> None:
    total, left = sum(row[c] for c in CAUSES), 0.0
    for cause, colour in CAUSES.items():
        share = row[cause] / total if total else 0.0
        ax.barh(y, share, left=left, height=0.7, color=colour, edgecolor="white", lw=1.2)
        if share > 0.04:
            ax.text(
                left + share / 2,
                y,
                f"{row[cause]:,}",
                ha="center",
                va="center",
                size=9.5,
                color=_ON.get(cause, "white"),
            )
        left += share
    beside = f"{total:,} left" if total else "nothing left"
    ax.text(1.02, y, beside, transform=ax.get_yaxis_transform(), va="center", size=9, color=QUIET)


def _reasons(rows: Iterable[Row], by: str) -> list[str]:
    return [f"{words(r[by])}: " + ", ".join(f"{c.replace('_', ' ')} {r[c]:,}" for c in CAUSES) for r in rows]
