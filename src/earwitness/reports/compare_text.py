"""A comparison on a terminal."""

from collections.abc import Callable, Sequence

from rich.console import Console

from earwitness.reports.compare_words import measure_name, told, way
from earwitness.reports.printing import REVEALED, dim, many, section, value, where
from earwitness.reports.shown import Row
from earwitness.reports.text import plain

_P_LEAST = 0.001


def print_compare(console: Console, report: Row, limit: int = 20) -> None:
    """Print `earwitness.reports.compare.compare`; of the exposures that differ `limit` for each comparison."""
    by = f"by {report['by']}" if report["by"] else ""
    console.print(f"[bold]Earwitness compare[/bold]  {plain(by)}")
    if "revealed" in report:
        console.print(f"[bold red]{REVEALED}[/bold red]")
    console.print()
    _sides(console, report)
    _totals(console, report)
    for one in report["comparisons"]:
        _comparison(console, one, limit, brief=len(report["comparisons"]) > 1)
    _baseline(console, report["baseline"])
    for note in report["notes"]:
        console.print(f"[yellow]note[/yellow] {plain(note)}")


def _sides(console: Console, report: Row) -> None:
    rows = [
        (s["name"], s["rules"], (s["policy_sha256"] or "-")[:12], s["runs"], s["judged"], s["unauthorised"])
        for s in report["sides"]
    ]
    columns = ("side", "rules", "policy", "runs", "judged", "unauthorised exposures")
    section(console, "Sides", columns, rows, left=3)


def _totals(console: Console, report: Row) -> None:
    """A table of groups, with Cochran's test beside."""
    tests = {measure_name(t): t for t in report["tests"]}
    rows = []
    for row in report["totals"]:
        rates = ["-" if s is None else f"{100 * s['rate']:.1f}" for s in row["sides"]]
        test = tests.get(measure_name(row))
        known = test is not None and test["q"] is not None
        said = (f"{test['q']:.1f}", _p(test["p"]), f"{test['n']:,}") if test and known else ("-", "-", "-")
        if any(s and s["k"] for s in row["sides"]):
            rows.append((measure_name(row), *rates, *said))
    names = [f"{n}" for n in range(1, len(report["sides"]) + 1)]
    section(console, "% of each group (1, 2, ... as above), Cochran's Q over complete blocks",
            ("measure", *names, "Q", "p", "blocks"), rows)  # fmt: skip


def _p(p: float | None) -> str:
    return "-" if p is None else "<0.001" if p < _P_LEAST else f"{p:.3f}"


def _comparison(console: Console, one: Row, limit: int, *, brief: bool) -> None:
    number = one["exposures"]["counts"]
    counted = ", ".join(f"{n:,} {status}" for status, n in number.items())
    names = f"{plain(one['left'])} -> {plain(one['right'])}"
    console.print(f"[bold]{names}[/bold]  {many(one['pairs'], 'pair')}; unauthorised exposures: {counted}\n")
    for column, sides in one["differs"].items():
        dim(console, f"{column}: {' against '.join(', '.join(str(v) for v in side[:3]) for side in sides)}")
    _measures(console, [m for m in one["measures"] if not brief or told(m)])
    if not brief:
        _exposures(console, one, limit)
    _verdicts(console, one["verdicts"], limit)


def _measures(console: Console, measures: Sequence[Row]) -> None:
    rows = [
        (
            measure_name(m),
            f"{m['left']['k']:,}/{m['left']['n']:,}",
            f"{m['right']['k']:,}/{m['right']['n']:,}",
            f"{100 * m['difference']:+.2f}",
            f"[{100 * m['low']:.2f}, {100 * m['high']:.2f}]",
            m["method"],
            _p(m["p"]),
        )
        for m in measures
        if m["left"]["k"] or m["right"]["k"]
    ]
    columns = ("measure", "left", "right", "points", "95 % interval", "method", "p")
    section(console, "Differences, right minus left (p: McNemar)", columns, rows)
    for m in [m for m in measures if m["worse"]][:5]:
        console.print(f"[red]worse[/red] {plain(m['sentence'])}")
    console.print()


def _exposures(console: Console, one: Row, limit: int) -> None:
    def table(title: str, rows: Sequence[Row], more: Callable[[Row], str]) -> None:
        cells = [
            (r["scenario"], value(r), r["recipient"] or "(nobody named)", way(r), more(r), where(r["at"]))
            for r in rows[:limit]
        ]
        columns = ("run", "value", "learned by", "way", "", "at")
        section(console, f"{title} ({len(cells):,} of {len(rows):,})", columns, cells, left=6)

    rows = [r for r in one["exposures"]["rows"] if r["suppressed"] is None]
    for status in ("new", "moved", "gone"):
        found = [r for r in rows if r["status"] == status]
        table(f"Exposures that are {status}", found, lambda r: _remark(r))
    hidden = [r for r in one["exposures"]["rows"] if r["suppressed"] is not None]
    table("Suppressed: accepted by the baseline", hidden, lambda r: r["suppressed"].get("reason") or "")


def _remark(row: Row) -> str:
    if row["lapsed"]:
        return f"accepted until {row['lapsed']['expires']}"
    return f"was {row['was']}" if row["was"] not in (None, "absent") else ""


def _verdicts(console: Console, verdicts: Row | None, limit: int) -> None:
    if verdicts is None:
        return
    rows = [
        (r["left_verdict"], r["left_rule"], r["right_verdict"], r["right_rule"], f"{r['n']:,}")
        for r in verdicts["rules"][:limit]
    ]
    told_ = f"{verdicts['changed']:,} changed, {verdicts['unchanged']:,} the same"
    title = f"Verdicts on the same recordings: {told_} (- where a side does not find the value)"
    section(console, title, ("left", "by rule", "right", "by rule", "occurrences"), rows, left=4)


def _baseline(console: Console, baseline: Row | None) -> None:
    if baseline is None:
        return
    entries = many(baseline["entries"], "entry").replace("entrys", "entries")
    stale, expired = len(baseline["stale"]), len(baseline["expired"])
    dim(console, f"baseline {baseline['file']}: {entries}, {stale:,} stale, {expired:,} expired")
    for word in ("stale", "expired"):
        rows = [
            (e["attribute"], e.get("recipient") or "(nobody named)", e["channel"], e.get("reason"), e.get("expires"))
            for e in baseline[word][:10]
        ]
        section(
            console, f"Entries that are {word}", ("attribute", "recipient", "channel", "reason", "expires"), rows, 5
        )
