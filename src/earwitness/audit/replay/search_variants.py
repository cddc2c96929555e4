"""The changes of a condition that are tried: each family is a function over where the search stands."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace as changed
from typing import Any, get_args

import numpy as np
from msgspec.structs import replace

from earwitness.audit.replay.condition import BY_RECIPIENT, Condition, Decision, Detector, Plan, Transform
from earwitness.audit.replay.judging import closed_channels
from earwitness.audit.replay.search_facts import CODES, PASSED, Bools
from earwitness.audit.replay.search_standing import Standing
from earwitness.audit.replay.search_words import Added, Change, flow, with_detector
from earwitness.schema.words import CHANNELS, VALUE_TYPES, Channel, ValueType

Changes = Iterator[Change]
BY_NAME = {"replayed": "recognizer", "presidio": "entity"}
# So many floors are tried, of all that make a difference.
_FLOORS = 5
_HIGHEST = 1.0


def detectors(s: Standing) -> Changes:
    """Known values detected besides, second detectors, and recognizers left out."""
    yield from _known(s)
    for other in ("replayed", "presidio"):
        if other in s.bench.detectors and other != s.condition.detector:
            yield from _second(s, other)
    if s.condition.detector in BY_NAME and s.state.dropped is None:
        by = BY_NAME[s.condition.detector]
        for name in s.bench.names(s.condition.detector):
            state = changed(s.state, dropped=name)
            codes = Standing(s.bench, s.facts, state, s.codes, s.found, s.truth).codes_of(s.condition)
            yield s.change(
                "detector", "detect without what one alone finds", state, codes, cell=(by, name), measured=False
            )


def _known(s: Standing) -> Changes:
    if s.condition.detector == "oracle":
        return
    oracle = with_detector(s.condition, "oracle")
    codes = s.bench.codes(oracle, s.state.setting)
    whole = changed(s.state, condition=oracle, added=(), dropped=None)
    yield s.change("detector", "detect every known value", whole, codes, measured=False, bound=True)
    missed = s.facts.sanitize & s.found & (s.facts.least(s.codes) < PASSED)
    both = np.maximum(s.codes, codes)
    for column in ("attribute", "value_type", "channel"):
        for by, (cell,), mask in s.cells(column, among=missed):
            state = changed(s.state, added=(*s.state.added, Added("oracle", None, column, cell)))
            # An attribute may get a recognizer of its own; the others only say where to look.
            how: dict[str, Any] = {"cell": (by, cell), "mask": mask, "measured": False, "bound": column != "attribute"}
            yield s.change("detector", "detect also every known value", state, both, **how)


def _second(s: Standing, detector: Detector) -> Changes:
    """Another detector in its place, or beside it as a whole and by what each of its recognizers finds."""
    condition = with_detector(s.condition, detector)
    codes = s.bench.codes(condition, s.state.setting)
    instead = changed(s.state, condition=condition, added=(), dropped=None)
    yield s.change("detector", f"detect by {_TITLES[detector]} instead", instead, codes, measured=False)
    both = np.maximum(s.codes, codes)
    state = changed(s.state, added=(*s.state.added, Added(detector)))
    yield s.change("detector", f"detect also by {_TITLES[detector]}", state, both, measured=False)
    for name in s.bench.names(detector):
        one = np.maximum(s.codes, s.bench.codes(condition, s.state.setting, only=name))
        state = changed(s.state, added=(*s.state.added, Added(detector, name)))
        cell = (BY_NAME[detector], name)
        yield s.change("detector", f"detect also by {_TITLES[detector]}", state, one, cell=cell, measured=False)


_TITLES: Mapping[str, str] = {"replayed": "the recognizers", "presidio": "presidio"}


def resolution(s: Standing) -> Changes:
    """Recipients by every grade of evidence, or by evidence of one kind."""
    condition = s.condition
    if condition.decision not in BY_RECIPIENT or s.state.setting != "paper" or condition.recipients is not None:
        return
    words, codes = "resolve recipients by every grade", s.codes_of(condition, "extended")
    yield s.change("resolution", words, changed(s.state, setting="extended", named=()), codes)
    for by, cell, mask, pair in _evidence(s):
        state = changed(s.state, named=(*s.state.named, pair))
        yield s.change("resolution", words, state, codes, cell=(by, ", ".join(cell)), mask=mask)


def _evidence(s: Standing) -> Iterator[tuple[str, tuple[str, ...], Bools, tuple[str | None, str | None]]]:
    """Channels, grades, and both where that is less than either. A delivery is resolved as a whole: the same text to
    the same recipient is judged alike.
    """
    known = s.facts.frame["recipient"].is_not_null().to_numpy()
    classes = s.facts.frame["class"].to_numpy()
    sizes: dict[str, int] = {}
    for columns in (("channel",), ("grade",), ("channel", "grade")):
        for by, cell, mask in s.cells(*columns, among=known):
            alike = np.isin(classes, np.unique(classes[mask & known]))
            sizes[", ".join(cell)] = size = int(alike.sum())
            if len(cell) == 1 or size < min(sizes[c] for c in cell):
                named = dict(zip(columns, cell, strict=True))
                yield by, cell, alike, (named.get("channel"), named.get("grade"))


def fallback(s: Standing) -> Changes:
    """Sanitize what has no known recipient, on every channel or on one."""
    condition = s.condition
    if condition.decision not in BY_RECIPIENT:
        return
    words = "sanitize where no recipient is known"
    now = closed_channels(Plan(0, condition, s.state.setting), s.bench.policy)
    codes = s.codes_of(replace(condition, fallback=_closed(CHANNELS)))
    yield _closing(s, words, [*CHANNELS], codes, None)
    for _, (channel,), mask in s.cells("channel"):
        if channel not in now:
            yield _closing(s, words, [c for c in CHANNELS if c in (*now, channel)], codes, (channel, mask))


def _closing(s: Standing, words: str, closed: list[Channel], codes: Any, cell: Any) -> Change:
    """As a key of the condition; where that leaves it to the policy, as a line of that, too."""
    state = changed(s.state, condition=replace(s.condition, fallback=_closed(closed)))
    more = {}
    if s.condition.fallback is None:
        nobody = s.facts.frame["recipient"].is_null().to_numpy() & np.isin(s.facts.column("channel"), closed)
        spared = s.facts.frame["asked"].to_numpy()
        more = {"truth": s.truth | nobody & ~spared, "policy": f"fallback: {flow(_closed(closed))}"}
    name, mask = cell or (None, None)
    return s.change("fallback", words, state, codes, cell=("channel", str(name)) if cell else None, mask=mask, **more)


def _closed(channels: Any) -> dict[Channel, Any]:
    return dict.fromkeys(channels, "closed")


def confidence(s: Standing) -> Changes:
    """Uncertain finds judged like certain ones; higher floors: of several that leave the same the lowest."""
    condition = s.condition
    if condition.decision not in BY_RECIPIENT:
        return
    if condition.protect_uncertain:
        yield from _floors(
            s, "judge uncertain finds like certain ones", replace(condition, protect_uncertain=False), 0.0
        )
    lowest: dict[str | None, bytes] = {}
    for level in _levels(s):
        whole = replace(condition, protect_uncertain=True, confidence=dict.fromkeys(CHANNELS, level))
        for change in _floors(s, f"protect finds of a confidence below {level:g}", whole, level):
            left = (change.found & s.facts.sanitize).tobytes()
            if lowest.get(change.cell) != left:
                yield change
            lowest[change.cell] = left


def _floors(s: Standing, words: str, whole: Condition, level: float) -> Changes:
    """A floor on every channel, or on one."""
    codes = s.codes_of(whole)
    yield s.change("confidence", words, changed(s.state, condition=whole), codes)
    if not s.condition.protect_uncertain:
        return
    for _, (channel,), mask in s.cells("channel"):
        floors = {k: v for k, v in (s.condition.confidence | {channel: level}).items() if v}
        one = replace(s.condition, confidence=floors)
        yield s.change(
            "confidence", words, changed(s.state, condition=one), codes, cell=("channel", channel), mask=mask
        )


def _levels(s: Standing) -> list[float]:
    """Floors above those in force, spread over the confidences of what is found; the highest protects all below 1."""
    lowest = min((s.condition.confidence.get(c, 0.0) for c in CHANNELS), default=0.0)
    found = [c for c in s.bench.floors(s.condition.detector) if lowest < c < _HIGHEST]
    step = max(1, -(-len(found) // _FLOORS))
    return [*found[::step], _HIGHEST]


def decision(s: Standing) -> Changes:
    """Other ways to decide."""
    for how in get_args(Decision):
        if how not in (s.condition.decision, "allow_all"):
            condition = replace(s.condition, decision=how)
            yield s.change("decision", f"decide by {how}", changed(s.state, condition=condition), s.codes_of(condition))


def transform(s: Standing) -> Changes:
    """Redaction in place of what else is done to a type of value; a backstop where there is none."""
    given: dict[ValueType, Transform] | None = s.condition.transforms
    now: dict[ValueType, Transform] = dict(s.bench.policy.transforms if given is None else given)
    tried = [(t,) for t in VALUE_TYPES if now.get(t) not in ("redact", "block")]
    for types in (*([tuple(t for (t,) in tried)] if len(tried) > 1 else []), *tried):
        condition = replace(s.condition, transforms=now | dict.fromkeys(types, "redact"))
        cell = ("value_type", types[0]) if types in tried else None
        state = changed(s.state, condition=condition)
        yield s.change("transform", "redact whatever else was done", state, s.codes_of(condition), cell=cell)
    if not s.condition.backstop:
        yield _backstop(s)


def _backstop(s: Standing) -> Change:
    """A rewriting that still holds the value becomes a redaction."""
    state = changed(s.state, condition=replace(s.condition, backstop=True))
    again = s.found & (s.facts.least(s.codes) == CODES["rewrite"])
    codes = np.where(again[s.facts.owner] & (s.codes == CODES["rewrite"]), CODES["redact"], s.codes)
    return s.change("transform", "refuse rewritings that still hold the value", state, codes.astype(np.int8))


VARIANTS: dict[str, Callable[[Standing], Changes]] = {
    "detector": detectors,
    "resolution": resolution,
    "fallback": fallback,
    "confidence": confidence,
    "decision": decision,
    "transform": transform,
}
