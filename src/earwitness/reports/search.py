"""Single changes of a replayed condition, ranked by what they would remove."""

from typing import Any

from rich.console import Console

from earwitness.reports.printing import dim, head, section
from earwitness.reports.shown import Shown
from earwitness.reports.text import interval, percent

Row = dict[str, Any]


def search_report(shown: Shown, found: Row, condition: str, setting: str, limit: int) -> Row:
    """What `audit.replay.search.search` found, as one object; `docs/policy-search.md` describes it."""
    changes = [c | {"cell": shown.name(c["cell"]) if c["by"] else None} for c in found["changes"]]
    report = shown.stamp("replay-search") | {"condition": shown.mask(condition), "setting": setting}
    return report | found | {"changes": changes[:limit], "left_out": max(0, len(changes) - limit)}


def print_search(console: Console, report: Row) -> None:
    """The table of changes at 100 columns."""
    residual, allowed = report["residual"], report["correct_allow"]
    rest = f"{report['condition']}, {report['setting']}: {residual['k']:,} of {residual['n']:,} remain"
    head(console, report, "single changes", f"{rest}; correct-allow {allowed['k']:,} of {allowed['n']:,}")
    columns = ("change", "removed", "share", "residual %", "95 %", "allowed lost")
    section(console, "what each would remove", columns, [_line(c) for c in report["changes"]])
    if not report["changes"]:
        dim(console, "no single change that was tried changes what remains")
    if report["left_out"]:
        dim(console, f"{report['left_out']:,} more: raise --limit")
    dim(
        console,
        "Judged again from what is stored; a transform is taken to leave nothing. Lost: authorised disclosures.",
    )


def _line(change: Row) -> tuple[Any, ...]:
    after = change["residual"]
    where = f", {change['by']} {change['cell'] or '-'}" if change["by"] else ""
    share = "-" if change["share"] is None else percent(change["share"])
    rate = ("-", "-") if after["rate"] is None else (percent(after["rate"]), interval(after["low"], after["high"]))
    words = f"{change['family']}: {change['change']}{where}"
    return words, f"{change['net_removed']:,}", share, *rate, f"{change['net_lost']:,}"
