"""Every step of a replay for one occurrence, made again by the replay's own SQL over the run it belongs to.

What a replay decides on a delivery depends on its run alone, so that the temporary tables of a replay are filled for
that run and the condition asked for, and read. What comes out must be what is stored: else the case, the policy or the
condition has changed since, and nothing is explained. The case stays as it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from earwitness.audit.decide import in_force
from earwitness.audit.replay import outcome, texts
from earwitness.audit.replay.condition import Condition, Plan, find, shipped
from earwitness.audit.replay.explain_names import Named
from earwitness.audit.replay.explain_pieces import Cut, Stretch, cuts, joined_cuts, stretches
from earwitness.audit.replay.explain_steps import Measured, Place, Teller, measured, places, tellers
from earwitness.audit.replay.export import check_replayed
from earwitness.audit.replay.judging import act, closed_channels, judge
from earwitness.audit.replay.measuring import measure_again
from earwitness.audit.replay.replay import rules_in_force
from earwitness.audit.replay.spans import gather, look
from earwitness.audit.transform.words import Task
from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError, InputError
from earwitness.schema.progress import silent

# What `replays` says of an occurrence under one condition.
FATE = ("resolved", "detected", "action", "done", "reason", "rule", "confidence", "remains", "downstream", "cause")


@dataclass(frozen=True)
class Trouble:
    """A piece that did not become what was asked for, or only after several tries."""

    span: tuple[int, int]
    asked: str
    done: str
    exception: str | None
    cause: str | None
    tries: int


@dataclass(frozen=True)
class Steps:
    """What one condition did with the occurrence, step by step. Texts are in clear: mask them.

    Attributes:
        plan: condition and setting.
        fate: what `replays` says, by the names in `FATE`.
        closed: what has no known recipient is sanitized on this channel.
        floor: finds of less confidence are uncertain on this channel.
        places: where the value stands, and what was found there and decided on it.
        text: as recorded.
        changed: as it would have been delivered; None: as recorded.
        cuts: pieces of the text that were replaced.
        stretches: where their replacements stand.
        troubles: pieces that did not become what was asked for.
        measured: what is still found of the value, and how that counts.
        tellers: earlier deliveries of the value to the sender.
        given: the sender had the value from the start.
    """

    plan: Plan
    fate: dict[str, Any]
    closed: bool
    floor: float
    places: tuple[Place, ...]
    text: str
    changed: str | None
    cuts: tuple[Cut, ...]
    stretches: tuple[Stretch, ...]
    troubles: tuple[Trouble, ...]
    measured: Measured
    tellers: tuple[Teller, ...]
    given: bool


_shipped = cache(shipped)


def fates(case: Case, named: Named) -> list[dict[str, Any]]:
    """What became of an occurrence under every condition of the last replay: `condition`, `setting`, `truth`, `FATE`.

    The order is that of the replay; conditions that stand in two settings have two rows.
    """
    rows = case.rows(
        f"""SELECT condition, setting, truth, {", ".join(FATE)} FROM replays
            WHERE event = ? AND value = ? AND recipient IS NOT DISTINCT FROM ?""",
        [named.event, named.value, named.recipient],
    )
    order = {name: n for n, name in enumerate(_shipped())}
    found = [dict(zip(("condition", "setting", "truth", *FATE), row, strict=True)) for row in rows]
    return sorted(found, key=lambda f: (order.get(f["condition"], len(order)), f["condition"], f["setting"] != "paper"))


def wanted(known: Sequence[dict[str, Any]], names: Sequence[str], settings: Sequence[str]) -> list[Plan]:
    """The replayed conditions that are asked for, numbered.

    Args:
        known: of `fates`.
        names: names of shipped conditions or YAML files; none: `dynamic`, else the first that was replayed.
        settings: the recipient settings asked for; a condition that stands in another alone is told in that.

    Raises:
        InputError: one was not replayed, or is known by its file alone.
    """
    replayed = list(dict.fromkeys(f["condition"] for f in known))
    chosen = [_found(name, replayed) for name in names or _default(replayed)]
    pairs = []
    for condition in {c.name: c for c in chosen}.values():
        there = [f["setting"] for f in known if f["condition"] == condition.name]
        pairs += [(condition, s) for s in there if s in settings or not set(there) & set(settings)]
    return [Plan(n, condition, setting) for n, (condition, setting) in enumerate(pairs)]


def _default(replayed: Sequence[str]) -> list[str]:
    return ["dynamic"] if "dynamic" in replayed else list(replayed[:1])


def _found(name: str, replayed: Sequence[str]) -> Condition:
    known = _shipped()
    if name in replayed and name not in known:
        raise InputError("that condition came from a file: give the file, --condition FILE.yaml, to have it explained")
    condition = known.get(name) or find(name)
    if condition.name not in replayed:
        told = ", ".join(n if n in known else "one from a file" for n in replayed)
        raise InputError(f"{condition.name}: was not replayed in this case; there are: {told}")
    return condition


def explain(case: Case, named: Named, known: Sequence[dict[str, Any]], plans: Sequence[Plan]) -> list[Steps]:
    """Every step of some conditions for one occurrence; the case stays as it is.

    Args:
        case: audited and replayed.
        named: the occurrence.
        known: of `fates`.
        plans: of `wanted`.

    Raises:
        CaseError: what comes out is not what is stored.
        MissingExtraError: the detector of a condition is not installed.
    """
    check_current(case)
    stored = {(f["condition"], f["setting"]): f for f in known}
    with case.undone():
        _gather(case, named, plans)
        alike = sorted(plans, key=lambda p: (p.condition.detector, p.condition.attributes))
        found = {p.number: step for _, some in groupby(alike, key=_looks) for p, step in _decide(case, named, some)}
        measure_again(case, plans, rules_in_force(case), silent)
        outcome.conclude(case, list(plans), in_force(case), rules_in_force(case))
        _agree(case, named, stored)
        return [_steps(case, named, p, stored[p.condition.name, p.setting], *found[p.number]) for p in plans]


def check_current(case: Case) -> None:
    """Refuse a case without a replay, or with an older one than its audit or import.

    Raises:
        CaseError: saying which, and what to run.
    """
    check_replayed(case)
    last = "SELECT coalesce(max(run), -1) FROM runs WHERE stage = ?"
    if case.one(last, ["import"]) > case.one(last, ["replay"]):
        raise CaseError(f"{case.path or 'case'}: traces were imported since the last replay; {_cure(case)}")


def _cure(case: Case) -> str:
    name = case.path or "case"
    return f"run `earwitness audit --case {name}` and `earwitness replay {name}` again"


def _looks(plan: Plan) -> tuple[str, str]:
    return plan.condition.detector, plan.condition.attributes


_OTHERS = (
    "DELETE FROM rp_class WHERE trace <> {trace}",
    "DELETE FROM rp_flow WHERE class NOT IN (SELECT class FROM rp_class)",
    "DELETE FROM rp_known WHERE trace <> {trace}",
)
# What would have been delivered is what the replay kept.
_SENT = """
    INSERT INTO rp_sent
    SELECT DISTINCT ?, f.class, d.variant FROM replay_deliveries d
    JOIN rp_flow f ON f.event = d.event AND f.recipient IS NOT DISTINCT FROM d.recipient
    WHERE d.condition = ? AND d.setting = ?
