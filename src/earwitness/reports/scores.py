"""Evaluations and calibrations on a terminal, and masked for JSON."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table

from earwitness.reports.mask import Mask
from earwitness.reports.text import interval, percent, plain
from earwitness.schema.case import Case

_PLACES = ("trace", "event", "attribute", "source", "pointer")


def masked(case: Case, result: dict[str, Any]) -> dict[str, Any]:
    """An evaluation with every string that comes from a trace masked."""
    mask = Mask(case)
    out = dict(result)
    for name in ("misses", "analyzer_only"):
        out[name] = [row | {k: mask(row[k]) for k in _PLACES if row[k]} for row in result[name]]
    out["cells"] = [row | {"group": mask(row["group"])} for row in result["cells"]]
    return out


def print_evaluation(console: Console, result: dict[str, Any], misses: int) -> None:
    """Totals, cells, agreement by form, and where what was missed stands."""
    console.print(
        f"[bold]Detection against labels[/bold] ({result['against']}): {result['pairs']:,} pairs, "
        f"{result['leaked']:,} labelled as leaked"
    )
    if result["unplaced_lines"]:
        lines = ", ".join(map(str, result["unplaced_lines"][:10]))
        console.print(f"[yellow]note[/yellow] {len(result['unplaced_lines']):,} lines name no event here: {lines} ...")
    rows = [("all", "", result["confirmed"], result["with_possible"])]
    # Attributes are many; the JSON object has them.
    cells = [c for c in result["cells"] if c["cell"] != "attribute"]
    rows += [(c["cell"], c["group"], c["confirmed"], c["with_possible"]) for c in cells]
    for title, which in (("Confirmed findings", 2), ("Confirmed and possible findings", 3)):
        console.print(f"\n[bold]{title}[/bold]")
        console.print(_scores((cell, group, (first, second)[which - 2]) for cell, group, first, second in rows))
    console.print("[dim]recall of a tier or form is the share of all leaks found so; other rows: of their own[/dim]\n")
    _print_agreement(console, result["agreement"])
    _print_misses(console, result["misses"], misses)


def _table(*columns: str, left: int = 1) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for n, name in enumerate(columns):
        table.add_column(name, justify="left" if n < left else "right", overflow="fold")
    return table


def _scores(rows: Iterable[tuple[str, str, dict[str, Any]]]) -> Table:
    table = _table("by", "group", "TP", "FP", "FN", "rec. %", "95 %", "prec. %", "95 %", left=2)
    table.padding = (0, 1, 0, 0)
    for column in table.columns[1:]:
        column.no_wrap = True
    for cell, group, s in rows:
        counts = [f"{s[k]:,}" if s[k] is not None else "-" for k in ("tp", "fp", "fn")]
        table.add_row(cell, plain(group), *counts, *_share(s["recall"]), *_share(s["precision"]))
    return table


def _share(share: dict[str, Any] | None) -> tuple[str, str]:
    return (percent(share["rate"]), interval(share["low"], share["high"])) if share else ("-", "")


def _print_agreement(console: Console, rows: list[dict[str, Any]]) -> None:
    table = _table("form", "agree", "label only", "analyzer only")
    names = ("agree", "label_only", "analyzer_only")
    for row in rows:
        table.add_row(plain(row["form"] or "not found"), *(f"{row[n]:,}" for n in names))
    table.add_row("all", *(f"{sum(row[n] for row in rows):,}" for n in names))
    console.print("[bold]Agreement (confirmed findings)[/bold]")
    console.print(table)


def _print_misses(console: Console, rows: list[dict[str, Any]], limit: int) -> None:
    if not rows or not limit:
        return
    console.print(f"\n[bold]Missed: {len(rows):,} ({min(limit, len(rows))} shown)[/bold]")
    table = _table("value", "channel", "found as", "at", left=4)
    for row in rows[:limit]:
        at = f"{row['source'] or '?'}:{row['line'] or '?'}{row['pointer'] or ''}"
        value = f"{row['attribute']} #{(row['fingerprint'] or '?')[:8]}"
        found = f"possible, {row['form']}" if row["standing"] else "nothing"
        table.add_row(plain(value), row["channel"], plain(found), plain(at))
    console.print(table)


def print_calibration(console: Console, result: dict[str, Any], fragment: str) -> None:
    """The sweep, the choice, choices by type and channel, strata, and the lines for a policy."""
    console.print(f"[bold]Calibration[/bold] on {result['n']:,} labels, {result['leaked']:,} of them leaks")
    table = _table("threshold", "TP", "FP", "FN", "TN", "FPR", "FNR", "accuracy", "precision", "recall", "F1")
    for row in result["rows"]:
        table.add_row(*_row(row))
    console.print(table)
    best = result["choice"]
    if best is None:
        console.print(f"no threshold finds anything with FPR < {result['max_fpr']:g}\n")
    else:
        console.print(
            f"best: {best['threshold']:g}, standing for {best['low']:g} to {best['high']:g} "
            f"(F1 {best['f1']:.4f}, FPR below {result['max_fpr']:g})\n"
        )
    for title in ("value_types", "channels"):
        _print_choices(console, title.replace("_", " "), result[title])
    _print_strata(console, result)
    console.print("[bold]For a policy[/bold]")
    console.print(fragment, markup=False, highlight=False)


def _row(row: dict[str, Any]) -> list[str]:
    low, high = f"{row['low']:g}", f"{row['high']:g}"
    counts = [f"{row[k]:,}" for k in ("tp", "fp", "fn", "tn")]
    rates = [_rate(row[k]) for k in ("fpr", "fnr", "accuracy", "precision", "recall")]
    return [low if low == high else f"{low} to {high}", *counts, *rates, f"{row['f1']:.4f}"]


def _rate(share: dict[str, Any] | None) -> str:
    return f"{share['rate']:.4f}" if share else "-"


def _print_choices(console: Console, title: str, cells: dict[str, Any]) -> None:
    table = _table(title, "labels", "leaks", "best", "interval", "F1")
    for name, cell in cells.items():
        best = cell["choice"]
        told = (f"{best['threshold']:g}", f"{best['low']:g} to {best['high']:g}", f"{best['f1']:.4f}") if best else ()
        table.add_row(plain(name), f"{cell['n']:,}", f"{cell['leaked']:,}", *(told or ("-", "", "")))
    console.print(table)
    console.print()


def _print_strata(console: Console, result: dict[str, Any]) -> None:
    table = _table("stratum", "labels", "leaks", "precision %", "recall %", "FPR %")
    for name, cell in result["strata"].items():
        rates = [
            percent(s["rate"]) if (s := (cell["at"] or {}).get(k)) else "-" for k in ("precision", "recall", "fpr")
        ]
        table.add_row(name, f"{cell['n']:,}", f"{cell['leaked']:,}", *rates)
    console.print(table)
    told = result["agreement"]
    if told:
        console.print(
            f"label against detector: {told['agree']:,} of {told['n']:,} alike, kappa {kappa(told['kappa'])}\n"
        )


def kappa(value: float | None) -> str:
    """A kappa as printed."""
    return "undefined" if value is None else f"{value:.3f}"
