"""The measuring detector: which known value stands in which content, tier by tier, each with its cost and yield.

First tier wins: a later one only adds what those before have not found in a content.
"""

import time
from dataclasses import dataclass, field, replace

import msgspec

from earwitness.audit.annotations import apply_annotations
from earwitness.audit.judge.judge import run_judge
from earwitness.audit.judge.options import JudgeOptions
from earwitness.audit.match_forms import match_forms
from earwitness.audit.match_literal import match_literally
from earwitness.audit.promote import lacking, promote, soften
from earwitness.audit.registry import describe_values
from earwitness.audit.replayed.detector import replayed
from earwitness.audit.rulesets import RuleSet
from earwitness.audit.semantic.outcome import TierOutcome
from earwitness.audit.semantic.tier import THRESHOLDS, WIDE, Method, SemanticOptions, run_semantic
from earwitness.schema.case import Case
from earwitness.schema.errors import MissingExtraError
from earwitness.schema.progress import Progress, silent


@dataclass(frozen=True)
class Tiers:
    """What is to look for values beside the registry.

    Attributes:
        recognize: protect what recognizers find in traces that bring no values.
        ner: let a language model look for names there too (extra `ner`).
        semantic: methods that look for contextual values in other words.
        judge: asks a language model about what is only possible.
    """

    recognize: bool = True
    ner: bool = False
    semantic: tuple[Method, ...] = ("containment",)
    judge: JudgeOptions | None = field(default=None)


NO_TIERS = Tiers(recognize=False, semantic=())


def detect(case: Case, rules: RuleSet, tiers: Tiers = NO_TIERS, progress: Progress = silent) -> int:
    """Fill `matches` and `tiers`; gives the number of matches. Every distinct content is read once by each tier.

    Where neither contents, values nor the way to match have changed since the last time, nothing is read.

    Raises:
        JudgeError: the endpoint of the judge refuses the key or the model.
    """
    told = [_recognize(case, tiers, progress)] if tiers.recognize and lacking(case) else []
    describe_values(case)
    state = _state(case, rules, tiers)
    if case.meta("detected") != state:
        case.clear("matches", "tiers")
        told.append(_registry(case, rules, progress))
        soften(case)
        told += _further(case, tiers, progress)
        for outcome in told:
            _tell(case, outcome)
        case.set_meta("detected", "" if any(t.degraded for t in told) else state)
    apply_annotations(case)
    return case.count("matches")


def _recognize(case: Case, tiers: Tiers, progress: Progress) -> TierOutcome:
    """Values for the traces that bring none."""
    started, note = time.monotonic(), None
    try:
        replayed(case, tiers.ner, progress)
    except MissingExtraError as error:
        replayed(case, False, progress)
        note = str(error)
    values = promote(case)
    seconds = time.monotonic() - started
    told = f"{values:,} values for {lacking(case):,} traces that bring none"
    name = "recognizers and names" if tiers.ner else "recognizers"
    return _sized(case, TierOutcome(name, True, 0, 0, 0, seconds, note or told, note is not None))


def _registry(case: Case, rules: RuleSet, progress: Progress) -> TierOutcome:
    started = time.monotonic()
    note = None
    if rules.forms:
        note = match_forms(case, progress)
    else:
        match_literally(case, rules, progress)
    found = case.count("matches")
    return _sized(case, TierOutcome("registry", True, 0, 0, found, time.monotonic() - started, note))


def _further(case: Case, tiers: Tiers, progress: Progress) -> list[TierOutcome]:
    """Other words, then the judge; what a judge sorts out may be found more widely."""
    least = WIDE if tiers.judge else THRESHOLDS
    told = [run_semantic(case, SemanticOptions(method, least[method], progress)) for method in tiers.semantic]
    if tiers.judge:
        told.append(run_judge(case, replace(tiers.judge, progress=progress)))
    return told


def _sized(case: Case, outcome: TierOutcome) -> TierOutcome:
    """With the size of all contents: what looked at each of them."""
    n, length = case.rows("SELECT count(*), coalesce(sum(length(text)), 0)::BIGINT FROM contents")[0]
    return outcome._replace(contents=n, characters=length)


def _tell(case: Case, t: TierOutcome) -> None:
    """A tier that did less than it was asked for has not run in the sense of the report."""
    row = [t.tier, t.ran and not t.degraded, t.contents, t.characters, t.matches, t.seconds, t.note]
    case.execute("INSERT INTO tiers VALUES (?, true, ?, ?, ?, ?, ?, ?)", row)


def _state(case: Case, rules: RuleSet, tiers: Tiers) -> str:
    """What detection depends on, in short: an import changes the counts, a policy the values, an option the rules."""
    values = case.rows("""
        SELECT count(*), bit_xor(hash(attribute, text, aliases, scope, trace, scenario, origin, subject))::VARCHAR,
               sum(hash(value, text))::VARCHAR FROM vault
    """)
    sizes = [case.count(t) for t in ("contents", "events", "sightings", "sources")]
    judge = tiers.judge and (tiers.judge.url, tiers.judge.model, tiers.judge.threshold, tiers.judge.weak)
    return msgspec.json.encode([rules, tiers.recognize, tiers.ner, tiers.semantic, judge, values, sizes]).decode()
