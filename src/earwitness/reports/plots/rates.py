"""Rates with their intervals: as dots beside names, and as lines over an ordered axis.

The frames have the columns of the table `measures`: k, n, rate, low, high, and beside them what the rows are called.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from earwitness.audit.stats import wilson
from earwitness.reports.plots.style import (
    INK,
    QUIET,
    SERIES,
    Plot,
    apart,
    bare,
    percent_axis,
    sheet,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# In inches: from name to name, from one series to the next, half of a mark, and the least height.
ROW, NEXT, _REACH, _LEAST = 0.38, 0.215, 0.09, 1.0
Row = dict[str, Any]


def with_intervals(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame of counts `k` and `n` with rate and Wilson interval beside them; rows with n = 0 are left out."""
    kept = frame.filter(pl.col("n") > 0)
    ends = [wilson(k, n) for k, n in kept.select("k", "n").iter_rows()]
    low, high = ([e[side] for e in ends] for side in (0, 1))
    return kept.with_columns(
        rate=pl.col("k") / pl.col("n"), low=pl.Series(low, dtype=pl.Float64), high=pl.Series(high, dtype=pl.Float64)
    )


def told(row: Row, *names: str) -> str:
    """A rate in words: `C2: 9 of 16: 56.2 % [33.2, 76.9]`."""
    label = ", ".join(words(row[n]) for n in names if row[n] is not None)
    ends = f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
    return f"{label}: {row['k']:,} of {row['n']:,}: {100 * row['rate']:.1f} % {ends}"


def many(frame: pl.DataFrame, what: str) -> str:
    """`n = 16 runs each`, or the range of them."""
    low, high = (int(n) for n in frame.select(low=pl.col("n").min(), high=pl.col("n").max()).row(0))
    return f"n = {low:,} {what}" if low == high else f"n = {low:,} to {high:,} {what}"


def order(frame: pl.DataFrame, column: str) -> list[Any]:
    """The names of a column as they first stand there."""
    return frame[column].unique(maintain_order=True).to_list()


def dots(
    frame: pl.DataFrame,
    by: str,
    *,
    title: str,
    note: str = "",
    series: str | None = None,
    mark: str | None = None,
    colours: Sequence[str] = SERIES,
) -> Plot:
    """A rate each row: dot, 95 % interval, and its counts at the right.

    Args:
        frame: rows in the order they are to stand; k, n, rate, low, high as fractions.
        by: column with the names of the rows.
        title: what is to be seen.
        note: what is counted.
        series: column that splits each row; at most six of them, each named once beside its first dot.
        mark: column with another rate to set beside each, drawn as a thin upright line.
        colours: of the series.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """  # fmt: skip
    columns = [by] if series is None else [by, series]
    rows, groups = frame.to_dicts(), order(frame, series) if series else [None]
    shown = dict(zip(groups, colours, strict=False))
    at, names = spread(rows, by)
    height = max(_LEAST, max(at) + ROW + 0.25)
    with sheet(title, note, height=height) as (figure, (ax,)):
        for y, row in zip(at, rows, strict=True):
            _dot(ax, row, y, shown[row[series] if series else None], mark)
        if series:
            _name_series(ax, rows, at, series, shown, mark)
        ax.set_yticks([y for _, y in names], [words(name) for name, _ in names], size=10.5)
        ax.set_ylim(max(at) + ROW / 2, -ROW / 2)
        ax.set_xlim(-0.015, 1.015)
        bare(ax, grid="x")
        percent_axis(ax.xaxis)
        return Plot(figure, title, [told(r, *columns) for r in rows])


def spread(rows: Sequence[Row], by: str) -> tuple[list[float], list[tuple[Any, float]]]:
    """Where each dot stands, in inches from the first, and the middle of each name's dots. Names stay together."""
    at: list[float] = []
    blocks: dict[Any, list[float]] = {}
    for n, row in enumerate(rows):
        same = n > 0 and rows[n - 1][by] == row[by]
        at.append(at[-1] + (NEXT if same else ROW) if at else 0.0)
        blocks.setdefault(row[by], []).append(at[-1])
    return at, [(name, (ys[0] + ys[-1]) / 2) for name, ys in blocks.items()]


