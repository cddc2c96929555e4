"""Whole runs divided: what could be said of each channel, and who learned what."""

from typing import TYPE_CHECKING, Any

import polars as pl

from earwitness.reports.plots.style import (
    FAINT,
    INK,
    QUIET,
    VERDICTS,
    VERMILION,
    Plot,
    bare,
    key,
    sheet,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PARTS = ("leak", "unverifiable", "clean")
Row = dict[str, Any]


def coverage(frame: pl.DataFrame, by: str, *, title: str, note: str = "") -> Plot:
    """A bar each row, divided into what leaked, what cannot be said, and what is clean.

    Args:
        frame: columns `leak`, `unverifiable`, `clean` (counts), and the names.
        by: column with the names of the bars.
        title: what is to be seen.
        note: what is counted.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    rows = frame.to_dicts()
    with sheet(title, note, height=0.38 * len(rows) + 0.1) as (figure, (ax,)):
        for y, row in enumerate(rows):
            _bar(ax, y, row)
        ax.set_yticks(range(len(rows)), [words(r[by]) for r in rows], size=10.5)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_xlim(0, max(sum(r[p] for p in _PARTS) for r in rows))
        ax.set_xticks([])
        key(figure, [(p, VERDICTS[p]) for p in _PARTS])
        bare(ax)
        return Plot(figure, title, [f"{words(r[by])}: " + ", ".join(f"{p} {r[p]:,}" for p in _PARTS) for r in rows])


def _bar(ax: "Axes", y: int, row: Row) -> None:
    left = 0
    for part in _PARTS:
        n = row[part]
        ax.barh(y, n, left=left, height=0.72, color=VERDICTS[part], edgecolor="white", lw=1.5)
        if n:
            colour = "white" if part == "leak" else INK
            ax.text(left + n / 2, y, f"{n:,}", ha="center", va="center", size=9.5, color=colour)
        left += n


def knowledge(frame: pl.DataFrame, *, title: str, note: str = "") -> Plot:
    """Who learned what: recipients by attributes, a disc as large as the number of runs.

    Args:
        frame: columns `recipient`, `attribute`, `group` (what kind of recipient), `runs` (in which it learned the
            value), `unauthorised` (in how many of these without leave); rows in the order they are to stand.
        title: what is to be seen.
        note: what is counted.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    people, what = (frame[c].unique(maintain_order=True).to_list() for c in ("recipient", "attribute"))
    group = dict(frame.select("recipient", "group").unique(maintain_order=True).iter_rows())
    most = max(frame["runs"].to_list(), default=1)
    with sheet(title, note, height=0.34 * len(people) + 0.4) as (figure, (ax,)):
        for row in frame.iter_rows(named=True):
            _disc(ax, what.index(row["attribute"]), people.index(row["recipient"]), row, most)
        ax.set_xticks(range(len(what)), [words(w) for w in what], size=10.5)
        ax.xaxis.tick_top()
        ax.set_yticks(range(len(people)), [words(p) for p in people], size=10)
        ax.set_ylim(len(people) - 0.45, -0.6)
        ax.set_xlim(-0.5, len(what) - 0.5)
        _name_groups(ax, people, group)
        key(figure, [("without leave", VERMILION), ("with leave", VERDICTS["authorised"])])
        bare(ax)
        return Plot(figure, title, map(_learned, frame.to_dicts()))


def _learned(row: Row) -> str:
    who = f"{words(row['recipient'])}, {words(row['attribute'])}"
    return f"{who}: learned in {row['runs']:,}, without leave in {row['unauthorised']:,}"


def _disc(ax: "Axes", x: int, y: int, row: Row, most: int) -> None:
    """The part without leave stands at the left, the rest beside it; both say how many runs."""
    bad, good = row["unauthorised"], row["runs"] - row["unauthorised"]
    beside = ((bad, x - 0.13 * bool(good), VERMILION), (good, x + 0.13 * bool(bad), VERDICTS["authorised"]))
    for n, at, colour in beside:
        if n:
            ax.scatter([at], [y], s=130 + 260 * n / most, color=colour, zorder=3, lw=0)
            ax.text(at, y, str(n), ha="center", va="center_baseline", size=9, color="white", weight="bold", zorder=4)


def _name_groups(ax: "Axes", people: list[str], group: dict[str, str]) -> None:
    starts = [i for i, p in enumerate(people) if not i or group[p] != group[people[i - 1]]]
    for start in starts:
        if start:
            ax.axhline(start - 0.5, color=FAINT, lw=1)
        across, name = ax.get_yaxis_transform(), words(group[people[start]])
        ax.text(1.01, start, name, transform=across, va="center", size=9.5, color=QUIET)
