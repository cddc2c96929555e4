"""Occurrences of the last replay, one a line, each with the handle by which it is explained."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from earwitness.audit.replay.explain import check_current
from earwitness.audit.replay.explain_names import NAMES, drop_names, name_all
from earwitness.reports.printing import dim, head, many, section, value
from earwitness.reports.replay_explain_words import STARRED, outcome
from earwitness.reports.shown import Row, Shown
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError

_LONGEST = 14
MODES = {"independent": "remains", "propagate": "downstream"}
# What should not be there and is comes first.
_ROWS = f"""
    SELECT n.name, r.event, r.trace, e.event_id, r.channel, f.sender, r.value, r.recipient, r.grade, r.truth,
           r.resolved, r.detected, r.action, r.done, r.reason, r.rule, r.confidence, r.remains, r.downstream, r.cause
    FROM replays r JOIN {NAMES} n ON n.event = r.event AND n.value = r.value
         AND n.recipient IS NOT DISTINCT FROM r.recipient
    JOIN events e ON e.event = r.event JOIN (SELECT DISTINCT event, sender FROM flows) f ON f.event = r.event
    JOIN vault v ON v.value = r.value
    WHERE {{where}}
    ORDER BY NOT ({{kept}} AND r.truth = 'sanitize'), r.trace, e.seq, r.event, v.attribute, r.recipient, n.name
    LIMIT $limit
"""
_TOTALS = """
    SELECT count(*), count(*) FILTER ({kept} AND r.truth = 'sanitize') FROM replays r JOIN vault v ON v.value = r.value
    WHERE {where}
