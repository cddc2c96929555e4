"""What could be put together: the table of axes, and the cards auditors get."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.console import Console

from earwitness.audit.decide import in_force
from earwitness.audit.reconstruction.decisions import Tally, tally
from earwitness.reports.printing import head, many, section
from earwitness.reports.shown import Row, Shown
from earwitness.reports.text import interval, percent

_AROUND = 300
_CARDS = """
    SELECT c.item, c.axis, v.attribute, c.fingerprint, v.value_type, v.subject, v.text, t.trace_id, c.trace,
           c.first, a.text, c.first_start, c.first_stop, c.second, b.text, c.second_start, c.second_stop
    FROM candidates c JOIN vault v USING (value) JOIN traces t ON t.trace = c.trace
    JOIN contents a ON a.content = c.first LEFT JOIN contents b ON b.content = c.second
    WHERE c.item IN (SELECT unnest(?::VARCHAR[]))
"""
# Where a text stands: the first event with it, else what somebody was shown.
_STANDS = """
    SELECT kind, s.name, h.line, h.pointer FROM (
        SELECT channel AS kind, source, line, pointer, seq, 0 AS later FROM events WHERE trace = ? AND content = ?
        UNION ALL
        SELECT 'shown', source, line, pointer, seq, 1 FROM sightings WHERE trace = ? AND content = ?) h
    JOIN sources s USING (source) ORDER BY later, seq LIMIT 1
"""
_STALE = """
    SELECT max(run) FILTER (stage = 'decide') > max(run) FILTER (stage = 'reconstruct') FROM runs
"""
_NOT = "Nothing found is no proof of nothing: other methods, texts or runs may tell more."


def reconstruction(shown: Shown) -> Row:
    """The axes in numbers, with what was left out and by which options they were found.

    Raises:
        CaseError: nothing was searched for yet.
    """
    case = shown.case
    axes = [_axis(one) for one in tally(case)]
    options = case.one("SELECT parameters FROM runs WHERE stage = 'reconstruct' ORDER BY run DESC LIMIT 1")
    judged = case.rows("SELECT count(judged), count(*) FROM candidates")[0]
    return shown.stamp("reconstruction") | {
        "default": in_force(case).default,
        "options": msgspec.json.decode(options),
        "axes": axes,
        "judged": int(judged[0]),
        "candidates": int(judged[1]),
        "stale": bool(case.one(_STALE)),
        "unruled": int(case.one("SELECT count(*) FROM rulings WHERE NOT ruled")),
        "unresolved": int(case.one("SELECT count(DISTINCT event) FROM flows WHERE recipient IS NULL")),
        "auditors": [shown.mask(r[0]) for r in case.rows("SELECT DISTINCT auditor FROM audits ORDER BY 1")],
    }


def _axis(one: Tally) -> Row:
    emergent = one.positive - (one.single_source or 0)
    row: Row = {"axis": one.axis, "eligible": one.eligible, "scored": one.scored, "positive": one.positive}
    share = one.single_source / one.positive if one.positive and one.single_source is not None else None
    row |= {"single_source": one.single_source, "single_source_share": share, "to_audit": emergent}
    row |= {"items": one.items, "audited": one.audited, "audited_items": one.audited_items}
    row |= {"confirmed": one.confirmed, "disputed": one.disputed}
    # Of what nobody has looked at no rate is known.
    told = one.audited == emergent and one.interval
    low, high = told or (None, None)
    return row | {"rate": one.confirmed / one.scored if told else None, "low": low, "high": high}


def print_reconstruction(console: Console, report: Row) -> None:
    """Print the table and what limits it."""
    axes = report["axes"]
    total = sum(a["eligible"] for a in axes)
    told = f"{many(total, 'eligible instance')}, {sum(a['confirmed'] for a in axes):,} confirmed"
    head(console, report, "Earwitness reconstruction", told)
    columns = ("axis", "eligible", "positive", "% single", "to audit", "audited", "confirmed", "%", "95 % interval")
    section(console, "By what was put together", columns, [_line(a) for a in axes])
    for note in _notes(report):
        console.print(f"[yellow]note[/yellow] {note}")
    console.print(f"[dim]{_NOT}[/dim]")


def _line(a: Row) -> tuple[str, ...]:
    counts = (f"{a['eligible']:,}", f"{a['positive']:,}", percent(a["single_source_share"]), f"{a['to_audit']:,}")
    reach = "-" if a["low"] is None else interval(a["low"], a["high"])
    return (a["axis"], *counts, f"{a['audited']:,}", f"{a['confirmed']:,}", percent(a["rate"]), reach)


def _notes(report: Row) -> Iterator[str]:
    if report["stale"]:
        yield "the case was audited again since the search; run `earwitness reconstruct find` anew"
    for axis in report["axes"]:
        yield from _open(axis)
    if report["judged"]:
        yield f"a judge scored {report['judged']:,} of {many(report['candidates'], 'candidate')}"
    if report["unruled"]:
        yield f"{many(report['unruled'], 'trace')} without policy: nothing in them is eligible"
    if report["unresolved"]:
        yield f"{many(report['unresolved'], 'event')} without a known recipient: in nobody's view, so never eligible"


def _open(a: Row) -> Iterator[str]:
    """What an axis leaves open."""
    if a["scored"] < a["eligible"]:
        left = a["eligible"] - a["scored"]
        yield f"{a['axis']}: {left:,} of {a['eligible']:,} eligible not scored: the method cannot compare the value"
    if a["audited"] < a["to_audit"]:
        left, items = a["to_audit"] - a["audited"], a["items"] - a["audited_items"]
        yield f"{a['axis']}: {left:,} positives ({many(items, 'item')}) await an auditor, so there is no rate yet"
    if a["disputed"]:
        yield f"{a['axis']}: auditors differ on {many(a['disputed'], 'item')}; they are not counted as confirmed"


def has_findings(report: Row) -> bool:
    """Whether an auditor confirmed anything."""
    return any(a["confirmed"] for a in report["axes"])


def cards(shown: Shown, items: Sequence[str]) -> list[Row]:
    """Candidates as auditors get them, in the given order: passages, and no score."""
    found = {row[0]: row for row in shown.case.rows(_CARDS, [list(items)])}
    return [_card(shown, *found[item]) for item in items]


def _card(shown: Shown, item: str, axis: str, *rest: Any) -> Row:
    attribute, mark, kind, subject, text, trace_id, trace, *texts = rest
    parts = [texts[:4], *([texts[4:]] if texts[4] is not None else [])]
    value = shown.value(attribute, mark, kind, subject, text)
    row: Row = {"item": item, "axis": axis, "trace": shown.mask(trace_id)} | value
    if shown.revealed:
        row["revealed"] = True
    row["passages"] = [_passage(shown, trace, *part) for part in parts]
    return row | {"decision": None, "reason": None}


def _passage(shown: Shown, trace: int, content: Any, text: str, start: int, stop: int) -> Row:
    low, high = max(0, start - _AROUND), stop + _AROUND
    cut = ("... " if low else "") + text[low:high] + (" ..." if high < len(text) else "")
    found = shown.case.rows(_STANDS, [trace, content, trace, content])
    kind, source, line, pointer = found[0] if found else ("shown", None, None, None)
    place = {"source": shown.name(source), "line": line, "pointer": shown.name(pointer)}
    return {"channel": kind, "excerpt": shown.mask(cut)} | place