"""


def _gather(case: Case, named: Named, plans: Sequence[Plan]) -> None:
    """The tables of a replay, for one run."""
    gather(case)
    for statement in _OTHERS:
        case.execute(statement.format(trace=named.trace))
    for statement in (*outcome.PREPARE, *texts.PREPARE):
        case.execute(statement)
    for plan in plans:
        case.execute(_SENT, [plan.number, plan.condition.name, plan.setting])


_OCCURRENCE = "SELECT occ, class FROM rp_occ WHERE event = ? AND value = ? AND recipient IS NOT DISTINCT FROM ?"
_TASKS = """
    SELECT s.start, s.stop, a.attribute, s.entity, a.value_type, s.canonical, a.action
    FROM rp_act a JOIN rp_span s USING (span) WHERE a.class = ? AND a.action <> 'allow' ORDER BY ALL
"""


def _decide(case: Case, named: Named, some: Iterator[Plan]) -> Iterator[tuple[Plan, tuple[Any, ...]]]:
    """Detect and judge once; for each plan the places with their finds, and the tasks on the delivery."""
    alike = list(some)
    rules, policy = rules_in_force(case), in_force(case)
    look(case, alike[0].condition, rules, silent)
    judge(case, policy, rules, travels=any(p.condition.decision.startswith("topology") for p in alike))
    case.execute(outcome.SPOTS)
    occurrence = case.rows(_OCCURRENCE, [named.event, named.value, named.recipient])
    if not occurrence:
        raise _changed(case)
    for plan in alike:
        act(case, plan, policy)
        outcome.handle(case, plan)
        tasks = tuple(Task(*row) for row in case.rows(_TASKS, [occurrence[0][1]]))
        yield plan, (places(case, named, plan, *occurrence[0]), tasks)


def _changed(case: Case) -> CaseError:
    return CaseError(
        f"{case.path or 'case'}: what the replay stored of this occurrence is not what comes out now: values, policy, "
        f"condition or program have changed since; {_cure(case)}"
    )


def _agree(case: Case, named: Named, stored: dict[tuple[str, str], dict[str, Any]]) -> None:
    """What was made again is what is stored.

    Raises:
        CaseError: it is not.
    """
    for made in fates(case, named):
        if made != stored[made["condition"], made["setting"]]:
            raise _changed(case)


_TEXT = """
    SELECT c.text, t.variant, t.text FROM events e JOIN contents c ON c.content = e.content
    LEFT JOIN replay_deliveries d ON d.event = e.event AND d.recipient IS NOT DISTINCT FROM ?
              AND d.condition = ? AND d.setting = ?
    LEFT JOIN replay_texts t ON t.variant = d.variant WHERE e.event = ? LIMIT 1
