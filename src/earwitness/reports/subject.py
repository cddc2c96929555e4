"""Everything that reached anyone about one person, over all traces: values, recipients, channels, verdicts.

Values are about a person if a vault says so (`subject`), or if they are the person's name. Apart from them stand values
whose subject nobody stated, in traces that speak of no other person.
"""

from collections.abc import Sequence
from typing import Any

from earwitness.audit.forms.skeleton import fold
from earwitness.reports.dossier_rows import find_given
from earwitness.reports.shown import ISO, Row, Shown
from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError

# Attributes that hold a person's own name. Others, such as an emergency contact, name somebody else.
NAMES = frozenset({"name", "full_name", "legal_name", "person", "person_name"}) | {
    f"{who}_name" for who in ("client", "customer", "employee", "member", "patient", "user")
}
_VERDICTS = {"sanitize": "unauthorised", "allow": "authorised", "unruled": "unruled"}

_ABOUT = """
    CREATE OR REPLACE TEMP TABLE about AS
    SELECT unnest(?::BIGINT[]) AS value, 'stated' AS basis, NULL::INTEGER AS trace
"""
# Occurrences of values without a subject, in traces in which only this person is spoken of.
_PRESUMED = """
    INSERT INTO about
    WITH spoken AS (
        SELECT DISTINCT v.trace, w.subject FROM verdicts v JOIN vault w USING (value) WHERE w.subject IS NOT NULL
        UNION SELECT trace, subject FROM vault WHERE scope = 'trace' AND subject IS NOT NULL
        UNION SELECT t.trace, w.subject FROM vault w JOIN traces t ON w.scope = 'scenario' AND w.scenario = t.scenario
        WHERE w.subject IS NOT NULL
    ), alone AS (SELECT trace FROM spoken GROUP BY trace HAVING bool_and(list_contains(?::VARCHAR[], subject)))
    SELECT DISTINCT w.value, 'presumed', v.trace FROM verdicts v JOIN alone USING (trace) JOIN vault w USING (value)
    WHERE w.subject IS NULL AND w.value NOT IN (SELECT value FROM about)
"""
_REACHED = f"""
    SELECT a.basis, v.trace, v.value, v.recipient, p.kind, coalesce(p.position, 'unknown'), v.channel, v.dynamic,
           v.dynamic_rule, count(DISTINCT v.event), arg_min(v.event, (e.seq, v.event)),
           strftime(min(e.time), {ISO}), strftime(max(e.time), {ISO})
    FROM about a JOIN verdicts v ON v.value = a.value AND (a.trace IS NULL OR a.trace = v.trace)
    JOIN events e ON e.event = v.event LEFT JOIN parties p ON p.trace = v.trace AND p.actor = v.recipient
    WHERE v.standing = 'confirmed'
    GROUP BY a.basis, v.trace, v.value, v.recipient, p.kind, p.position, v.channel, v.dynamic, v.dynamic_rule
    ORDER BY ALL
"""


def subject(shown: Shown, name: str) -> Row:
    """What reached whom about a person.

    Args:
        shown: an audited case and what may be shown of it.
        name: of the person; case and spaces do not matter.

    Raises:
        CaseError: nothing in the case is about that person.
    """
    case = shown.case
    names, values = _known(case, name)
    if not values:
        raise CaseError(_nobody(case, names))
    case.execute(_ABOUT, [values])
    case.execute(_PRESUMED, [_spellings(case, names)])
    rows = [*_disclosures(shown), *_given(shown, values)]
    told = {basis: [row for row in rows if row["basis"] == basis] for basis in ("stated", "presumed")}
    report = shown.stamp("subject") | {"subject": shown.mask(name.strip())}
    report |= {"names": sorted(shown.mask(n) for n in names), "values": list(shown.values(values).values())}
    report |= {"totals": {basis: _totals(found) for basis, found in told.items()}}
    report |= {"reached": _grouped(rows), "disclosures": rows}
    return report | {"case": str(case.path) if case.path else None}


def has_findings(report: Row) -> bool:
    """Whether something about the person reached somebody who may not know it."""
    return any(row["verdict"] == "unauthorised" for row in report["reached"])


def _same(text: str) -> str:
    return " ".join(fold(text).split())


def _known(case: Case, name: str) -> tuple[set[str], list[int]]:
    """All names of the person, folded, and the values that are about them."""
    rows = case.rows("SELECT value, attribute, subject, text, aliases FROM vault ORDER BY value")
    names, before = {_same(name)} | _roster(case, _same(name)), 0
    while len(names) > before:
        before = len(names)
        for _, attribute, about, text, aliases in rows:
            written = {_same(t) for t in (text, *(aliases or ()))}
            if attribute.lower() in NAMES and (written & names or (about and _same(about) in names)):
                names |= written | ({_same(about)} if about else set())
    return names, [row[0] for row in rows if (row[2] and _same(row[2]) in names) or _same(row[3]) in names]


def _roster(case: Case, name: str) -> set[str]:
    """Other names the roster of the policy has for somebody."""
    pairs = [(_same(alias), _same(actor)) for alias, actor in case.rows("SELECT alias, actor FROM aliases")]
    actors = {actor for alias, actor in pairs if name in (alias, actor)}
    return actors | {alias for alias, actor in pairs if actor in actors}


