"""A dossier on a terminal."""

from typing import Any

from rich.console import Console

from earwitness.reports.printing import dim, head, many, section, when, where

_FEW = 10


def print_dossier(console: Console, report: dict[str, Any], limit: int = _FEW) -> None:
    """Print `earwitness.reports.dossier.dossier`; of the traces `limit`, those with unauthorised holders first."""
    named, totals = report["value"], report["totals"]
    kinds = ", ".join([*named["value_types"], *(f"subject {s}" for s in named["subjects"])])
    names = f"{', '.join(named['attributes'])} #{named['fingerprint'][:8]}"
    head(console, report, "Earwitness dossier", f"{names}  {kinds}")
    if "text" in named:
        section(console, "In clear", ("value",), [(named["text"],)])
    section(console, "Summary", ("", ""), _summary(report), left=2)
    _holders(console, report["holders"])
    traces = sorted(report["traces"], key=lambda t: -_bad(t))
    for trace in traces[:limit]:
        _trace(console, trace)
    if len(traces) > limit:
        dim(console, f"{limit} of {totals['traces']:,} traces shown; --limit shows more, --json all")


def _bad(trace: dict[str, Any]) -> int:
    rows = [*trace["holders"], *trace["nobody_named"]]
    return sum(row["verdict"] == "unauthorised" for row in rows)


def _summary(report: dict[str, Any]) -> list[tuple[str, str]]:
    t, first, last = report["totals"], report["first_seen"], report["last_disclosure"]
    holdings = f"{t['unauthorised']:,} unauthorised, {t['authorised']:,} authorised, {t['unruled']:,} unruled"
    rows = [
        ("seen in", f"{many(t['traces'], 'trace')}, {many(t['events'], 'event')}, copied {t['copies']:,} times"),
        ("held by", f"{many(t['holders'], 'party')}, {many(t['holdings'], 'holding')}".replace("partys", "parties")),
        ("verdicts", f"{holdings}, {t['not_judged']:,} not judged (had it before anyone told them)"),
    ]
    if t["nobody_named"]:
        rows.append(("nobody named", f"{many(t['nobody_named'], 'disclosure')} to recipients the record does not name"))
    if t["possible"]:
        rows.append(("possible", f"{many(t['possible'], 'occurrence')} that may be it; not counted here"))
    if first:
        by = f"{first['holder'] or 'somebody'} ({first['how']})"
        rows.append(("first seen", f"{when(first['at'])} in {first['trace_id']}, {by}, {where(first['at'])}"))
    if last:
        rows.append(("last disclosed", f"{when(last['at'])} in {last['trace_id']}, {where(last['at'])}"))
    forms = (f"{f['form']} {f['events']:,}" + ("" if f["standing"] == "confirmed" else "?") for f in report["forms"])
    return [*rows, ("forms", ", ".join(forms) or "-")]


def _holders(console: Console, rows: list[dict[str, Any]]) -> None:
    told = [
        (
            h["holder"],
            h["kind"],
            h["position"],
            ", ".join(f"{how} {n:,}" for how, n in h["how"].items()),
            where(h["example"]["at"]),
            f"{h['traces']:,}",
            f"{h['verdicts'].get('unauthorised', 0):,}",
        )
        for h in rows[:20]
    ]
    title = f"Holders over all traces ({len(told)} of {len(rows):,})"
    columns = ("holder", "kind", "position", "how it came", "example", "traces", "unauthorised")
    section(console, title, columns, told, left=5)


def _trace(console: Console, trace: dict[str, Any]) -> None:
    rows = [
        (
            h["holder"],
            _clock(h["since"], trace),
            _how(h),
            _loud(h["verdict"]),
            h["rule"],
            where(h["since"]),
        )
        for h in trace["holders"]
    ]
    for n in trace["nobody_named"]:
        how = _how(n | {"how": "sent", "grade": None})
        rows.append(("(nobody named)", _clock(n["at"], trace), how, _loud(n["verdict"]), n["rule"], where(n["at"])))
    columns = ("holder", "knows since", "how it came", "verdict", "decided by", "at")
    section(console, f"{trace['trace_id']}  {_windows(trace)}", columns, rows, left=6)


def _clock(at: dict[str, Any], trace: dict[str, Any]) -> str:
    """The moment; without the day, where that is the day of the window above."""
    window, moment = trace["window"], when(at)
    same = window and at["time"] and window["first"]["time"] and moment[:10] == when(window["first"])[:10]
    return moment[11:] if same else moment


def _loud(verdict: str) -> str:
    return verdict.upper() if verdict == "unauthorised" else verdict


def _how(holder: dict[str, Any]) -> str:
    """`message from coordinator (declared)`."""
    source = f" from {holder['sender']}" if holder["sender"] else ""
    return f"{holder['how']}{source}" + (f" ({holder['grade']})" if holder["grade"] else "")


def _windows(trace: dict[str, Any]) -> str:
    """How long it went on."""
    told, bad = trace["window"], trace["unauthorised_window"]
    if not told:
        return "given, never sent"
    text = f"disclosed by {many(told['events'], 'event')}, {_span(told)}"
    return text + (f"; without leave by {bad['events']:,}, {_span(bad)}" if bad else "")


def _span(window: dict[str, Any]) -> str:
    first, last, seconds = window["first"], window["last"], window["seconds"]
    begin, end = when(first), when(last)
    if window["events"] == 1:
        return f"at {begin}"
    if first["time"] and last["time"] and begin[:10] == end[:10]:
        end = end[11:]
    return f"{begin} to {end}" + (f" ({seconds:,.0f} s)" if seconds is not None else "")
