"""The threshold of a detector: what each would give, and the interval that is best."""

from math import nan
from typing import TYPE_CHECKING, Any

import polars as pl

from earwitness.reports.plots.style import (
    BLUE,
    INK,
    ORANGE,
    PURPLE,
    SERIES,
    VERMILION,
    Plot,
    apart,
    bare,
    percent_axis,
    sheet,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVES = (("recall", BLUE), ("precision", PURPLE), ("F1", INK), ("false positives", VERMILION))


def thresholds(frame: pl.DataFrame, *, chosen: float, bound: float, title: str, note: str = "") -> Plot:
    """Recall, precision, F1 and the false-positive rate over the threshold.

    Args:
        frame: columns `low`, `high` (ends of an interval that classifies alike), `recall`, `precision`, `F1`,
            `false positives`, as fractions, by threshold.
        chosen: threshold that is put forward.
        bound: of the false-positive rate.
        title: what is to be seen.
        note: what is counted.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    rows = frame.to_dicts()
    best = next(r for r in rows if r["low"] <= chosen <= r["high"])
    with sheet(title, note, height=3.3) as (figure, (ax,)):
        ax.axvspan(best["low"], best["high"], color=ORANGE, alpha=0.18, lw=0, zorder=0)
        ax.axvline(chosen, color=ORANGE, lw=1.6, zorder=1)
        ax.text(chosen, 1.03, f"{chosen:g}", ha="center", va="bottom", size=10, weight="bold", color=ORANGE)
        ax.axhline(bound, color=VERMILION, lw=0.9, ls=(0, (2, 3)), zorder=1)
        _curves(ax, rows)
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlim(rows[0]["low"], rows[-1]["high"])
        ax.set_xlabel("threshold: a pair counts as disclosed where its score reaches it")
        bare(ax, grid="y")
        percent_axis(ax.yaxis)
        return Plot(figure, title, [_told(r) for r in rows])


def _curves(ax: "Axes", rows: list[dict[str, Any]]) -> None:
    at = [edge for r in rows for edge in (r["low"], r["high"])]
    # Where nothing is found there is no precision: the curve ends, and its name stands where it ended.
    ends = [next((r[name] for r in reversed(rows) if r[name] is not None), 0.0) for name, _ in _CURVES]
    for (name, colour), y in zip(_CURVES, apart(ends, 0.075), strict=True):
        ax.plot(
            at,
            [nan if r[name] is None else r[name] for r in rows for _ in range(2)],
            color=colour,
            lw=2.4 if name == "F1" else 1.8,
            zorder=3,
        )
        ax.annotate(
            name, (1, y), xycoords=("axes fraction", "data"), xytext=(6, 0), textcoords="offset points", size=9.5,
            color=colour, weight="bold", va="center", annotation_clip=False,
        )  # fmt: skip


def _told(row: dict[str, Any]) -> str:
    rates = ", ".join(f"{name} {100 * row[name]:.1f} %" for name, _ in _CURVES if row[name] is not None)
    return f"{row['low']:.2f} to {row['high']:.2f}: {rates}"


def spread(frame: pl.DataFrame, by: str, value: str, *, mark: float, title: str, note: str = "") -> Plot:
    """Numbers between 0 and 1 as dots, a row for each group, so that overlap is seen.

    Args:
        frame: a row for each number, groups in the order they are to stand.
        by: column with the names of the groups.
        value: column with the numbers.
        mark: a threshold to set beside them.
        title: what is to be seen.
        note: what is counted.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    groups = frame[by].unique(maintain_order=True).to_list()
    counted = frame.group_by(by, pl.col(value).round(2)).len().sort(by, value)
    most = max(counted["len"].to_list(), default=1)
    told = []
    with sheet(title, note, height=0.75 * len(groups) + 0.4) as (figure, (ax,)):
        for y, (group, colour) in enumerate(zip(groups, SERIES, strict=False)):
            _stacked(ax, counted.filter(pl.col(by) == group), value, y, colour, most)
            quarters = [frame.filter(pl.col(by) == group)[value].quantile(q, "nearest") for q in (0.1, 0.5, 0.9)]
            told.append(f"{words(group)}: 10 % below {quarters[0]}, half below {quarters[1]}, 90 % below {quarters[2]}")
        ax.axvline(mark, color=ORANGE, lw=1.6, zorder=1)
        ax.set_yticks(range(len(groups)), [words(g) for g in groups], size=10.5)
        ax.set_ylim(len(groups) - 0.7, -0.85)
        bare(ax, grid="x")
        return Plot(figure, title, told)


def _stacked(ax: "Axes", counted: pl.DataFrame, value: str, y: int, colour: str, most: int) -> None:
    """Equal numbers one above the other."""
    step = 0.72 / most
    for at, n in counted.select(value, "len").iter_rows():
        ax.plot([at] * n, [y - step * i for i in range(n)], "o", color=colour, ms=4.2, alpha=0.85, mew=0)
