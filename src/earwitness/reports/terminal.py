"""The audit on a terminal, readable at 100 columns."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from earwitness.reports.linked import sentence
from earwitness.reports.text import interval, natural, percent, plain
from earwitness.schema.words import CHANNEL_TITLES

# Which measures stand in which table, and what the table is called.
_TABLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Leakage by channel", ("channel_leakage", "channel_leakage_verifiable")),
    ("Leakage by run", ("any_leakage", "any_leakage_verifiable", "audit_gap", "audit_gap_verifiable")),
    ("Recipients", ("surface_leakage", "new_agent_disclosure", "unauthorised_propagation")),
    ("Routes to introduced recipients", ("route", "route_exposure", "exposure_route")),
    ("Events", ("event_leakage", "field_disclosure", "raw_leakage", "filtered_leakage", "value_fidelity")),
)
_MANY, _FEW = 12, 8
_TITLES: dict[str, str] = dict(CHANNEL_TITLES.items())


def print_audit(console: Console, report: dict[str, Any]) -> None:
    """Print a report object (`earwitness.reports.summary.summary`)."""
    _head(console, report)
    for title, names in _TABLES:
        _measures(console, title, [m for name in names for m in _rows(report["measures"], name)])
    _coverage(console, report["coverage"])
    _detection(console, report["detection"])
    _exposures(console, report)
    _findings(console, report["findings"])
    _values(console, report["values"], revealed="revealed" in report)
    if report["replay"]:
        _replay(console, report["replay"])
    if "labels" in report:
        _labels(console, report["labels"])
    _notes(console, report["notes"])


def _rows(measures: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Figures of a measure, `P2P-4` before `P2P-10`; without those over what is verifiable that say the same again."""
    base = name.removesuffix("_verifiable")
    said = [(m["group"], m["k"], m["n"]) for m in measures if m["name"] == base != name]
    kept = [m for m in measures if m["name"] == name and (m["group"], m["k"], m["n"]) not in said]
    return sorted(kept, key=lambda m: [natural(str(v)) for v in m["group"].values()])