"""
_TROUBLES = """
    SELECT start, stop, asked, done, exception, cause, tries FROM replay_exceptions WHERE variant = ?
    ORDER BY start, stop, done
"""


def _steps(
    case: Case, named: Named, plan: Plan, fate: dict[str, Any], at: tuple[Place, ...], tasks: tuple[Task, ...]
) -> Steps:
    """All that is known of one condition, after `conclude`."""
    parameters = [named.recipient, plan.condition.name, plan.setting, named.event]
    text, variant, changed = case.rows(_TEXT, parameters)[0]
    cut = joined_cuts(text, tasks) if plan.condition.anonymizer == "presidio" else cuts(text, tasks)
    stretched = stretches(text, text if changed is None else changed, cut)
    if stretched is None or (variant is None) != (not tasks):
        raise _changed(case)
    troubles = [Trouble((a, b), *rest) for a, b, *rest in case.rows(_TROUBLES, [variant])]
    channel = case.one("SELECT channel FROM events WHERE event = ?", [named.event])
    told, given = tellers(case, named, plan)
    return Steps(
        plan=plan,
        fate={name: fate[name] for name in FATE},
        closed=channel in closed_channels(plan, in_force(case)),
        floor=plan.condition.confidence.get(channel, 0.0),
        places=at,
        text=text,
        changed=changed,
        cuts=tuple(cut),
        stretches=tuple(stretched),
        troubles=tuple(troubles),
        measured=measured(case, named, plan, changed=changed is not None, acted=_acted(at), remains=fate["remains"]),
        tellers=told,
        given=given,
    )


def _acted(at: tuple[Place, ...]) -> bool:
    return any(find.action != "allow" for place in at for find in place.finds)
