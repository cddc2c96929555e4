"""Which single change of a replayed condition would lower its residual most, judged again from what is stored.

Each variant of the condition is decided by the SQL of the replay itself. A decision depends on its own delivery alone,
so that one variant with every channel closed tells what closing each single channel would do. No text is scanned.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from earwitness.audit.decide import in_force
from earwitness.audit.replay import outcome
from earwitness.audit.replay.condition import BY_RECIPIENT, Condition, Plan, Setting
from earwitness.audit.replay.judging import act, judge
from earwitness.audit.replay.replay import rules_in_force
from earwitness.audit.replay.spans import gather, look
from earwitness.audit.stats import wilson
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.policy import Policy
from earwitness.schema.progress import silent
from earwitness.schema.words import CHANNELS

Row = dict[str, Any]


class Variant(NamedTuple):
    """A changed condition: its family, what it says of itself, and the column whose cells are changes of their own."""

    family: str
    change: str
    condition: Condition
    setting: Setting
    by: tuple[str, ...] = ()


def variants(base: Condition, setting: Setting) -> list[Variant]:
    """The changes that are tried on a condition; those that change nothing are left out."""
    closed = replace(base, fallback=dict.fromkeys(CHANNELS, "closed"))
    found = [
        Variant("detector", "detect every known value", replace(base, detector="oracle"), setting,
                ("attribute", "value_type", "channel")),
        Variant("confidence", "judge uncertain finds like certain ones", replace(base, protect_uncertain=False),
                setting),
        Variant("confidence", "protect every find", replace(base, protect_uncertain=True,
                confidence=dict.fromkeys(CHANNELS, 1.1)), setting, ("channel",)),
        *(Variant("decision", f"decide by {d}", replace(base, decision=d), setting)
          for d in ("all_detected", "static", *sorted(BY_RECIPIENT))),
    ]  # fmt: skip
    if base.decision in BY_RECIPIENT:
        found.append(Variant("fallback", "sanitize where no recipient is known", closed, setting, ("channel",)))
        if setting == "paper" and base.recipients is None:
            known = Variant("resolution", "resolve recipients by every grade", base, "extended", ("channel", "grade"))
            found.append(known)
    return [v for v in found if (v.condition, v.setting) != (base, setting)]


_FACT = """
    CREATE OR REPLACE TEMP TABLE rp_search AS
    SELECT h.plan, o.occ, o.truth, o.channel, coalesce(o.grade, 'none') AS grade, v.attribute, v.value_type,
           r.remains AS kept, CASE WHEN h.acted = b.acted THEN r.remains ELSE NOT h.acted END AS after
    FROM rp_occ o JOIN rp_handled h USING (occ) JOIN rp_handled b ON b.occ = o.occ AND b.plan = 0
    JOIN vault v USING (value)
    JOIN replays r ON r.event = o.event AND r.value = o.value AND r.recipient IS NOT DISTINCT FROM o.recipient
         AND r.condition = ? AND r.setting = ?
    WHERE h.plan > 0
"""
_COUNT = """
    SELECT {by} AS cell, count(*) FILTER (truth = 'sanitize' AND kept AND NOT after) AS removed,
           count(*) FILTER (truth = 'sanitize' AND NOT kept AND after) AS added,
           count(*) FILTER (truth = 'allow' AND kept AND NOT after) AS lost,
           count(*) FILTER (truth = 'allow' AND NOT kept AND after) AS regained
    FROM rp_search WHERE plan = {plan} GROUP BY ALL ORDER BY ALL
"""
_STALE = """
    SELECT count(*) FROM rp_occ o JOIN rp_handled h ON h.occ = o.occ AND h.plan = 0
    LEFT JOIN replays r ON r.event = o.event AND r.value = o.value AND r.recipient IS NOT DISTINCT FROM o.recipient
         AND r.condition = ? AND r.setting = ?
    WHERE r.event IS NULL OR r.action IS DISTINCT FROM h.action OR r.detected <> h.detected OR r.truth <> o.truth
"""
_TOTALS = """
    SELECT count(*) FILTER (truth = 'sanitize' AND remains), count(*) FILTER (truth = 'sanitize'),
           count(*) FILTER (truth = 'allow' AND remains), count(*) FILTER (truth = 'allow')
    FROM replays WHERE condition = ? AND setting = ?
"""
_TEMPORARY = ("class", "flow", "known", "occ", "handled", "span", "touch", "ask", "judged", "act", "spot", "search")


def search(case: Case, condition: Condition, setting: Setting) -> Row:
    """Single changes of a replayed condition, those that remove most first; each event by itself.

    Args:
        case: audited and replayed; it stays as it is.
        condition: one of those replayed, with detector `replayed`.
        setting: which recipients count as known.

    Raises:
        InputError: the condition was not replayed so, or the case has changed since.
    """
    kept, n, allowed, of = case.rows(_TOTALS, [condition.name, setting])[0]
    if n + of == 0:
        raise InputError(f"{condition.name}, {setting}: not replayed in this case; run `earwitness replay` first")
    if condition.detector != "replayed":
        raise InputError(f"{condition.name}: only conditions with `detector: replayed` can be searched")
    tried = variants(condition, setting)
    try:
        _decide(case, condition, setting, tried)
        if case.one(_STALE, [condition.name, setting]):
            raise InputError(f"{condition.name}: the case has changed since its replay; run `earwitness replay` again")
        case.execute(_FACT, [condition.name, setting])
        changes = [c for number, v in enumerate(tried, 1) for c in _changes(case, number, v)]
    finally:
        for table in _TEMPORARY:
            case.execute(f"DROP TABLE IF EXISTS rp_{table}")
    ranked = sorted((_told(c, kept, n) for c in changes), key=lambda c: (-c["net_removed"], c["lost"], c["change"]))
    return {"residual": {"k": kept, "n": n}, "correct_allow": {"k": allowed, "n": of}, "changes": ranked}


def _decide(case: Case, base: Condition, setting: Setting, tried: list[Variant]) -> None:
    rules = rules_in_force(case)
    policy: Policy = in_force(case)
    gather(case)
    for statement in outcome.PREPARE:
        case.execute(statement)
    numbered = [Plan(0, base, setting), *(Plan(i, v.condition, v.setting) for i, v in enumerate(tried, 1))]
    for detector in ("replayed", "oracle"):
        some = [p for p in numbered if p.condition.detector == detector]
        look(case, some[0].condition, rules, silent)
        judge(case, policy, rules, travels=True)
        case.execute(outcome.SPOTS)
        for plan in some:
            act(case, plan, policy)
            outcome.handle(case, plan)


def _changes(case: Case, plan: int, variant: Variant) -> Iterator[Row]:
    """The variant as a whole, and each cell by itself."""
    for by in ("NULL", *variant.by):
        for row in case.frame(_COUNT.format(by=by, plan=plan)).to_dicts():
            if row["removed"] or row["added"]:
                where = None if by == "NULL" else by
                yield {"family": variant.family, "change": variant.change, "by": where, **row}


def _told(change: Row, kept: int, n: int) -> Row:
    """With what the residual becomes; a transform is taken to leave nothing."""
    net = change["removed"] - change["added"]
    low, high = wilson(kept - net, n)
    return change | {
        "net_removed": net,
        "share": net / kept if kept else None,
        "net_lost": change["lost"] - change["regained"],
        "residual": {"k": kept - net, "n": n, "rate": (kept - net) / n if n else None, "low": low, "high": high},
    }
