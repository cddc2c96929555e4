"""The last replay of a case as an audit's report tells it: headlines, causes, and whether it still holds."""

from typing import Any

import msgspec

from earwitness.reports.shown import ISO, Row, Shown
from earwitness.schema.case import Case

DEFAULT = "dynamic"
CAUSES = ("detection_miss", "no_recipient", "policy_gap", "post_transform")
HEADLINES = ("residual", "correct_allow", *(f"cause_{cause}" for cause in CAUSES))
SPLITS = ("residual_by_channel", "residual_by_type", "correct_allow_by_channel", "correct_allow_by_type")
NO_REASON = "no reason is on record"

_LAST = f"""
    SELECT run, version, parameters, strftime(finished_at, {ISO}) FROM runs WHERE stage = 'replay'
    ORDER BY run DESC LIMIT 1
"""
# What a replay goes by was made by these stages; other ones do not touch it.
_LATER = f"""
    SELECT strftime(max(finished_at) FILTER (stage = 'import'), {ISO}),
           strftime(max(finished_at) FILTER (stage IN ('policy', 'detect', 'decide', 'graph')), {ISO})
    FROM runs WHERE run > ?
"""
_POLICY = "SELECT policy_sha256 FROM runs WHERE stage = 'decide' AND run < ? ORDER BY run DESC LIMIT 1"
_COUNTED = """
    SELECT count(*) FILTER (truth = 'sanitize'), count(*) FILTER (truth = 'allow') FROM replays
    WHERE (condition, setting) = (SELECT (condition, setting) FROM replays ORDER BY condition, setting LIMIT 1)
"""
_UNRULED = "SELECT count(*) FROM verdicts WHERE dynamic = 'unruled' AND standing = 'confirmed'"
_FIGURES = """
    SELECT condition, setting, mode, measure, grp, k, n, rate, low, high, boot_low, boot_high FROM replay_figures
    WHERE list_contains($headlines, measure) OR (condition = $default AND list_contains($splits, measure))
    ORDER BY list_position($order, condition), setting = 'extended', mode, measure, grp
"""
_FIGURE = ("condition", "setting", "mode", "measure", "group", "k", "n", "rate", "low", "high", "boot_low", "boot_high")
_CAUSES = """
    WITH remaining AS (
        SELECT r.setting, r.channel, v.value_type, r.cause FROM replays r JOIN vault v USING (value)
        WHERE r.condition = ? AND r.cause IS NOT NULL)
    SELECT setting, 'channel' AS split, channel AS cell, cause, count(*) AS k FROM remaining GROUP BY ALL
    UNION ALL SELECT setting, 'value_type', value_type, cause, count(*) FROM remaining GROUP BY ALL
    ORDER BY setting DESC, split, cell, cause
"""
_PAIRS = """
    SELECT setting, mode, truth, condition, other, under_both, only_condition, only_other, neither, p FROM replay_pairs
    WHERE condition = $default ORDER BY setting = 'extended', mode, truth DESC, list_position($order, other)
"""
_PAIR = ("setting", "mode", "truth", "condition", "other", "under_both", "only_condition", "only_other", "neither", "p")


def replayed(case: Case) -> Row | None:
    """The last replay, or None if there was none; names are masked. `docs/reports.md` describes the keys."""
    found = case.rows(_LAST)
    if not found:
        return None
    run, version, text, finished = found[0]
    asked, shown = msgspec.json.decode(text), Shown(case)
    conditions = _conditions(case, asked)
    kept = [c["condition"] for c in conditions if c["replayed"]]
    default = DEFAULT if DEFAULT in kept else kept[0] if kept else None
    then = case.one(_POLICY, [run])
    stale = _stale(case, run, then)
    report: Row = {"finished_at": finished, "version": version, "policy_sha256": then, "stale": stale}
    report |= {"settings": asked.get("settings", []), "default": default and shown.mask(default)}
    report["conditions"] = [c | {"condition": shown.mask(c["condition"])} for c in conditions]
    report |= {"key": _key(asked), "occurrences": _occurrences(case, current=not stale)}
    return report | _numbers(shown, default, kept)