def _head(console: Console, report: dict[str, Any]) -> None:
    records = sum(report["records"].values())
    console.print(
        f"[bold]Earwitness audit[/bold]  {_many(report['sources'], 'file')}, {_many(records, 'record')}, "
        f"{_many(report['traces'], 'trace')}, {_many(report['events'], 'event')}, "
        f"{_many(report['sightings'], 'sighting')}"
    )
    if "revealed" in report:
        console.print("[bold red]REVEALED: protected values are shown in clear; do not pass this output on[/bold red]")
    policy = report["policy"]
    given = f"policy file {policy['sha256'][:12]}" if policy["sha256"] else "no policy file"
    console.print(
        f"rules: {report['rules']}; {given}; {policy['rules_from_file']:,} rules from the file, "
        f"{policy['rules_from_traces']:,} from the traces\n"
    )
    if linked := sentence(report["links"]):
        console.print(f"trace ids {linked}\n")


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for n, column in enumerate(columns):
        table.add_column(column, justify="left" if n < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _measures(console: Console, title: str, measures: list[dict[str, Any]]) -> None:
    if not measures:
        return
    rows = [
        (m["name"], _group(m["group"]), f"{m['k']:,}", f"{m['n']:,}", percent(m["rate"]), interval(m["low"], m["high"]))
        for m in measures
    ]
    console.print(f"[bold]{title}[/bold]")
    console.print(_table(("measure", "group", "k", "n", "%", "95 % interval"), rows, left=2))
    console.print()


def _group(group: dict[str, str]) -> str:
    return plain(" ".join(group.values())) or "all"


def _verdicts(counts: dict[str, int]) -> tuple[str, str, str]:
    return f"{counts['leak']:,}", f"{counts['clean']:,}", f"{counts['unverifiable']:,}"


def _coverage(console: Console, coverage: dict[str, Any]) -> None:
    rows = [(channel, _TITLES[channel], *_verdicts(n)) for channel, n in coverage["channels"].items()]
    rows += [(f"traces: {plain(a['arm'])}" if a["arm"] else "traces", "", *_verdicts(a)) for a in coverage["arms"]]
    console.print("[bold]Coverage (traces)[/bold]")
    console.print(_table(("", "", "leak", "clean", "unverifiable"), rows, left=2))
    reasons: dict[str, list[str]] = {}
    for r in coverage["reasons"]:
        reasons.setdefault(r["reason"] or "", []).append(f"{r['channel']} {r['traces']:,}")
    for reason, cells in reasons.items():
        console.print(f"[dim]unverifiable, {plain(reason)}: {', '.join(cells)}[/dim]")
    console.print()


def _detection(console: Console, found: dict[str, Any]) -> None:
    """Which tiers looked at how much, and in which forms they found values."""
    rows = [
        (
            t["tier"],
            "yes" if t["ran"] else "NO" if t["asked"] else "not asked",
            percent(t["share"]) if t["ran"] else "-",
            f"{t['matches']:,}",
            f"{t['seconds']:.1f}",
        )
        for t in found["tiers"]
    ]
    title = "Detection" + (" (DEGRADED: a tier that was asked for did not run)" if found["degraded"] else "")
    console.print(f"[bold]{title}[/bold]")
    console.print(_table(("tier", "ran", "% of contents", "matches", "s"), rows, left=2))
    for tier in found["tiers"]:
        if tier["note"]:
            console.print(f"[dim]{tier['tier']}: {plain(tier['note'])}[/dim]")
    forms = ", ".join(f"{plain(f['form'])} {f['confirmed'] + f['possible']:,}" for f in found["forms"][:_MANY])
    if forms:
        console.print(f"[dim]forms: {forms}[/dim]")
    console.print()


_WORDS = {True: "authorised", False: "UNAUTHORISED", None: "unruled"}


def _exposures(console: Console, report: dict[str, Any]) -> None:
    shown = report["exposures"][:_MANY]
    if not shown:
        return
    rows = [
        (
            plain(x["attribute"]),
            plain(x["recipient_kind"] or "-"),
            x["position"],
            x["route"] or "-",
            "-" if x["distance"] is None else str(x["distance"]),
            _WORDS[x["authorised"]],
            f"{x['n']:,}",
        )
        for x in shown
    ]
    totals = report["exposure_totals"]
    title = (
        f"Exposures: {totals['total']:,}, of which {totals['unauthorised']:,} unauthorised, "
        f"{totals['unruled']:,} unruled ({len(shown)} of {len(report['exposures'])} groups shown)"
    )
    columns = ("attribute", "recipient", "position", "route", "hops", "verdict", "n")
    console.print(f"[bold]{title}[/bold]")
    console.print(_table(columns, rows, left=4))
    console.print()


def _findings(console: Console, findings: list[dict[str, Any]]) -> None:
    """One example of each of the worst patterns, with the way it went and where it stands."""
    rows = [
        (
            plain(f"{f['attribute']} #{f['fingerprint'][:8]}"),
            plain(_way(f)),
            plain(f["rule"] or "-"),
            plain(f"{Path(f['source']).name}:{f['line']}{f['pointer'] or ''}"),
        )
        for f in findings[:_FEW]
    ]
    if rows:
        console.print(f"[bold]Findings ({len(rows)} examples; the page and the case hold all)[/bold]")
        console.print(_table(("value", "way", "decided by", "disclosed at"), rows, left=4))
        console.print()


def _way(finding: dict[str, Any]) -> str:
    """`coordinator > lead (C2) > worker (C2)`."""
    hops = finding["way"]
    if not hops:
        return f"{finding['recipient'] or 'nobody named'} ({finding['channel']})"
    return " > ".join([hops[0]["sender"] or "?", *(f"{h['recipient']} ({h['channel']})" for h in hops)])


def _values(console: Console, values: list[dict[str, Any]], *, revealed: bool) -> None:
    shown = [v for v in values if v["events"]][:_MANY]
    rows = [
        (
            plain(f"{v['attribute']} #{v['fingerprint'][:8]}"),
            plain(v.get("text", v["value_type"])),
            " ".join(f"{c}:{n}" for c, n in v["events"].items()),
            f"{v['sightings']:,}",
            f"{v['recipients']:,}",
            f"{v['unauthorised']:,}",
        )
        for v in shown
    ]
    if rows:
        title = f"Values ({len(rows)} of {len(values):,} seen)"
        console.print(f"[bold]{title}[/bold]")
        console.print(
            _table(
                ("value", "IN CLEAR" if revealed else "type", "events", "copies", "recipients", "unauthorised"),
                rows,
                left=3,
            )
        )
        console.print()


def _labels(console: Console, labels: dict[str, int]) -> None:
    console.print(
        f"Labels in the files: {labels['agree']:,} agree, {labels['label_only']:,} only the label, "
        f"{labels['analyzer_only']:,} only the analyzer; "
        f"{labels['events_equal']:,} of {labels['events']:,} events equal\n"
    )


_BESIDE = ("blanket", "none")


def _replay(console: Console, told: dict[str, Any]) -> None:
    """The default condition, blanket and none, in the first setting: the rest is told by `earwitness replay`."""
    figures = {(f["condition"], f["measure"]): f for f in told["figures"] if _first(f, told["figures"][0]["setting"])}
    names = [n for n in dict.fromkeys((told["default"], *_BESIDE)) if (n, "residual") in figures]
    rows = [
        (plain(n), *(cell for m in ("residual", "correct_allow") for cell in _share(figures.get((n, m)))))
        for n in names
    ]
    state = "STALE: " + "; ".join(told["stale"]) if told["stale"] else f"replayed {told['finished_at'][:16]}Z"
    setting = f", {told['figures'][0]['setting']} setting" if rows else ""
    console.print(f"[bold]Replayed sanitizers{setting}[/bold]  {plain(state)}")
    columns = ("condition", "residual %", "95 % interval", "correct-allow %", "95 % interval")
    console.print(_table(columns, rows) if rows else "nothing was counted: no policy rules an occurrence")
    console.print("[dim]all conditions, and why it remains: the page, or earwitness replay CASE[/dim]\n")


def _first(figure: dict[str, Any], setting: str) -> bool:
    return not figure["group"] and (figure["setting"], figure["mode"]) == (setting, "independent")


def _share(figure: dict[str, Any] | None) -> tuple[str, str]:
    return ("-", "-") if figure is None else (percent(figure["rate"]), interval(figure["low"], figure["high"]))


def _notes(console: Console, notes: list[str]) -> None:
    for note in notes:
        console.print(f"[yellow]note[/yellow] {plain(note)}")
