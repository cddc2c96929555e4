"""Guard sets and what they stop, and what would have been without an edge, an actor or a channel."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from rich.console import Console

from earwitness.graph.guards import Curve, Guard, GuardSet, Place, cuts, frontier, greedy
from earwitness.graph.whatif import UNNAMED
from earwitness.reports.printing import dim, head, many, section, unruled, where
from earwitness.reports.shown import Row, Shown

# Every delivery that carried a value, by sender and recipient: the first that was not allowed, else the first.
_CARRIED = """
    SELECT v.trace, coalesce(f.sender, ?) AS sender, v.recipient,
           arg_min(v.event, (v.dynamic <> 'sanitize', f.seq, v.event)),
           arg_min(v.value, (v.dynamic <> 'sanitize', f.seq, v.event)),
           bool_or(v.dynamic = 'sanitize')
    FROM verdicts v JOIN flows f ON f.event = v.event AND f.recipient = v.recipient
    WHERE v.standing = 'confirmed' {chosen} GROUP BY v.trace, f.sender, v.recipient
    ORDER BY v.trace, min(f.seq), v.recipient
"""
_Key = tuple[int | None, str, str | None]
_Places = dict[_Key, Row]


def guards(
    shown: Shown,
    place: Place = "edge",
    *,
    trace: int | None = None,
    fewest: bool = False,
    stages: int = 10,
    limit: int | None = None,
) -> Row:
    """Where guards would have stopped all unauthorised exposures, and how much the best of them stop.

    Args:
        shown: an audited case and what may be shown of it.
        place: guards stand on an `edge`, or at an `actor` over all it sends.
        trace: number of one trace; None for all.
        fewest: also find the smallest sets, which may stop what is allowed; trace by trace, which takes time.
        stages: guards of the curve.
        limit: give the sets of so many traces, those with most exposures first; None for all.
    """
    chosen = None if trace is None else [trace]
    every, curve = frontier(shown.case, place, chosen), greedy(shown.case, place, stages, chosen)
    sets, smallest = _most(every, limit), _most(cuts(shown.case, place, chosen), limit) if fewest else None
    found = _places(shown, trace, {*_keys(every, overall=True), *_keys([*sets, *(smallest or ())], overall=False)})
    report = shown.stamp("guards") | {"place": place, "curve": _curve(shown, curve, found)}
    report |= {"guards": _overall(shown, every, found), "traces": len(every), "sets": _sets(shown, sets, found)}
    report |= {"unruled": shown.unruled(), "fewest": None if smallest is None else _sets(shown, smallest, found)}
    return report | {"case": str(shown.case.path) if shown.case.path else None}


def _most(sets: Sequence[GuardSet], limit: int | None) -> list[GuardSet]:
    return sorted(sets, key=lambda s: (-s.exposures, s.trace))[:limit]


def _keys(sets: Iterable[GuardSet], *, overall: bool) -> Iterator[_Key]:
    """Guards whose place is asked for."""
    yield from ((None if overall else one.trace, guard.sender, guard.recipient) for one in sets for guard in one.guards)


def _places(shown: Shown, trace: int | None, wanted: set[_Key]) -> _Places:
    """Where each guard would have had something to stop: by trace (None: any), sender and recipient (None: any)."""
    chosen = "" if trace is None else "AND v.trace = ?"
    rows = shown.case.rows(_CARRIED.format(chosen=chosen), [UNNAMED, *([] if trace is None else [trace])])
    at: dict[_Key, tuple[int, int, int]] = {}
    # Deliveries that were not allowed come first, over all traces.
    for number, sender, recipient, event, value, _ in sorted(rows, key=lambda row: not row[5]):
        for key in product((number, None), (sender,), (recipient, None)):
            if key in wanted:
                at.setdefault(key, (number, event, value))
    places = shown.places((event, value) for _, event, value in at.values())
    ids = shown.traces(number for number, *_ in at.values())
    return {key: {"trace_id": ids[n], "at": places[event, value]} for key, (n, event, value) in at.items()}


def _guard(shown: Shown, guard: Guard, found: _Places, trace: int | None = None) -> Row:
    ends = {"sender": shown.mask(guard.sender), "recipient": shown.name(guard.recipient)}
    return ends | {"example": found.get((trace, guard.sender, guard.recipient))}


def _curve(shown: Shown, curve: Curve, found: _Places) -> Row:
    """How much the best guards stop, one after the other."""
    stages = [
        {"k": k, "guard": _guard(shown, stage.guard, found), "stopped": stage.stopped, "remaining": stage.remaining}
        | {"share": 1 - stage.remaining / curve.exposures}
        for k, stage in enumerate(curve.stages, 1)
    ]
    return {"exposures": curve.exposures, "needed": curve.needed, "stages": stages}


def _overall(shown: Shown, sets: Sequence[GuardSet], found: _Places) -> list[Row]:
    """Guards by name, over all traces."""
    counts: dict[Guard, int] = {}
    for guard in (guard for one in sets for guard in one.guards):
        counts[guard] = counts.get(guard, 0) + 1
    order = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
    return [_guard(shown, guard, found) | {"traces": n} for guard, n in order]


def _sets(shown: Shown, sets: Sequence[GuardSet], found: _Places) -> list[Row]:
    ids = shown.traces(one.trace for one in sets)
    return [
        {"trace": one.trace, "trace_id": ids[one.trace], "exposures": one.exposures}
        | {"guards": [_guard(shown, guard, found, one.trace) for guard in one.guards]}
        | {"least": one.least, "exact": one.exact, "lost": one.lost}
        for one in sets
    ]


def print_guards(console: Console, report: Row, limit: int = 20) -> None:
    """Print the curve, the guards over all traces, `limit` of them, and the sets that were asked for."""
    curve, stands = report["curve"], {"edge": "on edges", "actor": "at actors"}[report["place"]]
    told = f"{many(curve['exposures'], 'unauthorised exposure')}; "
    told += f"{many(curve['needed'], 'guard')} {stands} to stop them all"
    head(console, report, "Earwitness guards", told)
    rows = [
        (f"{s['k']}", *_where(s["guard"]), f"{s['stopped']:,}", f"{s['remaining']:,}", f"{100 * s['share']:.1f}")
        for s in curve["stages"]
    ]
    columns = ("", "guard", "has to stop", "stops", "left", "% stopped")
    section(console, "The best guards, one after the other (they stop only what is not allowed)", columns, rows, left=3)
    needed = [(*_where(g), f"{g['traces']:,}") for g in report["guards"][:limit]]
    title = f"Guards needed to stop everything ({len(needed)} of {len(report['guards']):,})"
    section(console, title, ("guard", "has to stop", "traces"), needed, left=2)
    _print_sets(console, "Guards of each trace", report["sets"], report["traces"])
    if report["fewest"] is not None:
        title = "Fewest guards of each trace, where they may stop what is allowed"
        _print_sets(console, title, report["fewest"], report["traces"])
    else:
        dim(console, "--fewest finds the smallest sets that may also stop what is allowed")
    unruled(console, report)


def _where(guard: Row) -> tuple[str, str]:
    example = guard["example"]
    name = guard["sender"] if guard["recipient"] is None else f"{guard['sender']} -> {guard['recipient']}"
    return name, where(example["at"]) if example else "-"


def _standing(guard: Row) -> str:
    """`coordinator -> payments (traces.jsonl:55)`."""
    name, place = _where(guard)
    return f"{name} ({place})"


def _print_sets(console: Console, title: str, sets: Sequence[Row], traces: int) -> None:
    rows = [
        (
            s["trace_id"],
            "; ".join(_standing(g) for g in s["guards"]),
            f"{s['exposures']:,}",
            f"{len(s['guards']):,}" + ("" if s["exact"] else f" (at least {s['least']:,})"),
            f"{s['lost']:,}",
        )
        for s in sets
    ]
    columns = ("trace", "guards", "exposures", "size", "allowed lost")
    section(console, f"{title} ({len(rows)} of {traces:,})", columns, rows, left=2)


def has_findings(report: dict[str, Any]) -> bool:
    """Whether there is anything to stop."""
    return bool(report["curve"]["exposures"])
