"""The way of a value through one run, and what guards would have stopped."""

from collections.abc import Sequence
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

Row = dict[str, Any]
_UNAWARE, _STOPPED = "#d5d9de", "#f5d3c0"
_ARROWS = (("without leave", VERMILION), ("with leave", VERDICTS["authorised"]), ("without the value", _UNAWARE))
_HEAD = "-|>,head_width=0.28,head_length=0.5"


def incident(events: pl.DataFrame, holders: pl.DataFrame, *, title: str, note: str = "") -> Plot:
    """A run as lanes: each party a line, each message an arrow; a lane is thick from where its party knew the value.

    Args:
        events: columns `seq`, `sender`, `recipient` (None: nobody named), `channel`, `verdict` (`unauthorised`,
            `authorised`, `unruled`; None where the value is not in it), one row for each recipient, in order.
        holders: columns `holder`, `seq` (since when), `verdict`: `authorised`, `unauthorised`, or `not judged`.
        title: what is to be seen.
        note: what is counted.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    rows, lanes = events.to_dicts(), _lanes(events, holders)
    steps = {seq: n for n, seq in enumerate(events["seq"].unique().sort().to_list())}
    with sheet(title, note, height=0.44 * len(lanes) + 0.3) as (figure, (ax,)):
        for y in range(len(lanes)):
            ax.plot([-0.5, len(steps) - 0.2], [y, y], color=FAINT, lw=1.4, zorder=1)
        for holder in holders.to_dicts():
            _known(ax, lanes.index(holder["holder"]), holder, steps)
        for row in rows:
            _arrow(ax, row, steps[row["seq"]], lanes)
        _under(ax, rows, steps, len(lanes))
        ax.set_yticks(range(len(lanes)), [words(n) for n in lanes], size=10.5)
        ax.set_ylim(len(lanes) - 0.05, -0.5)
        ax.set_xlim(-0.55, len(steps) - 0.15)
        key(figure, _ARROWS)
        bare(ax)
        return Plot(figure, title, [*_told(rows), *_knew(holders)])


def _lanes(events: pl.DataFrame, holders: pl.DataFrame) -> list[str]:
    """Parties in the order in which they first take part; below them who held the value and took no part."""
    pairs = events.select("sender", "recipient").iter_rows()
    named = (name for pair in pairs for name in pair if name is not None)
    return list(dict.fromkeys([*named, *holders["holder"]]))


def _known(ax: "Axes", y: int, holder: Row, steps: dict[int, int]) -> None:
    start = min((n for seq, n in steps.items() if seq >= holder["seq"]), default=0)
    first = start - 0.5 if holder["seq"] < min(steps) or holder["verdict"] == "not judged" else start
    colour = VERDICTS[holder["verdict"]]
    ax.plot([first, len(steps) - 0.2], [y, y], color=colour, lw=6, alpha=0.3, zorder=2, solid_capstyle="butt")


def _arrow(ax: "Axes", row: Row, x: int, lanes: list[str]) -> None:
    colour = VERDICTS.get(row["verdict"] or "", _UNAWARE)
    weight, order = (2.2, 4) if row["verdict"] else (1.2, 3)
    start = lanes.index(row["sender"]) if row["sender"] is not None else None
    end = lanes.index(row["recipient"]) if row["recipient"] is not None else None
    if start is not None:
        ax.plot([x], [start], "o", color=colour, ms=6, zorder=order + 1)
    if start is None or end is None:
        known = start if start is not None else end
        if known is not None:
            ax.text(x + 0.12, known - 0.22, "to nobody named" if end is None else "", size=8, color=QUIET)
        return
    style = {"arrowstyle": _HEAD, "color": colour, "lw": weight, "shrinkA": 0, "shrinkB": 1}
    ax.annotate("", xy=(x, end), xytext=(x, start), arrowprops=style, zorder=order)


def _under(ax: "Axes", rows: list[Row], steps: dict[int, int], lanes: int) -> None:
    """Channel and order of each event below its arrow."""
    channel = {row["seq"]: row["channel"] for row in rows}
    for seq, x in steps.items():
        ax.text(x, lanes - 0.35, channel[seq], ha="center", va="center", size=9.5, color=INK)
    ax.set_xticks([])


def _told(rows: Sequence[Row]) -> list[str]:
    return [
        f"{r['seq']} {r['channel']} {_who(r['sender'])} -> {_who(r['recipient'])}: {r['verdict'] or 'value not in it'}"
        for r in rows
    ]


def _who(name: str | None) -> str:
    return "nobody named" if name is None else words(name)


def _knew(holders: pl.DataFrame) -> list[str]:
    return [f"{words(h['holder'])} knew since {h['seq']}: {h['verdict']}" for h in holders.iter_rows(named=True)]


def remaining(frame: pl.DataFrame, *, total: int, title: str, note: str = "") -> Plot:
    """What is left after each guard: a bar each, the part it stops in colour, the guard named beside it.

    Args:
        frame: columns `guard`, `stopped`, `remaining`, the best first.
        total: exposures without any guard.
        title: what is to be seen.
        note: what is counted.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    rows = frame.to_dicts()
    names = [f"{n}. {words(r['guard'])}" for n, r in enumerate(rows, 1)]
    with sheet(title, note, height=0.36 * (len(rows) + 1) + 0.1) as (figure, (ax,)):
        ax.barh(0, total, height=0.66, color=VERMILION)
        ax.text(total + total * 0.015, 0, f"{total:,}", va="center", size=9.5, color=INK)
        for y, row in enumerate(rows, 1):
            _stage(ax, y, row, total)
        ax.set_yticks(range(len(rows) + 1), ["no guard", *names])
        ax.set_ylim(len(rows) + 0.5, -0.5)
        ax.set_xlim(0, total * 1.12)
        ax.set_xticks([])
        key(figure, [("left", VERMILION), ("stopped by this guard", _STOPPED)])
        bare(ax)
        told = [f"{n}: stops {r['stopped']:,}, leaves {r['remaining']:,}" for n, r in zip(names, rows, strict=True)]
        return Plot(figure, title, [f"no guard: {total:,}", *told])


def _stage(ax: "Axes", y: int, row: Row, total: int) -> None:
    left, stopped = row["remaining"], row["stopped"]
    ax.barh(y, left, height=0.66, color=VERMILION)
    ax.barh(y, stopped, left=left, height=0.66, color=_STOPPED)
    ax.text(left + stopped + total * 0.015, y, f"{left:,}   \u2212{stopped:,}", va="center", size=9.5, color=INK)
