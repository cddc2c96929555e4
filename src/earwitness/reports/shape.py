"""The shape of runs: what their messages show beside what was declared."""

from typing import Any

import polars as pl
from rich.console import Console

from earwitness.graph.topology import topology
from earwitness.reports.printing import head, many, section
from earwitness.reports.shown import Row, Shown
from earwitness.reports.text import percent

_MOST = 20
_NAMES = ("root", "hub", "declared")


def shape(shown: Shown, trace: str | None = None) -> Row:
    """Classes over all traces, and one row a trace.

    Args:
        shown: the case.
        trace: id of one trace, as recorded; None for all.
    """
    frame = topology(shown.case)
    frame = frame if trace is None else frame.filter(pl.col("trace_id") == trace)
    counted = frame.group_by("class", "declared").agg(
        pl.len().alias("traces"), pl.col("size").mean(), pl.col("used").mean(), pl.col("agrees").sum().alias("agree")
    )
    rows = frame.drop("trace").rename({"trace_id": "trace"}).to_dicts()
    for row in rows:
        row.update({name: shown.name(row[name]) for name in ("trace", *_NAMES)})
    classes = counted.sort("traces", "class", "declared", descending=[True, False, False]).to_dicts()
    for row in classes:
        row["declared"] = shown.name(row["declared"])
    return {**shown.stamp("topology"), "traces": rows, "classes": classes}


def print_shape(console: Console, report: dict[str, Any]) -> None:
    """The same on a terminal."""
    head(console, report, "Earwitness topology", many(len(report["traces"]), "trace"))
    columns = ("inferred", "declared", "traces", "agree", "mean size", "% of nominal edges used")
    section(
        console,
        "Classes of realised topology",
        columns,
        [
            (c["class"], c["declared"], f"{c['traces']:,}", f"{c['agree']:,}", _mean(c["size"]), percent(c["used"]))
            for c in report["classes"]
        ],
        left=2,
    )
    shown = report["traces"][:_MOST]
    section(
        console,
        f"Traces ({len(shown)} of {len(report['traces']):,})",
        ("trace", "inferred", "depth", "root", "declared", "size", "edges", "nominal", "% used", "extra"),
        [_line(t) for t in shown],
        left=5,
    )


def _line(t: Row) -> tuple[Any, ...]:
    counts = (t["size"], t["edges"], t["nominal"], percent(t["used"]), t["extra"])
    return (
        t["trace"],
        t["class"],
        str(t["depth"]),
        t["root"],
        t["declared"],
        *("-" if c is None else str(c) for c in counts),
    )


def _mean(number: float | None) -> str:
    return "-" if number is None else f"{number:.1f}"