def _conditions(case: Case, asked: Row) -> list[Row]:
    """What was asked for, in order. One that left no occurrence where others did was left out."""
    told = {name for (name,) in case.rows("SELECT DISTINCT condition FROM replays")}
    reasons = asked.get("skipped") or {}
    return [
        {"condition": name, "replayed": name in told, "reason": _reason(name, told, reasons)}
        for name in asked.get("conditions", [])
    ]


def _reason(name: str, told: set[str], reasons: dict[str, str]) -> str | None:
    if name in told:
        return None
    return reasons.get(name) or (NO_REASON if told else "the policy rules no occurrence")


def _key(asked: Row) -> Row | None:
    """The mark of the key and whether it was made for that replay alone; None where the case does not tell."""
    key = asked.get("key")
    return {"mark": key.get("mark"), "ephemeral": bool(key.get("ephemeral"))} if isinstance(key, dict) else None


def _stale(case: Case, run: int, then: str | None) -> list[str]:
    """Why the replay may not tell what the case tells now; nothing if it does."""
    imported, audited = case.rows(_LATER, [run])[0]
    now = case.one("SELECT policy_sha256 FROM runs WHERE stage = 'decide' ORDER BY run DESC LIMIT 1")
    reasons = [
        f"traces were imported after it ({imported})" if imported else None,
        f"the case was audited again after it ({audited})" if audited else None,
        f"it went by {_short(then)}, the last audit by {_short(now)}" if audited and then != now else None,
    ]
    return [reason for reason in reasons if reason]


def _short(sha256: str | None) -> str:
    return f"policy file {sha256[:12]}" if sha256 else "no policy file"


def _occurrences(case: Case, *, current: bool) -> Row:
    """What was counted over. How many no policy rules is known of the last audit only."""
    sanitize, allow = case.rows(_COUNTED)[0]
    unruled = case.one(_UNRULED) if current else None
    return {"should_sanitize": sanitize, "should_allow": allow, "unruled": unruled}


def _numbers(shown: Shown, default: str | None, order: list[str]) -> Row:
    mask, case = shown.mask, shown.case
    asked = {"headlines": HEADLINES, "splits": SPLITS, "default": default, "order": order}
    figures = [
        dict(zip(_FIGURE, (mask(row[0]), *row[1:4], _group(shown, row[4]), *row[5:]), strict=True))
        for row in case.rows(_FIGURES, asked)
    ]
    pairs = [
        dict(zip(_PAIR, (*row[:3], mask(row[3]), mask(row[4]), *row[5:]), strict=True))
        for row in case.rows(_PAIRS, {"default": default, "order": order})
    ]
    names = ("setting", "split", "cell", "cause", "k")
    causes = [dict(zip(names, row, strict=True)) for row in case.rows(_CAUSES, [default])]
    return {"figures": figures, "causes": causes, "pairs": pairs}


def _group(shown: Shown, text: str) -> dict[str, str | None]:
    return {column: shown.name(cell) for column, cell in msgspec.json.decode(text).items()}


class Figures:
    """The figures of a replay by name.

    Args:
        report: what `replayed` gives.
    """

    def __init__(self, report: Row) -> None:
        self._one: dict[tuple[str, str, str, str], Row] = {}
        self._split: dict[tuple[str, str, str], list[Row]] = {}
        for f in report["figures"]:
            if f["group"]:
                self._split.setdefault((f["setting"], f["mode"], f["measure"]), []).append(f)
            else:
                self._one[f["condition"], f["setting"], f["mode"], f["measure"]] = f

    def one(self, condition: str, setting: str, mode: str, measure: str) -> dict[str, Any] | None:
        """A figure over everything, if it could be counted."""
        return self._one.get((condition, setting, mode, measure))

    def split(self, setting: str, mode: str, measure: str) -> list[Row]:
        """Figures of the default condition, one a cell."""
        return self._split.get((setting, mode, measure), [])
