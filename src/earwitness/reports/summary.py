"""The audit as one plain object: what `audit --json` prints and what pages and tables are made from.

Protected values appear as attribute and keyed fingerprint, never as text. `docs/reports.md` and
`audit.schema.json` describe the object; keys are only ever added.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from earwitness import __version__
from earwitness.audit.coverage import TRACE_VERDICTS
from earwitness.audit.labels import compare
from earwitness.reports.detection import detection
from earwitness.reports.examples import examples
from earwitness.reports.linked import link_counts
from earwitness.reports.mask import Mask
from earwitness.reports.replayed import replayed
from earwitness.reports.tested import tests
from earwitness.schema.case import Case
from earwitness.schema.words import CHANNELS

FORMAT = "earwitness.audit/1"
VERDICTS = ("leak", "clean", "unverifiable")


def summary(case: Case, *, labels: bool = False, reveal: bool = False) -> dict[str, Any]:
    """Everything an audit found, as numbers and names.

    Args:
        case: a judged case.
        labels: compare with the labels inside the files.
        reveal: give protected values in clear, and stamp the object as revealed.
    """
    parts: dict[str, Callable[[Case], Any]] = {
        "records": _records,
        "losses": _losses,
        "links": link_counts,
        "detection": detection,
        "coverage": _coverage,
        "measures": _measures,
        "significance": tests,
        "replay": replayed,
        "values": _values,
        "exposure_totals": _exposure_totals,
        "exposures": _exposures,
        "findings": examples,
        "notes": notes,
    }
    out: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        **_run(case),
        "sources": case.one("SELECT count(*) FROM sources WHERE records > 0 OR problem IS NOT NULL"),
        **{t: case.count(t) for t in ("traces", "events", "sightings")},
        **{name: part(case) for name, part in parts.items()},
    }
    if reveal:
        out["revealed"] = True
        _reveal(case, out["values"])
    else:
        _hide(case, out)
    if labels:
        out["labels"] = compare(case)._asdict()
    return out | {"case": str(case.path) if case.path else None}


def _hide(case: Case, out: dict[str, Any]) -> None:
    """Names of arms, cells and frameworks come from the traces, and may hold what is protected."""
    mask = Mask(case)
    for arm in out["coverage"]["arms"]:
        arm["arm"] = arm["arm"] and mask(arm["arm"])
    for figure in out["measures"]:
        figure["group"] = {k: mask(v) if isinstance(v, str) else v for k, v in figure["group"].items()}


def has_findings(case: Case) -> bool:
    """Whether anything was disclosed to someone who may not know it."""
    return bool(case.one("SELECT count(*) FROM verdicts WHERE dynamic = 'sanitize' AND standing = 'confirmed'"))


def _run(case: Case) -> dict[str, Any]:
    row = case.rows("SELECT parameters, policy_sha256 FROM runs WHERE stage = 'decide' ORDER BY run DESC LIMIT 1")
    parameters = msgspec.json.decode(row[0][0]) if row else {}
    given = case.one("SELECT count(*) FROM rules WHERE origin = 'trace'")
    policy = {
        "sha256": row[0][1] if row else None,
        "rules_from_traces": given,
        "rules_from_file": case.count("rules") - given,
    }
    return {"rules": parameters.get("rules"), "policy": policy}


def _records(case: Case) -> dict[str, int]:
    return dict(case.rows("SELECT outcome, sum(records)::BIGINT FROM outcomes GROUP BY outcome ORDER BY outcome"))


def _losses(case: Case) -> dict[str, int]:
    return dict(case.rows("SELECT kind, sum(n)::BIGINT FROM losses GROUP BY kind ORDER BY kind"))


def _coverage(case: Case) -> dict[str, Any]:
    counts = ", ".join(f"count(*) FILTER (verdict = '{v}')" for v in VERDICTS)
    total = case.rows(f"SELECT {counts} FROM ({TRACE_VERDICTS})")[0]
    arms = case.rows(
        f"SELECT arm, {counts} FROM ({TRACE_VERDICTS}) JOIN traces USING (trace) GROUP BY arm ORDER BY arm"
    )
    channels = case.rows(f"SELECT channel, {counts} FROM coverage GROUP BY channel ORDER BY channel")
    reasons = case.rows("""SELECT channel, reason, count(*) FROM coverage WHERE verdict = 'unverifiable'
                           GROUP BY ALL ORDER BY ALL""")
    return {
        **dict(zip(VERDICTS, total, strict=True)),
        "arms": [{"arm": arm, **dict(zip(VERDICTS, n, strict=True))} for arm, *n in arms],
        "channels": {channel: dict(zip(VERDICTS, n, strict=True)) for channel, *n in channels},
        "reasons": [{"channel": c, "reason": r, "traces": n} for c, r, n in reasons],
    }


def _measures(case: Case) -> list[dict[str, Any]]:
    rows = case.rows("SELECT name, grp, k, n, rate, low, high FROM measures")
    names = ("name", "group", "k", "n", "rate", "low", "high")
    return [dict(zip(names, (name, msgspec.json.decode(grp), *rest), strict=True)) for name, grp, *rest in rows]


_VALUES = """
    WITH told AS (
        SELECT w.attribute, w.fingerprint, v.channel, v.event, v.recipient, v.trace, v.dynamic
        FROM verdicts v JOIN vault w USING (value) WHERE v.standing = 'confirmed'
    ), per_channel AS (
        SELECT attribute, fingerprint, channel, count(DISTINCT event) AS n FROM told GROUP BY ALL
    ), channels AS (
        SELECT attribute, fingerprint, list({'channel': channel, 'n': n} ORDER BY channel) AS events
        FROM per_channel GROUP BY ALL
    ), totals AS (
        SELECT attribute, fingerprint, count(DISTINCT (trace, recipient)) FILTER (recipient IS NOT NULL) AS recipients,
               count(*) FILTER (dynamic = 'sanitize') AS unauthorised FROM told GROUP BY ALL
    ), copies AS (
        SELECT w.attribute, w.fingerprint, count(*) AS sightings
        FROM sightings s JOIN matches m USING (content) JOIN vault w USING (value) JOIN traces t ON t.trace = s.trace
        WHERE m.standing = 'confirmed' AND m.event IS NULL
          AND (w.scope = 'case' OR w.trace = s.trace OR (w.scope = 'scenario' AND w.scenario = t.scenario)) GROUP BY ALL
    ), kinds AS (SELECT DISTINCT ON (attribute, fingerprint) attribute, fingerprint, value_type FROM vault ORDER BY ALL)
    SELECT attribute, fingerprint, value_type, events, coalesce(sightings, 0) AS sightings,
           coalesce(recipients, 0) AS recipients, coalesce(unauthorised, 0) AS unauthorised
    FROM kinds LEFT JOIN totals USING (attribute, fingerprint) LEFT JOIN channels USING (attribute, fingerprint)
    LEFT JOIN copies USING (attribute, fingerprint)
    WHERE events IS NOT NULL OR sightings > 0
    ORDER BY unauthorised DESC, recipients DESC, attribute, fingerprint
