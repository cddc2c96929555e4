"""The audit: a tuple of stages, each reading tables and writing tables, each of which can be run again."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from earwitness.audit.decide import decide
from earwitness.audit.detect import NO_TIERS, Tiers, detect
from earwitness.audit.fidelity import assess_fidelity
from earwitness.audit.measure import measure
from earwitness.audit.policies import apply_policy
from earwitness.audit.rulesets import DEFAULT, RuleSet
from earwitness.graph.exposures import find_exposures
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyValue, load_policy
from earwitness.schema.progress import Progress, silent
from earwitness.schema.vaultfile import load_vault


@dataclass(frozen=True)
class Request:
    """What is asked of an audit.

    Attributes:
        rules: how values are matched and which rules count.
        policy: None for what the traces carry themselves.
        policy_sha256: of the policy file.
        vault: values from a vault file.
        tiers: what looks for values beside the registry; rule sets without forms have none.
        fidelity: look at every telling of a value, whether it is told right; takes as long as detection.
        progress: told what is being done.
    """

    rules: RuleSet = DEFAULT
    policy: Policy | None = None
    policy_sha256: str | None = None
    vault: Sequence[PolicyValue] = ()
    tiers: Tiers = field(default_factory=Tiers)
    fidelity: bool = False
    progress: Progress = field(default=silent)


class Stage(NamedTuple):
    """A stage and the function that runs it."""

    name: str
    run: Callable[[Case, Request], object]


def _policy(case: Case, request: Request) -> None:
    apply_policy(case, request.policy, request.vault)


def _detect(case: Case, request: Request) -> None:
    detect(case, request.rules, request.tiers if request.rules.forms else NO_TIERS, request.progress)


def _decide(case: Case, request: Request) -> None:
    decide(case, request.policy, request.rules)


def _graph(case: Case, request: Request) -> None:
    find_exposures(case)


def _fidelity(case: Case, request: Request) -> None:
    if request.fidelity:
        assess_fidelity(case)
    else:
        case.clear("fidelity")


def _measure(case: Case, request: Request) -> None:
    measure(case)
    # What a replay concluded holds for the verdicts it saw; what it read and made stays, for the next one.
    case.clear("replays", "replay_figures", "replay_pairs", "replay_deliveries", "replay_checks")


STAGES: tuple[Stage, ...] = (
    Stage("policy", _policy),
    Stage("detect", _detect),
    Stage("decide", _decide),
    Stage("graph", _graph),
    Stage("fidelity", _fidelity),
    Stage("measure", _measure),
)


def audit(case: Case, request: Request, stages: Sequence[Stage] = STAGES) -> dict[str, float]:
    """Judge an imported case; gives the seconds each stage took. Running it again judges anew, without importing.

    All or nothing: an audit that is killed leaves the findings of the one before.
    """
    seconds = {}
    with case.transaction():
        for stage in stages:
            started = time.monotonic()
            request.progress(stage.name, 0)
            with case.stage(stage.name, {"rules": request.rules.name}, request.policy_sha256):
                stage.run(case, request)
            seconds[stage.name] = time.monotonic() - started
    return seconds


def read_request(
    policy: Path | None, vault: Path | None, rules: RuleSet, tiers: Tiers | None = None, progress: Progress = silent
) -> Request:
    """A request from files; a `vault` named inside the policy is read from beside it.

    Raises:
        PolicyError: naming file, line and path.
    """
    found, sha256 = load_policy(policy) if policy else (None, None)
    values = list(load_vault(vault)) if vault else []
    if policy and found and found.vault:
        values += load_vault(policy.parent / found.vault)
    # A file named twice, by the policy and beside it, gives each value once.
    return Request(rules, found, sha256, tuple(dict.fromkeys(values)), tiers or Tiers(), progress=progress)