def _dot(ax: "Axes", row: Row, y: float, colour: str, mark: str | None) -> None:
    ax.plot([row["low"], row["high"]], [y, y], color=colour, lw=5, alpha=0.25, zorder=2)
    ax.plot([row["rate"]], [y], "o", color=colour, ms=7.5, zorder=3, clip_on=False)
    if mark and row[mark] is not None:
        ax.plot([row[mark]] * 2, [y - _REACH, y + _REACH], color=INK, lw=2, zorder=4, solid_capstyle="butt")
    counts = f"{row['k']:,} of {row['n']:,}"
    ax.text(1.03, y, counts, transform=ax.get_yaxis_transform(), va="center", size=9, color=QUIET)


def _name_series(
    ax: "Axes", rows: Sequence[Row], at: Sequence[float], series: str, shown: dict[Any, str], mark: str | None
) -> None:
    """Each once, beside its first dot, on the side where there is room."""
    first = {row[series]: (row, y) for row, y in reversed(list(zip(rows, at, strict=True)))}
    for name, (row, y) in first.items():
        ends = [row["low"], row["high"], *([row[mark]] if mark and row[mark] is not None else [])]
        right = max(ends) < 0.75
        x, side = (max(ends) + 0.02, "left") if right else (min(ends) - 0.02, "right")
        ax.text(x, y, words(name), color=shown[name], size=9.5, weight="bold", va="center", ha=side)


def lines(
    frame: pl.DataFrame,
    x: str,
    *,
    series: str,
    title: str,
    note: str = "",
    panel: str | None = None,
    top: float = 1.0,
    across: str = "",
    colours: Sequence[str] = SERIES,
) -> Plot:
    """Rates over an ordered axis, a line for each series, named at its end; panels side by side share the scale.

    Args:
        frame: rows in the order of the axis; k, n, rate, low, high as fractions.
        x: column of the axis.
        series: column of the lines.
        title: what is to be seen.
        note: what is counted.
        panel: column that splits the sheet.
        top: upper end of the scale.
        across: what the axis counts.
        colours: of the series.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """  # fmt: skip
    panels, places = order(frame, panel) if panel else [None], order(frame, x)
    groups = order(frame, series)
    with sheet(title, note, height=3.1, columns=len(panels)) as (figure, axes):
        for ax, name in zip(axes, panels, strict=True):
            part = frame.filter(pl.col(panel) == name) if panel else frame
            if name is not None:
                ax.set_title(words(name), loc="left", size=10.5, color=INK, pad=8)
            ax.set_xticks(range(len(places)), [words(p) for p in places], size=10 if len(panels) < 3 else 7.5)
            ax.set_xlim(-0.35, len(places) - 0.65)
            ax.set_ylim(-0.02 * top, top)
            ax.set_xlabel(across)
            _lines(ax, part, x, places, series, groups, colours)
            bare(ax, grid="y")
            percent_axis(ax.yaxis, top)
        columns = [c for c in (panel, series, x) if c]
        return Plot(figure, title, [told(r, *columns) for r in frame.iter_rows(named=True)])


def _lines(
    ax: "Axes", part: pl.DataFrame, x: str, places: list[Any], series: str, groups: list[Any], colours: Sequence[str]
) -> None:
    ends: list[tuple[str, float, str]] = []
    step = min(0.12, 0.4 / max(len(groups), 1))
    for number, group in enumerate(groups):
        rows = part.filter(pl.col(series) == group).to_dicts()
        if not rows:
            continue
        shift = (number - (len(groups) - 1) / 2) * step
        at = [places.index(r[x]) + shift for r in rows]
        ax.plot(at, [r["rate"] for r in rows], "-o", color=colours[number], lw=1.8, ms=5.5, zorder=3, clip_on=False)
        ax.vlines(at, [r["low"] for r in rows], [r["high"] for r in rows], color=colours[number], lw=4.5, alpha=0.22)
        ends.append((words(group), rows[-1]["rate"], colours[number]))
    if len(groups) == 1:
        return
    gap = 0.062 * ax.get_ylim()[1]
    for (name, _, colour), y in zip(ends, apart([e[1] for e in ends], gap), strict=True):
        ax.annotate(
            name, (1, y), xycoords=("axes fraction", "data"), xytext=(2, 0), textcoords="offset points", size=9.5,
            color=colour, weight="bold", va="center", annotation_clip=False,
        )  # fmt: skip
