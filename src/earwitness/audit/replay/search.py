"""Which single change of a replayed condition would lower its residual most, judged again from what is stored.

Each changed condition is decided by the SQL of the replay itself. A decision depends on its own delivery alone, so that
one variant with every channel closed tells what closing each single channel would do. No text is scanned: detections,
places and what stored replays measured are all that is read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from earwitness.audit.decide import in_force
from earwitness.audit.replay.condition import Condition, Mode, Setting
from earwitness.audit.replay.replay import rules_in_force
from earwitness.audit.replay.search_bench import clear, lay_out
from earwitness.audit.replay.search_facts import Bools, Facts
from earwitness.audit.replay.search_rules import rules, why_none
from earwitness.audit.replay.search_standing import Standing
from earwitness.audit.replay.search_steps import Step, entered
from earwitness.audit.replay.search_variants import VARIANTS
from earwitness.audit.replay.search_words import FAMILIES, Change, State, condition_file, keys_changed
from earwitness.audit.replayed.detector import looked_for_names
from earwitness.audit.stats import wilson
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError

Row = dict[str, Any]
TRIED: dict[str, Callable[[Standing], Iterator[Change]]] = {**VARIANTS, "rule": rules}


@dataclass(frozen=True)
class Ask:
    """What is asked of a search.

    Attributes:
        condition: one of those replayed.
        setting: which recipients count as known.
        mode: each event by itself, or with what was sanitized not passed on.
        steps: so many changes one after the other, each the best after those before.
        families: which are tried.
    """

    condition: Condition
    setting: Setting = "paper"
    mode: Mode = "independent"
    steps: int = 0
    families: Sequence[str] = FAMILIES


_TOTALS = "SELECT count(*) FROM replays WHERE condition = ? AND setting = ?"


def search(case: Case, ask: Ask) -> Row:
    """Single changes of a replayed condition, those that remove most first, and a greedy sequence if asked for.

    Args:
        case: audited and replayed; it stays as it is.
        ask: what is searched.

    Returns:
        residual, correct_allow (k and n as replayed), changes, steps, final (the condition after the steps, as a file),
        left_out (what was not tried, why, and the cure).

    Raises:
        InputError: the condition was not replayed so, or the case has changed since.
    """
    if not case.one(_TOTALS, [ask.condition.name, ask.setting]):
        name = f"{ask.condition.name}, {ask.setting}"
        raise InputError(f"{name}: not replayed in this case; run `earwitness replay` first")
    try:
        bench, facts = lay_out(case, ask.condition, ask.setting, in_force(case), rules_in_force(case))
        state = State(ask.condition, ask.setting)
        codes = bench.codes(ask.condition, ask.setting)
        start = Standing(bench, facts, state, codes, facts.remains, facts.sanitize)
        rows, first = _round(start, ask)
        found: Row = _totals(facts, facts.counted(facts.remains, ask.mode))
        found["changes"] = sorted((r for r in rows if r["removed"] or r["added"]), key=_rank)
        found |= _steps(start, first, ask)
        found["left_out"] = list(_left_out(start, ask))
    finally:
        clear(case)
    return found


def _tried(s: Standing, families: Sequence[str]) -> Iterator[Change]:
    for family in FAMILIES:
        if family in families:
            yield from TRIED[family](s)


def _round(s: Standing, ask: Ask) -> tuple[list[Row], Step | None]:
    """All changes as told, and the best of those that somebody could make; one is kept at a time."""
    rows, best = [], None
    for change in _tried(s, ask.families):
        row = _told(s, change, ask.mode)
        rows.append(row)
        if row["net_removed"] > 0 and not change.bound and (best is None or _rank(row) < _rank(best.row)):
            best = Step(change, row)
    return rows, best


def _rank(row: Row) -> tuple[Any, ...]:
    """Most removed first, then least lost, then what can be written down, what is narrower, the order of words."""
    unsaid = row["condition"] is None and row["policy"] is None
    names = (row["family"], row["change"], row["by"] or "", row["cell"] or "")
    return (-row["net_removed"], row["net_lost"], unsaid, row["by"] is None, *names)


def _totals(facts: Facts, kept: Bools, truth: Bools | None = None) -> Row:
    truth = facts.sanitize if truth is None else truth
    return {"residual": _rate(kept, truth), "correct_allow": _rate(kept, ~truth)}


def _rate(kept: Bools, among: Bools) -> Row:
    k, n = int((kept & among).sum()), int(among.sum())
    low, high = wilson(k, n) if n else (None, None)
    return {"k": k, "n": n, "rate": k / n if n else None, "low": low, "high": high}


def _told(s: Standing, change: Change, mode: str) -> Row:
    """What a change would do, under the policy in force and under the changed one."""
    facts = s.facts
    before, after = (facts.counted(found, mode) for found in (s.found, change.found))
    gone, back = before & ~after, after & ~before
    removed, added = (int((x & facts.sanitize).sum()) for x in (gone, back))
    lost, regained = (int((x & ~facts.sanitize).sum()) for x in (gone, back))
    residual = int((before & facts.sanitize).sum())
    return {
        "family": change.family,
        "change": change.change,
        "by": change.by,
        "cell": change.cell,
        "removed": removed,
        "added": added,
        "net_removed": removed - added,
        "share": (removed - added) / residual if residual else None,
        "lost": lost,
        "regained": regained,
        "net_lost": lost - regained,
        "assumed": int((gone & facts.sanitize & change.assumed).sum()),
        "bound": change.bound,
        **_totals(facts, after),
        "under_changed": None if change.truth is None else _totals(facts, after, change.truth),
        "condition": keys_changed(s.state, change.state),
        "policy": change.policy,
    }


def _steps(start: Standing, first: Step | None, ask: Ask) -> Row:
    """The greedy sequence: each row the best change after those before."""
    steps: list[Step] = []
    s, best = start, first
    while best and len(steps) < ask.steps:
        s = entered(s, best.change)
        steps.append(best)
        best = _round(s, ask)[1] if len(steps) < ask.steps else None
    title = f"{ask.condition.name} after {len(steps)} changes found by search"
    final = condition_file(s.state, "searched", title) if steps else None
    return {"steps": [{"step": n} | step.row for n, step in enumerate(steps, 1)], "final": final}


def _left_out(s: Standing, ask: Ask) -> Iterator[Row]:
    """What was not tried, why, and what to run for it."""
    again = f"earwitness replay run CASE --condition {ask.condition.name}"
    if "detector" in ask.families:
        if "presidio" not in s.bench.detectors:
            yield {"what": "presidio", "why": "not scanned", "run": f"{again} --condition presidio"}
        if "replayed" not in s.bench.detectors:
            yield {"what": "recognizers", "why": "not scanned", "run": f"{again} --condition dynamic"}
        if not looked_for_names(s.bench.case):
            yield {"what": "ner", "why": "not scanned", "run": f"earwitness audit --case CASE --ner, then {again}"}
    why = why_none(s)
    if "rule" in ask.families and why:
        yield {"what": "rules", "why": why, "run": None}
    if "rule" in ask.families and ask.condition.decision.startswith("topology"):
        yield {"what": "rules", "why": "what a rule makes unreachable is not counted", "run": None}
    unruled = int(
        s.bench.case.one("SELECT count(*) FROM verdicts WHERE standing = 'confirmed' AND dynamic = 'unruled'")
    )
    if unruled:
        yield {"what": f"{unruled:,} occurrences", "why": "no policy rules on them", "run": None}