"""
_PLAIN = ("channel", "grade", "truth", "resolved", "detected", "action", "done", "reason", "confidence", "remains",
          "downstream", "cause")  # fmt: skip
_COLUMNS = ("name", "event", "trace", "event_id", "channel", "sender", "value", "recipient", "grade", "truth",
            "resolved", "detected", "action", "done", "reason", "rule", "confidence", "remains", "downstream",
            "cause")  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """Which occurrences are asked for; None and empty ask for all.

    Attributes:
        conditions: names of replayed conditions; empty: `dynamic`, else the first.
        settings: recipient settings.
        mode: independent: what remains in its own text; propagate: where what was sanitized is not passed on.
        remains: only those that are, or are not, still there.
        truth: only those that should be sanitized, or allowed.
        cause: only those that remain for this cause.
        attribute: only values of this attribute.
        channel: only this channel.
        recipient: only this recipient.
        limit: so many of each condition and setting.
    """

    conditions: Sequence[str] = ()
    settings: Sequence[str] = ("paper",)
    mode: str = "independent"
    remains: bool | None = None
    truth: str | None = None
    cause: str | None = None
    attribute: str | None = None
    channel: str | None = None
    recipient: str | None = None
    limit: int = 20


def list_report(shown: Shown, asked: Asked) -> Row:
    """Occurrences of the last replay by condition and setting; `docs/replay-explain.md` describes the object.

    Raises:
        CaseError: nothing was replayed, or not since the last audit.
        InputError: the condition was not replayed, or no value has the attribute.
    """
    case = shown.case
    check_current(case)
    plans = _plans(case, asked)
    _check_attribute(shown, asked.attribute)
    digits = name_all(case)
    report = shown.stamp("replay-list") | {"mode": asked.mode, "limit": asked.limit, "digits": digits}
    report["lists"] = [_listed(shown, asked, *plan) for plan in plans]
    drop_names(case)
    return report | {"case": str(case.path) if case.path else None}


def has_listed_residual(report: Row) -> bool:
    """Whether something that fits is still there and should not be."""
    return any(found["residual"] for found in report["lists"])


def _plans(case: Case, asked: Asked) -> list[tuple[str, str]]:
    known = case.rows("SELECT DISTINCT condition, setting FROM replays ORDER BY condition, setting DESC")
    names = list(dict.fromkeys(name for name, _ in known))
    for name in asked.conditions:
        if name not in names:
            raise InputError(f"{case.path or 'case'}: that condition was not replayed; there are: {', '.join(names)}")
    chosen = asked.conditions or (["dynamic"] if "dynamic" in names else names[:1])
    plans = []
    for name in dict.fromkeys(chosen):
        there = [s for c, s in known if c == name]
        plans += [(name, s) for s in there if s in asked.settings or not set(there) & set(asked.settings)]
    return plans


def _check_attribute(shown: Shown, attribute: str | None) -> None:
    known = [a for (a,) in shown.case.rows("SELECT DISTINCT attribute FROM vault ORDER BY ALL")]
    if attribute is not None and attribute.lower() not in [a.lower() for a in known]:
        some = ", ".join(shown.mask(a) for a in known[:12]) + (", ..." if len(known) > 12 else "")
        raise InputError(f"{shown.case.path or 'case'}: no value has that attribute; there are: {some}")


def _where(asked: Asked, condition: str, setting: str) -> tuple[str, dict[str, Any]]:
    """SQL over `replays r` and `vault v`, and its parameters."""
    kept = f"r.{MODES[asked.mode]}"
    told: dict[str, Any] = {"condition": condition, "setting": setting}
    parts = ["r.condition = $condition", "r.setting = $setting"]
    if asked.remains is not None:
        parts.append(kept if asked.remains else f"NOT {kept}")
    if asked.cause is not None:
        parts.append(kept)
    for name in ("truth", "cause", "channel", "recipient", "attribute"):
        if getattr(asked, name) is not None:
            parts.append(f"lower(v.attribute) = lower(${name})" if name == "attribute" else f"r.{name} = ${name}")
            told[name] = getattr(asked, name)
    return " AND ".join(parts), told


def _listed(shown: Shown, asked: Asked, condition: str, setting: str) -> Row:
    where, parameters = _where(asked, condition, setting)
    kept = f"r.{MODES[asked.mode]}"
    total, residual = shown.case.rows(_TOTALS.format(where=where, kept=kept), parameters)[0]
    rows = shown.case.rows(_ROWS.format(where=where, kept=kept), parameters | {"limit": asked.limit})
    found = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
    told = {"condition": shown.mask(condition), "setting": setting, "total": total, "residual": residual}
    return told | {"occurrences": _told(shown, found)}


def _told(shown: Shown, found: Sequence[Row]) -> list[Row]:
    """Rows as they may be shown, with the places of their events."""
    values = shown.values(row["value"] for row in found)
    ids = shown.traces(row["trace"] for row in found)
    places = shown.places((row["event"], row["value"]) for row in found)
    return [
        {"occurrence": row["name"], "trace_id": ids[row["trace"]], "event": shown.name(row["event_id"])}
        | {"sender": shown.name(row["sender"]), "recipient": shown.name(row["recipient"])}
        | {"value": values[row["value"]], "rule": shown.name(row["rule"])}
        | {name: row[name] for name in _PLAIN}
        | {"at": places[row["event"], row["value"]]}
        for row in found
    ]


def print_list(console: Console, report: Row) -> None:
    """Print `list_report`: a table for each condition and setting."""
    mode = "each event by itself" if report["mode"] == "independent" else "what was sanitized is not passed on"
    head(console, report, "Earwitness replay list", mode)
    for found in report["lists"]:
        told = f"{many(found['total'], 'occurrence')}, {found['residual']:,} still there that should not be"
        title = f"{found['condition']}, {found['setting']} setting: {told}"
        columns = ("occurrence", "run", "event", "", "from", "to", "value", "decided", "outcome")
        section(console, title, columns, _lines(found["occurrences"], report["digits"]), left=9)
        if not found["total"]:
            dim(console, f"{found['condition']}, {found['setting']} setting: no occurrence fits")
        elif len(found["occurrences"]) < found["total"]:
            left = found["total"] - len(found["occurrences"])
            dim(console, f"{left:,} more: raise --limit; what should not be there stands first")
    shown = [row for found in report["lists"] for row in found["occurrences"]]
    if any(row["remains"] and not row["downstream"] for row in shown):
        dim(console, " ".join(STARRED))
    if shown:
        dim(console, "each step of one: earwitness replay explain CASE OCCURRENCE")


def _lines(rows: Sequence[Row], digits: int) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        short = row["occurrence"] if "-" in row["occurrence"] else row["occurrence"][:digits]
        did = row["action"] or "not found"
        did = did if row["done"] == row["action"] else f"{did}, done {row['done']}"
        told = outcome(row["truth"], row["remains"], row["downstream"], row["cause"])
        ends = (row["sender"] or "(unknown)", row["recipient"] or "(nobody named)")
        yield short, _short(row["trace_id"]), row["event"], row["channel"], *ends, value(row["value"]), did, told


def _short(name: str) -> str:
    """The beginning and the end of a long name; JSON has it whole."""
    return name if len(name) <= _LONGEST else f"{name[:4]}...{name[7 - _LONGEST :]}"
