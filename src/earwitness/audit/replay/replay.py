"""A replay: a tuple of steps over the tables of an audited case, each condition on the same events and values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import msgspec

from earwitness.audit.decide import in_force
from earwitness.audit.judge.options import JudgeOptions
from earwitness.audit.replay import costs, deciding, outcome, rewriters, texts
from earwitness.audit.replay.condition import SETTINGS, Condition, Plan, Setting, plans
from earwitness.audit.replay.figures import count_figures
from earwitness.audit.replay.judging import judge
from earwitness.audit.replay.measuring import measure_again
from earwitness.audit.replay.places import find_places
from earwitness.audit.replay.spans import gather, look
from earwitness.audit.replay.verified import keep_checks, note_introduced
from earwitness.audit.rulesets import DEFAULT, RULE_SETS, RuleSet
from earwitness.audit.transform.keys import Keys
from earwitness.schema.case import Case
from earwitness.schema.errors import MissingExtraError
from earwitness.schema.policy import Policy
from earwitness.schema.progress import Progress, silent


@dataclass(frozen=True)
class Request:
    """What is asked of a replay.

    Attributes:
        conditions: those to replay.
        keys: of the transforms.
        settings: which recipients count as known: each condition is replayed in each.
        progress: told what is being done.
        rewriter: a model that rewrites contextual values, and how to ask it; it sees them. None: nobody is asked.
    """

    conditions: Sequence[Condition]
    keys: Keys
    settings: tuple[Setting, ...] = SETTINGS
    progress: Progress = field(default=silent)
    rewriter: JudgeOptions | None = None


@dataclass
class State:
    """What the steps hand on besides tables."""

    request: Request
    policy: Policy
    rules: RuleSet
    plans: list[Plan]
    kits: texts.Kits
    skipped: dict[str, str] = field(default_factory=dict)
    made: int = 0


Step = Callable[[Case, State], None]


def _forget(case: Case, state: State) -> None:
    """What was measured with other values does not hold any more."""
    detected = f"{case.meta('detected')} {state.rules.name}"
    if case.meta("measured_again") != detected:
        case.clear("replay_matches", "replay_streams")
        case.set_meta("measured_again", detected)


def _places(case: Case, state: State) -> None:
    find_places(case, state.rules, state.request.progress)
    if state.request.rewriter:
        rewriters.forget_unanswered(case)
    gather(case)
    for statement in (*outcome.PREPARE, *texts.PREPARE, *costs.PREPARE):
        case.execute(statement)


def _decide(case: Case, state: State) -> None:
    """Detect and judge once for plans that do both alike; decide for each."""
    case.clear("replay_deliveries")
    state.plans.sort(key=_alike)
    for _, some in groupby(list(state.plans), key=_alike):
        _decide_alike(case, state, list(some))
    state.plans.sort(key=lambda p: p.number)
    _drop(case, "rp_span", "rp_touch", "rp_ask", "rp_judged", "rp_act", "rp_spot")


def _alike(plan: Plan) -> tuple[str, str]:
    return plan.condition.detector, plan.condition.attributes


def _decide_alike(case: Case, state: State, alike: list[Plan]) -> None:
    condition = alike[0].condition
    try:
        look(case, condition, state.rules, state.request.progress)
    except MissingExtraError as error:
        state.skipped |= {p.condition.name: str(error) for p in alike}
        state.plans = [p for p in state.plans if p not in alike]
        return
    travels = any(p.condition.decision.startswith("topology") for p in alike)
    judge(case, state.policy, state.rules, travels=travels)
    deciding.decide(case, alike, state.policy, state.kits, state.request.progress)


def _transform(case: Case, state: State) -> None:
    state.made = texts.make_texts(case, state.kits, state.request.progress)
    _drop(case, "rp_wanted")


def _measure(case: Case, state: State) -> None:
    measure_again(case, state.plans, state.rules, state.request.progress)


def _conclude(case: Case, state: State) -> None:
    outcome.conclude(case, state.plans, state.policy, state.rules)


def _count(case: Case, state: State) -> None:
    costs.note_kept(case)
    note_introduced(case)
    count_figures(case)


def _verify(case: Case, state: State) -> None:
    state.request.progress("verifying what was made", 0)
    keep_checks(case, state.kits, state.made)


def _tidy(case: Case, state: State) -> None:
    _drop(case, *(f"rp_{name}" for name in _KEPT))


def _drop(case: Case, *tables: str) -> None:
    """What is not needed any more makes room."""
    for table in tables:
        case.execute(f"DROP TABLE IF EXISTS {table}")


_KEPT = ("class", "flow", "known", "occ", "handled", "sent", "stream", "outbox", "plan", "left", "downstream", "done",
         "spot_all", "cost", "drawn")  # fmt: skip


STEPS: tuple[Step, ...] = (_forget, _places, _decide, _transform, _measure, _conclude, _count, _verify, _tidy)


def replay(case: Case, request: Request, steps: Sequence[Step] = STEPS) -> dict[str, str]:
    """Replay conditions over an audited case; gives those that were left out, and why. All or nothing.

    Detections, places, changed texts and what was measured in them are kept in the case, so that a replay under
    another policy need not look at a text again. So are answers of a rewriter, even if the replay fails.

    Raises:
        JudgeError: the rewriter refuses the key or the model, or its URL is none.
        MissingExtraError: the rewriter, or what checks rewritings, needs an extra that is not installed.
    """
    known = plans(list(request.conditions), request.settings)
    key = {"mark": request.keys.mark, "ephemeral": request.keys.ephemeral}
    parameters = {"conditions": [c.name for c in request.conditions], "settings": list(request.settings), "key": key}
    with rewriters.opened(case, request.rewriter) as rewriter:
        kits = rewriters.toolkits(case, request.conditions, request.keys, rewriter)
        state = State(request, in_force(case), rules_in_force(case), known, kits)
        with case.stage("replay", parameters):
            for step in steps:
                step(case, state)
            parameters |= {"skipped": state.skipped, "rewriter": rewriters.told(rewriter, kits)}
    return state.skipped


def rules_in_force(case: Case) -> RuleSet:
    """The rule set of the last audit."""
    told = case.one("SELECT parameters FROM runs WHERE stage = 'decide' ORDER BY run DESC LIMIT 1")
    return RULE_SETS.get(msgspec.json.decode(told)["rules"], DEFAULT) if told else DEFAULT
