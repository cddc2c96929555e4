"""The dossier of one protected value: where it was seen first, who came to hold it, how, when, and whether they may.

A value is one text: it may stand in the vaults of many traces, and the dossier groups what happened by trace.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from earwitness.reports.dossier_rows import Found
from earwitness.reports.shown import VERDICTS, Row, Shown

# How a holder came to know, by the channel of the event that told it.
HOW = {
    "C1": "final answer",
    "C2": "message",
    "C3": "tool argument",
    "C4": "tool result",
    "C5": "memory read",
    "C6": "reasoning or log",
    "C7": "artifact",
}
WRITTEN = "memory write"
# How a sender had what nobody was seen to give it.
OWN = {"tool": "held by the tool", "memory": "held by the memory", "user": "said by the user"}
UNSEEN = "not recorded"


def dossier(shown: Shown, values: Sequence[int]) -> Row:
    """Everything a case knows about one value.

    Args:
        shown: an audited case and what may be shown of it.
        values: its numbers, of `earwitness.reports.lookup.find_values`.
    """
    found = Found(shown, values)
    traces = [_trace(found, number) for number in sorted(found.ids)]
    report = shown.stamp("dossier") | {"value": _named(found.values), "totals": _totals(found, traces)}
    report |= {"forms": _forms(found), "holders": _over_traces(traces)}
    report |= {"first_seen": _end(traces, "first_seen", last=False)}
    report |= {"last_disclosure": _end(traces, "last_disclosure", last=True)}
    return report | {"traces": traces, "case": str(shown.case.path) if shown.case.path else None}


def has_findings(report: Row) -> bool:
    """Whether somebody holds the value who may not, or it went to nobody knows whom without leave."""
    rows = [row for trace in report["traces"] for row in (*trace["holders"], *trace["nobody_named"])]
    return any(row["verdict"] == "unauthorised" for row in rows)


def _trace(found: Found, number: int) -> Row:
    """What became of the value in one trace."""
    # Who sent it comes before whom it was sent to.
    holders = sorted(_holders(found, number), key=lambda h: (h["since"]["seq"], h["sender"] is not None, h["holder"]))
    first = {key: holders[0][key] for key in ("holder", "how")} | {"at": holders[0]["since"]} if holders else None
    nobody = [_unresolved(found, row) for row in found.nobody.get(number, ())]
    if first is None and nobody:
        first = {"holder": nobody[0]["sender"], "how": UNSEEN, "at": nobody[0]["at"]}
    row: Row = {"trace": number, "trace_id": found.ids[number], "first_seen": first, "holders": holders}
    return row | {"nobody_named": nobody, **_window(found, number)}


def _holders(found: Found, trace: int) -> Iterable[Row]:
    """Everybody who held the value, each with the earliest way they are known to have come to it."""
    known: dict[tuple[str, str], Row] = {}
    for row in found.holders.get(trace, ()):
        told = _told(found, row)
        key = (told["attribute"], row[2])
        # The same text may stand in a vault twice; what was not allowed under one name counts.
        if key not in known or (told["authorised"] is False and known[key]["authorised"] is not False):
            known[key] = told
    for _, value, name, position, at in found.given.get(trace, ()):
        _earlier(found, known, value, name, at, how="initial input", kind="agent", position=position)
    for _, value, name, kind, position, event in found.untaught.get(trace, ()):
        how = OWN.get(kind, UNSEEN)
        _earlier(found, known, value, name, found.places[event, value], how=how, kind=kind, position=position)
    return known.values()


def _told(found: Found, row: tuple[Any, ...]) -> Row:
    """A holder somebody told."""
    _, value, name, kind, position, learned, sender, channel, grade, authorised, rule, times, last, crossed = row
    return {
        "attribute": found.values[value]["attribute"],
        "holder": found.shown.mask(name),
        "kind": kind,
        "position": position,
        "how": WRITTEN if channel == "C5" and kind == "memory" else HOW[channel],
        "sender": found.shown.name(sender),
        "channel": channel,
        "grade": grade,
        "since": found.at(learned, value),
        "authorised": authorised,
        "verdict": VERDICTS[authorised],
        "rule": found.shown.name(rule),
        "times": times,
        "unauthorised_since": found.at(crossed, value),
        "last": found.at(last, value),
    }


_BLANK: Row = dict.fromkeys(("sender", "channel", "grade", "authorised", "rule", "unauthorised_since", "last"))


def _earlier(
    found: Found, known: dict[tuple[str, str], Row], value: int, name: str, at: Row, *, how: str, **party: str | None
) -> None:
    """Somebody held the value at a moment without having been told."""
    attribute = found.values[value]["attribute"]
    who = {"attribute": attribute, "holder": found.shown.mask(name), **party}
    row = known.setdefault((attribute, name), who | _BLANK | {"verdict": "not judged", "times": 0, "since": None})
    if row["since"] is None or at["seq"] < row["since"]["seq"]:
        row.update(how=how, sender=None, channel=None, grade=None, since=at)


def _unresolved(found: Found, row: tuple[Any, ...]) -> Row:
    """A disclosure whose recipient the record does not name."""
    _, value, event, channel, sender, dynamic, rule = row
    verdict = {"sanitize": "unauthorised", "allow": "authorised"}.get(dynamic, dynamic)
    told = {"sender": found.shown.name(sender), "channel": channel, "verdict": verdict, "rule": found.shown.name(rule)}
    return told | {"at": found.at(event, value)}


def _window(found: Found, trace: int) -> Row:
    """From the first to the last disclosure: all of them, and those nobody allowed."""
    windows: Row = {"window": None, "unauthorised_window": None, "last_disclosure": None}
    for _, bad, events, first, first_value, last, last_value, seconds in found.windows.get(trace, ()):
        ends = {"first": found.at(first, first_value), "last": found.at(last, last_value)}
        if bad is None:
            windows["window"] = {"events": events, "seconds": seconds, **ends}
            windows["last_disclosure"] = {"at": ends["last"]}
        elif bad:
            windows["unauthorised_window"] = {"events": events, "seconds": seconds, **ends}
    return windows


def _named(values: dict[int, Row]) -> Row:
    """The names of the value; several where it stands in vaults under several."""
    rows = list(values.values())
    told: Row = {key: rows[0][key] for key in ("fingerprint", "text") if key in rows[0]}
    for key, several in (("attribute", "attributes"), ("value_type", "value_types"), ("subject", "subjects")):
        told[several] = sorted({row[key] for row in rows if row[key] is not None})
    return told


def _totals(found: Found, traces: Sequence[Row]) -> Row:
    holders = [h for t in traces for h in t["holders"]]
    counts = {word: sum(h["verdict"] == word for h in holders) for word in (*VERDICTS.values(), "not judged")}
    return {
        "traces": len(traces),
        "events": sum(t["window"]["events"] for t in traces if t["window"]),
        "holders": len({h["holder"] for h in holders}),
        "holdings": len(holders),
        **{word.replace(" ", "_"): n for word, n in counts.items()},
        "nobody_named": sum(len(t["nobody_named"]) for t in traces),
        "possible": found.possible,
        "copies": found.copies,
    }


def _over_traces(traces: Sequence[Row]) -> list[Row]:
    """Holders of all traces by name and kind; those who may not have the value first."""
    rows: dict[tuple[str, str | None], Row] = {}
    for trace in traces:
        for h in trace["holders"]:
            fresh = {"holder": h["holder"], "kind": h["kind"], "position": h["position"], "traces": 0}
            row = rows.setdefault((h["holder"], h["kind"]), fresh | {"how": {}, "verdicts": {}, "example": None})
            row["traces"] += 1
            row["how"][h["how"]] = row["how"].get(h["how"], 0) + 1
            row["verdicts"][h["verdict"]] = row["verdicts"].get(h["verdict"], 0) + 1
            bad = h["unauthorised_since"] is not None
            if row["example"] is None or (bad and not row["verdicts"].get("unauthorised", 0) > 1):
                row["example"] = {"trace_id": trace["trace_id"], "at": h["unauthorised_since"] or h["since"]}
    return sorted(rows.values(), key=lambda r: (-r["verdicts"].get("unauthorised", 0), -r["traces"], r["holder"]))


def _forms(found: Found) -> list[Row]:
    names = ("form", "tier", "standing", "events", "traces")
    return [dict(zip(names, row[:5], strict=True)) | {"at": found.places[row[5], row[6]]} for row in found.forms]


def _end(traces: Sequence[Row], key: str, *, last: bool) -> Row | None:
    """First or last over traces: by the clock if all have one, else in the order of the files."""
    ends: list[Row] = [t[key] | {"trace_id": t["trace_id"]} for t in traces if t[key]]
    if not ends:
        return None
    timed = all(e["at"]["time"] for e in ends)
    ordered = sorted(ends, key=lambda e: e["at"]["time"]) if timed else ends
    return ordered[-1 if last else 0] | {"by": "time" if timed else "place in the files"}
