"""Single denying rules that would close what a policy lets pass. A rule also changes what should be sanitized.

Only rules that deny are tried: a rule that allows would lower a residual by calling a leak none.
"""

from collections.abc import Iterator
from dataclasses import replace as changed

import numpy as np

from earwitness.audit.replay.condition import BY_RECIPIENT
from earwitness.audit.replay.search_facts import PASSED, Bools, Codes
from earwitness.audit.replay.search_standing import Standing
from earwitness.audit.replay.search_words import Change, Denial, flow, with_detector

WORDS = "add a rule that denies"


def why_none(s: Standing) -> str | None:
    """Why rules cannot help, if so."""
    if "sanitize" not in s.bench.rules.effects:
        return "the rule set of the audit counts no rule that denies"
    if s.condition.decision not in ("static", *BY_RECIPIENT):
        return "the condition asks no rule"
    return None


def rules(s: Standing) -> Iterator[Change]:
    """Denials of the attributes that residual finds passed under: alone, on a channel, to a recipient or a role."""
    if why_none(s):
        return
    passed = s.passed
    places = passed[s.facts.owner] & (s.codes == PASSED)
    named = {s.condition.detector} | {a.detector for a in s.state.added}
    attributes = sorted({a for d in named for a in s.bench.attributes(d, places)})
    for attribute in attributes:
        yield from _of(s, attribute, passed)


def _of(s: Standing, attribute: str, passed: Bools) -> Iterator[Change]:
    wide = _codes(s, attribute, wide=True)
    whole = _change(s, Denial(attribute), wide, None)
    helped = passed & ~whole.found
    if not helped.any():
        return
    yield whole
    for _, (channel,), mask in s.cells("channel", among=helped):
        yield _change(s, Denial(attribute, channel=channel), wide, mask)
    narrow = _codes(s, attribute, wide=False)
    helped = passed & ~_change(s, Denial(attribute), narrow, None).found
    for _, (recipient,), mask in s.cells("recipient", among=helped):
        yield _change(s, Denial(attribute, recipient=recipient), narrow, mask)
    roles = s.facts.frame["roles"]
    for role in roles.filter(helped).explode().drop_nulls().unique().sort():
        yield _change(s, Denial(attribute, role=role), narrow, roles.list.contains(role).to_numpy())


def _codes(s: Standing, attribute: str, *, wide: bool) -> Codes:
    """What would be done at each place if the attribute were denied; a denial only ever adds."""
    out = np.maximum(s.codes, s.bench.denied(s.condition, s.state.setting, attribute, wide=wide, drop=s.state.dropped))
    for detector, name, mask in s.added():
        other = with_detector(s.condition, detector)
        codes = s.bench.denied(other, s.state.setting, attribute, wide=wide, only=name)
        out = np.maximum(out, np.where(mask[s.facts.owner], codes, 0))
    return out


def _change(s: Standing, denial: Denial, codes: Codes, mask: Bools | None) -> Change:
    state = changed(s.state, denials=(*s.state.denials, denial))
    spoken = (s.facts.column("attribute") == denial.attribute) & ~s.facts.frame["asked"].to_numpy()
    truth = s.truth | (spoken if mask is None else spoken & mask)
    given = {"channel": denial.channel, "recipient": denial.recipient, "role": denial.role}
    others = {k: v for k, v in given.items() if v is not None}
    cell = (", ".join(("attribute", *others)), ", ".join((denial.attribute, *others.values())))
    line = f"- {flow(denial.entry())}"
    return s.change("rule", WORDS, state, codes, cell=cell, mask=mask, truth=truth, policy=line)