def _spellings(case: Case, names: set[str]) -> list[str]:
    """The subjects of the vault, as they are written there."""
    subjects = case.rows("SELECT DISTINCT subject FROM vault WHERE subject IS NOT NULL ORDER BY subject")
    return [s for (s,) in subjects if _same(s) in names]


def _nobody(case: Case, names: set[str]) -> str:
    known = case.one("SELECT count(DISTINCT lower(subject)) FROM vault WHERE subject IS NOT NULL")
    cure = "state whose values are (`subject`, in the policy or the vault file) and audit the case again"
    return f"{case.path or 'case'}: no value is known to be about that person, of {known:,} persons in it; {cure}"


def _disclosures(shown: Shown) -> list[Row]:
    """One row for every trace, value, recipient, channel and verdict."""
    found = shown.case.rows(_REACHED)
    values, ids = shown.values(row[2] for row in found), shown.traces(row[1] for row in found)
    places = shown.places((row[10], row[2]) for row in found)
    return [
        {
            "basis": basis,
            "trace": trace,
            "trace_id": ids[trace],
            "attribute": values[value]["attribute"],
            "fingerprint": values[value]["fingerprint"],
            "recipient": shown.name(recipient),
            "kind": kind,
            "position": position,
            "channel": channel,
            "verdict": _VERDICTS[dynamic],
            "rule": shown.name(rule),
            "times": times,
            "first": first,
            "last": last,
            "at": places[event, value],
        }
        for basis, trace, value, recipient, kind, position, channel, dynamic, rule, times, event, first, last in found
    ]


def _given(shown: Shown, values: Sequence[int]) -> list[Row]:
    """What agents were given at the start; nobody judges that."""
    found = find_given(shown, values)
    named, ids = shown.values(values), shown.traces(row["trace"] for row in found)
    return [
        {"basis": "stated", "trace": row["trace"], "trace_id": ids[row["trace"]]}
        | {key: named[row["value"]][key] for key in ("attribute", "fingerprint")}
        | {"recipient": shown.mask(row["holder"]), "kind": "agent", "channel": "initial"}
        | {"position": row["position"]}
        | {"verdict": "not judged", "rule": None, "times": 1}
        | {"first": row["at"]["time"], "last": row["at"]["time"], "at": row["at"]}
        for row in found
    ]


_ALIKE = ("basis", "recipient", "kind", "channel", "verdict", "attribute", "fingerprint")


def _grouped(rows: Sequence[Row]) -> list[Row]:
    """The same over all traces, what nobody allowed first."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in _ALIKE), []).append(row)
    order = ("unauthorised", "unruled", "authorised", "not judged")
    found = [dict(zip(_ALIKE, key, strict=True)) | _sum(group) for key, group in groups.items()]
    found.sort(key=lambda r: (r["basis"] != "stated", order.index(r["verdict"]), -r["traces"], str(r["recipient"])))
    return found


def _sum(group: Sequence[Row]) -> Row:
    firsts, lasts = ([row[key] for row in group if row[key]] for key in ("first", "last"))
    example = {"trace_id": group[0]["trace_id"], "at": group[0]["at"]}
    ends = {"first": min(firsts, default=None), "last": max(lasts, default=None)}
    traces = len({row["trace"] for row in group})
    return {"traces": traces, "times": sum(row["times"] for row in group), **ends, "example": example}


def _totals(rows: Sequence[Row]) -> Row:
    bad = [row for row in rows if row["verdict"] == "unauthorised"]
    return {
        "values": len({row["fingerprint"] for row in rows}),
        "traces": len({row["trace"] for row in rows}),
        "recipients": len({row["recipient"] for row in rows if row["recipient"] is not None}),
        "unauthorised_recipients": len({row["recipient"] for row in bad if row["recipient"] is not None}),
        "unauthorised_traces": len({row["trace"] for row in bad}),
    }


def print_subject(console: Any, report: Row, limit: int = 40) -> None:
    """Print the view; rows over all traces, `limit` of each part."""
    from earwitness.reports.printing import dim, head, many, section, value, where

    stated = report["totals"]["stated"]
    head(
        console,
        report,
        "Earwitness subject",
        f"{report['subject']}: {many(stated['values'], 'value')} in {many(stated['traces'], 'trace')} reached "
        f"{many(stated['recipients'], 'recipient')}, {stated['unauthorised_recipients']:,} of them without leave",
    )
    others = [name for name in report["names"] if name != _same(report["subject"])]
    if others:
        dim(console, f"also called: {', '.join(others)}")
    texts = {row["fingerprint"]: row for row in report["values"]}
    for basis, title in _PARTS.items():
        part = [row for row in report["reached"] if row["basis"] == basis]
        rows = [
            (
                row["recipient"] or "(nobody named)",
                row["kind"],
                row["channel"],
                row["verdict"].replace("unauthorised", "UNAUTHORISED"),
                value(texts.get(row["fingerprint"], {}) | row),
                where(row["example"]["at"]),
                f"{row['traces']:,}",
                f"{row['times']:,}",
            )
            for row in part[:limit]
        ]
        columns = ("recipient", "kind", "channel", "verdict", "value", "first at", "traces", "times")
        section(console, title, columns, rows, left=6)
        if len(part) > limit:
            dim(console, f"{limit} of {len(part):,} rows shown; --limit shows more, --json all")


_PARTS = {
    "stated": "What is stated to be about this person",
    "presumed": "Apart: values nobody is stated to own, in traces that speak of this person only",
}