"""


def _values(case: Case) -> list[dict[str, Any]]:
    out = []
    for attribute, mark, kind, events, sightings, recipients, unauthorised in case.rows(_VALUES):
        out.append(
            {
                "attribute": attribute,
                "fingerprint": mark,
                "value_type": kind,
                "events": {e["channel"]: e["n"] for e in events or ()},
                "sightings": sightings,
                "recipients": recipients,
                "unauthorised": unauthorised,
            }
        )
    return out


def _reveal(case: Case, values: list[dict[str, Any]]) -> None:
    texts = dict(case.rows("SELECT DISTINCT ON (fingerprint) fingerprint, text FROM vault"))
    for value in values:
        value["text"] = texts[value["fingerprint"]]


def _exposure_totals(case: Case) -> dict[str, int]:
    row = case.rows("""SELECT count(*), count(*) FILTER (authorised), count(*) FILTER (authorised IS FALSE),
                              count(*) FILTER (authorised IS NULL) FROM exposures""")[0]
    return dict(zip(("total", "authorised", "unauthorised", "unruled"), row, strict=True))


_EXPOSURES = """
    SELECT w.attribute, p.kind, x.position, x.route, x.distance, x.authorised, count(*), count(DISTINCT x.trace),
           min(x.exposure)
    FROM exposures x JOIN vault w USING (value) LEFT JOIN parties p ON p.trace = x.trace AND p.actor = x.recipient
    GROUP BY ALL ORDER BY x.authorised NULLS LAST, count(*) DESC, w.attribute, min(x.exposure)
"""


def _exposures(case: Case) -> list[dict[str, Any]]:
    """Exposures grouped by what was learned and how far away; `example` is one of them (`paths.way`)."""
    names = ("attribute", "recipient_kind", "position", "route", "distance", "authorised", "n", "traces", "example")
    return [dict(zip(names, row, strict=True)) for row in case.rows(_EXPOSURES)]


_NOTES = (
    (
        "SELECT count(*) FROM rulings WHERE NOT ruled",
        "Traces without a policy: {n}. Nothing in them is called a leak. Give one with --policy.",
    ),
    (
        "SELECT count(*) FROM rulings WHERE NOT valued",
        "Traces without a protected value in scope: {n}. Only what looks like one was looked for in them, "
        "so that nothing there is clean. Give values with --values or in the policy.",
    ),
    (
        "SELECT count(DISTINCT trace) FROM parties WHERE kind = 'agent' AND position = 'unknown'",
        "Traces with agents of unknown position: {n}. New-agent disclosure is a lower bound there. "
        "Name the roster in the policy.",
    ),
    (
        "SELECT count(*) FROM verdicts WHERE recipient IS NULL AND dynamic_rule IS DISTINCT FROM 'fallback: closed'",
        "Occurrences without a resolved recipient: {n}. They are judged by field only (policy key `fallback`).",
    ),
    (
        "SELECT count(*) FROM verdicts WHERE standing = 'possible'",
        "Occurrences that are only possible (short values or low confidence): {n}. No rate counts them.",
    ),
    (
        "SELECT count(*) FROM verdicts WHERE dynamic <> 'unruled' AND NOT ruled",
        "Occurrences of values that no rule mentions: {n}. The default decided them.",
    ),
    (
        "SELECT count(*) FROM traces WHERE attributes LIKE '%\"clock_skew_ns\"%'",
        "Traces whose clocks differ (a span starts before the one it stands under): {n}. "
        "Order and routes follow the tree there; times say less (trace attribute `clock_skew_ns`).",
    ),
    (
        "SELECT coalesce(sum(records), 0) FROM outcomes WHERE outcome NOT IN ('mapped', 'duplicate', 'ignored')",
        "Records that could not be read or are of unknown format: {n}. "
        "What they hold was not audited (table `records`).",
    ),
)


def notes(case: Case) -> list[str]:
    """What could not be assessed, and what would change that. Numbers and names only."""
    counted = ((int(case.one(query)), text) for query, text in _NOTES)
    return [text.format(n=f"{n:,}") for n, text in counted if n]


def channels_seen(report: dict[str, Any]) -> list[str]:
    """Channels on which at least one trace could have been judged."""
    seen = {m["group"].get("channel") for m in report["measures"] if m["name"] == "channel_leakage"}
    return [c for c in CHANNELS if c in seen]
