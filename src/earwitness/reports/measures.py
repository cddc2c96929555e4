"""Measures with n, interval and the statement that made them; tests of significance; ranks and the noise floor."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import msgspec
from rich.console import Console

from earwitness.audit.measure import Figure
from earwitness.audit.measures.base import Measure
from earwitness.audit.stability import Stability
from earwitness.reports.printing import dim, head, many, section
from earwitness.reports.shown import Row, Shown
from earwitness.reports.text import interval, percent, plain

_TESTED = ("name", "factor", "test", "group", "levels", "statistic", "df", "p", "blocks", "excluded", "note")


def measures(
    shown: Shown,
    asked: Sequence[Measure],
    found: Iterable[Figure],
    ranks: Iterable[tuple[str, Stability]] = (),
) -> Row:
    """Figures as one plain object.

    Args:
        shown: an audited case and what may be shown of it.
        asked: the measures that were counted.
        found: their figures (`earwitness.audit.measure.figures`).
        ranks: measures whose groups were ranked, with what that gave.
    """
    kinds = {m.name: m for m in asked}
    rows = [_figure(shown, kinds[f.name], f) for f in found]
    counted = {r["name"] for r in rows}
    return shown.stamp("measures") | {
        "figures": rows,
        "without": [{"name": m.name, "needs": m.needs or None} for m in asked if m.name not in counted],
        "significance": _significance(shown, set(kinds)),
        "stability": [{"name": name, **_ranks(shown, one)} for name, one in ranks],
        "case": str(shown.case.path) if shown.case.path else None,
    }


def _figure(shown: Shown, one: Measure, f: Figure) -> Row:
    row = {"name": f.name, "kind": one.kind, "group": _masked(shown, f.group), "k": f.k, "n": f.n, "rate": f.rate}
    row |= {"low": f.low, "high": f.high, "title": one.title, "formula": one.formula, "source": one.source}
    return row | {"sql": f.sql}


def _masked(shown: Shown, group: dict[str, Any]) -> dict[str, Any]:
    return {cell: shown.mask(v) if isinstance(v, str) else v for cell, v in group.items()}


def _significance(shown: Shown, names: set[str]) -> list[Row]:
    if not shown.case.one("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'significance'"):
        return []
    rows = shown.case.rows("""SELECT name, factor, test, grp, levels, statistic, df, p, blocks, excluded, note
                              FROM significance ORDER BY name, factor, length(grp), grp, test DESC""")
    told = (dict(zip(_TESTED, row, strict=True)) for row in rows if row[0] in names)
    return [
        row
        | {"group": _masked(shown, msgspec.json.decode(row["group"])), "note": shown.name(row["note"])}
        | {"levels": [shown.mask(level) for level in row["levels"]]}
        for row in told
    ]


def _ranks(shown: Shown, one: Stability) -> Row:
    row: Row = msgspec.json.decode(msgspec.json.encode(asdict(one)))
    for group, drift in zip(row["groups"], one.groups, strict=True):
        group |= {"group": shown.mask(group["group"]), "drift": drift.drift}
    for pair in row["neighbours"]:
        pair |= {"higher": shown.mask(pair["higher"]), "lower": shown.mask(pair["lower"])}
    return row | {"corpora": [shown.mask(c) for c in row["corpora"]]}


# -- on a terminal ----------------------------------------------------------------------------------------------------


def print_measures(console: Console, report: Row, *, explain: bool = False) -> None:
    """Print a report; with `explain` each figure with its formula, its source and the SQL that made it."""
    head(console, report, "Earwitness measures", many(len(report["figures"]), "figure"))
    for (name, sql), rows in groupby(report["figures"], key=lambda r: (r["name"], r["sql"])):
        _print_figures(console, name, list(rows))
        if explain:
            _print_explained(console, name, sql, report)
    _print_significance(console, report["significance"])
    for one in report["stability"]:
        _print_ranks(console, one)
    for row in report["without"]:
        needs = f" (needs {row['needs']})" if row["needs"] else ""
        console.print(f"[dim]no figure: {plain(row['name'] + needs)}[/dim]")
    if not explain and report["figures"]:
        dim(console, "formulas: docs/measures.md; --explain prints the SQL of each")


def _print_figures(console: Console, name: str, rows: list[Row]) -> None:
    cells = list(dict.fromkeys(cell for row in rows for cell in row["group"]))
    mean = rows[0]["kind"] == "mean"
    told = [
        (*(row["group"].get(c) for c in cells), f"{row['k']:,}", f"{row['n']:,}", *_rate(row, mean=mean))
        for row in rows
    ]
    columns = (*cells, "k", "n", "mean" if mean else "%", "95 % interval")
    section(console, f"{name}: {rows[0]['title']}", columns, told, left=len(cells))


def _rate(row: Row, *, mean: bool) -> tuple[str, str]:
    if mean:
        return f"{row['rate']:.3f}", f"[{row['low']:.3f}, {row['high']:.3f}]"
    return percent(row["rate"]), interval(row["low"], row["high"])


def _print_explained(console: Console, name: str, sql: str, report: Row) -> None:
    """Formula, source, and the statement as it is: not wrapped, so that it can be copied."""
    row = next(r for r in report["figures"] if r["name"] == name)
    console.print(f"formula: {plain(row['formula'])}")
    console.print(f"source: {plain(row['source'])}")
    console.print("sql:")
    console.print(plain_lines(sql) + ";\n", markup=False, highlight=False, soft_wrap=True)


def plain_lines(text: str) -> str:
    """Text without control characters but line ends."""
    return "\n".join("".join(c if c.isprintable() else "?" for c in line) for line in text.split("\n"))


def _print_significance(console: Console, rows: list[Row]) -> None:
    pooled = [r for r in rows if not r["group"]]
    told = [
        (r["name"], r["factor"], r["test"], _number(r["statistic"]), r["df"], _p(r["p"]), r["blocks"], r["excluded"])
        for r in pooled
    ]
    columns = ("outcome", "factor", "test", "statistic", "df", "p", "blocks", "incomplete")
    section(console, "Tests over runs paired by scenario", columns, told, left=3)
    for note in dict.fromkeys(f"{r['name']}, {r['factor']}: {r['note']}" for r in pooled if r["note"]):
        console.print(f"[dim]{plain(note)}[/dim]")
    if len(rows) > len(pooled):
        dim(console, f"{len(rows) - len(pooled):,} more for single cells: --json, or table significance")
    elif rows:
        console.print()


def _number(x: float | None) -> str | None:
    return None if x is None else f"{x:.1f}"


def _p(p: float | None) -> str | None:
    return None if p is None else f"{p:.1e}" if p < 0.001 else f"{p:.3f}"


def _print_ranks(console: Console, one: Row) -> None:
    rows = [
        (g["group"], *(None if r is None else percent(r) for r in g["rates"]), _points(g["drift"]))
        for g in one["groups"]
    ]
    columns = ("group", *(f"% in {c}" for c in one["corpora"]), "largest drift, points")
    section(console, f"Ranks by {one['name']}", columns, rows)
    floor = "unknown: no group stands in two corpora" if one["floor"] is None else f"{100 * one['floor']:.2f} points"
    dim(console, f"noise floor: {floor}")
    pairs = [
        (p["higher"], p["lower"], f"{100 * p['gap']:.2f}", p["verdict"], p["inversions"]) for p in one["neighbours"]
    ]
    section(console, "Neighbours", ("higher", "lower", "gap, points", "verdict", "inversions"), pairs, left=2)


def _points(drift: Sequence[float | None]) -> str | None:
    known = [d for d in drift if d is not None]
    return f"{100 * max(known, key=abs):+.2f}" if known else None
