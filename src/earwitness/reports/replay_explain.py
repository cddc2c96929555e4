"""Every step of a replay for one occurrence, as one object: the record, the truth, and what each condition did."""

from collections.abc import Callable, Sequence
from pathlib import Path

from earwitness.audit.replay.condition import BY_RECIPIENT
from earwitness.audit.replay.explain import Steps, check_current, explain, fates, wanted
from earwitness.audit.replay.explain_names import Named, drop_names, find_named, name_all
from earwitness.audit.replay.explain_record import record, rule_lines, rule_of, told_at_replay, told_policy
from earwitness.audit.replay.explain_steps import Find, Place
from earwitness.reports.replay_explain_excerpt import Label, around, near, replaced, settled
from earwitness.reports.shown import Row, Shown

_LABELS = """
    SELECT DISTINCT start, stop, value, true FROM (
        SELECT p.start, p.stop, p.value FROM replay_places p JOIN events e ON e.content = p.content WHERE e.event = ?
        UNION ALL
        SELECT m.start, m.stop, m.value FROM matches m JOIN events e ON e.content = m.content WHERE e.event = ?)
"""
_OTHERS = """
    SELECT DISTINCT d.start, d.stop, d.entity FROM detections d JOIN events e ON e.content = d.content WHERE e.event = ?
    UNION SELECT d.start, d.stop, d.entity FROM replay_found d JOIN events e ON e.content = d.content WHERE e.event = ?
"""
Lines = dict[str, int]


def explained(shown: Shown, word: str, names: Sequence[str], settings: Sequence[str], policy: Path | None) -> Row:
    """Explain the occurrence that a handle means; the case stays as it is.

    Args:
        shown: a replayed case and what may be shown of it.
        word: the handle, or its beginning.
        names: conditions, by name or file; none: `dynamic`.
        settings: recipient settings.
        policy: the policy file of the audit, for the lines of its rules.

    Raises:
        CaseError: nothing was replayed, or something has changed since.
        InputError: no or several occurrences are called so; the condition was not replayed; it is another policy.
    """
    case = shown.case
    check_current(case)
    lines = None if policy is None else rule_lines(case, policy)
    name_all(case)
    try:
        named = find_named(case, word)
        known = fates(case, named)
        steps = explain(case, named, known, wanted(known, names, settings))
    finally:
        drop_names(case)
    return explain_report(shown, named, known, steps, lines)


def has_residual(report: Row) -> bool:
    """Whether the occurrence remains under a condition that is explained and should not."""
    return any(step["cause"] is not None for step in report["steps"])


def explain_report(
    shown: Shown, named: Named, known: Sequence[Row], steps: Sequence[Steps], lines: Lines | None = None
) -> Row:
    """One occurrence explained; `docs/replay-explain.md` describes the object.

    Args:
        shown: the case and what may be shown of it.
        named: the occurrence.
        known: what became of it under every condition, of `fates`.
        steps: of `explain`.
        lines: of the rules in the policy file, of `rule_lines`; None: the file was not given.
    """
    case, told = shown.case, record(shown.case, named)
    rules = _Rules(shown, named.trace, lines)
    place = shown.places([(named.event, named.value)])[named.event, named.value]
    report = shown.stamp("replay-explain") | {"occurrence": named.name, "replay": told_at_replay(case)}
    report |= {"record": _record(shown, told) | {"at": place}, "value": shown.values([named.value])[named.value]}
    report["truth"] = {"verdict": told["truth"], "rule": rules.told(told["truth_rule"])}
    report["truth"] |= {"by_field": told["by_field"], "field_rule": rules.told(told["field_rule"])}
    report["conditions"] = [f | {"condition": shown.mask(f["condition"]), "rule": shown.name(f["rule"])} for f in known]
    labels = _labels(shown, named)
    report["steps"] = [_steps(shown, rules, s, labels) for s in steps]
    report["policy"] = {"sha256": told_policy(case), "given": lines is not None}
    return report | {"case": str(case.path) if case.path else None}


def _record(shown: Shown, told: Row) -> Row:
    names = ("trace_id", "scenario", "topology", "sender", "recipient", "origin")
    plain = ("channel", "sender_kind", "sender_position", "recipient_kind", "recipient_position", "grade", "hops",
             "distance", "route")  # fmt: skip
    return {n: shown.name(told[n]) for n in names} | {n: told[n] for n in plain}


class _Rules:
    """Rules as they may be shown, each looked up once."""

    def __init__(self, shown: Shown, trace: int, lines: Lines | None) -> None:
        self._shown, self._trace, self._lines = shown, trace, lines or {}
        self._known: dict[str | None, Row | None] = {None: None}

    def told(self, rule: str | None) -> Row | None:
        """A rule with what it says and its line; of the default, a fallback or the request the word alone."""
        if rule not in self._known:
            self._known[rule] = self._told(str(rule))
        return self._known[rule]

    def _told(self, rule: str) -> Row:
        found = rule_of(self._shown.case, self._trace, rule)
        if found is None:
            key = {"default": "$default", "fallback: closed": "$fallback"}.get(rule, "")
            return {"rule": self._shown.mask(rule), "effect": None, "line": self._lines.get(key)}
        mask = self._shown.mask
        # Subjects are persons: they are counted, unless values may be shown.
        selectors = {
            key: [f"{len(cell)} named"] if key == "subjects" and not self._shown.revealed else [mask(c) for c in cell]
            for key, cell in found["selectors"].items()
        }
        line = self._lines.get(rule) if found["origin"] == "policy" else None
        told = {"rule": mask(rule), "effect": found["effect"], "origin": found["origin"]}
        return told | {"scenario": self._shown.name(found["scenario"]), "selectors": selectors, "line": line}


def _labels(shown: Shown, named: Named) -> list[Label]:
    """Whatever is known to stand in the text of the event, values before other finds."""
    if shown.revealed:
        return []
    rows = shown.case.rows(_LABELS, [named.event] * 2)
    values = shown.values({value for _, _, value, _ in rows})
    names = {n: f"[{v['attribute']} #{v['fingerprint'][:8]}]" for n, v in values.items()}
    found = [Label(a, b, names[value], known) for a, b, value, known in rows]
    others = shown.case.rows(_OTHERS, [named.event] * 2)
    return settled([*found, *(Label(a, b, f"[found: {shown.mask(entity)}]") for a, b, entity in others)])


def _steps(shown: Shown, rules: _Rules, steps: Steps, labels: Sequence[Label]) -> Row:
    condition, setting = steps.plan.condition, steps.plan.setting
    told: Row = {"condition": shown.mask(condition.name), "title": shown.mask(condition.title), "setting": setting}
    told |= {"detector": condition.detector, "decision": condition.decision, "attributes": condition.attributes}
    told |= {"by_recipient": condition.decision in BY_RECIPIENT, "protect_uncertain": condition.protect_uncertain}
    told |= {"closed": steps.closed, "floor": steps.floor}
    told |= steps.fate | {"rule": rules.told(steps.fate["rule"])}
    told["places"] = _places(shown, rules, steps, labels)
    told["changed"] = steps.changed is not None
    told["measured"] = {"why": steps.measured.why, "floor": steps.measured.floor}
    told["measured"]["hits"] = [
        {"form": h.form, "confidence": h.confidence, "confirmed": h.confirmed, "split": h.split}
        for h in steps.measured.hits
    ]
    return told | {"given": steps.given, "tellers": _tellers(shown, steps)}


def _tellers(shown: Shown, steps: Steps) -> list[Row]:
    places = shown.places((t.event, None) for t in steps.tellers)
    return [
        {"occurrence": t.name, "channel": t.channel, "sender": shown.name(t.sender), "remains": t.remains}
        | {"downstream": t.downstream, "at": places[t.event, None]}
        for t in steps.tellers
    ]


def _places(shown: Shown, rules: _Rules, steps: Steps, labels: Sequence[Label]) -> list[Row]:
    pieces = _pieces(steps, shown)
    values = shown.values({r.value for p in steps.places for f in p.finds for r in f.readings if r.value is not None})
    return [
        {"span": [p.start, p.stop], "form": p.form}
        | {"finds": [_find(shown, rules, steps.floor, f, values) for f in p.finds]}
        | {"transforms": _transforms(steps, p), **_texts(shown, steps, p, labels, pieces)}
        for p in steps.places
    ]


def _find(shown: Shown, rules: _Rules, floor: float, find: Find, values: dict[int, Row]) -> Row:
    told: Row = {"span": [find.start, find.stop], "entity": shown.name(find.entity), "confidence": find.confidence}
    told |= {"recognizers": [shown.mask(r) for r in find.recognizers], "attribute": shown.name(find.attribute)}
    told |= {"value_type": find.value_type, "action": find.action, "reason": find.reason, "rule": rules.told(find.rule)}
    told["readings"] = [
        {"value": None if r.value is None else values[r.value], "attribute": shown.name(r.attribute)}
        | {"by_field": r.by_field, "field_rule": rules.told(r.field_rule), "by_recipient": r.by_recipient}
        | {"recipient_rule": rules.told(r.recipient_rule), "in_request": r.spared, "in_force": r.in_force}
        | {"reachable": r.reachable, "forwarded": r.forwarded}
        for r in find.readings
    ]
    return told | {"uncertain": find.confidence < floor}


def _transforms(steps: Steps, place: Place) -> list[Row]:
    """What was done to the pieces on a place; a piece with trouble is told as often as there was trouble with it."""
    told: list[Row] = []
    changed = steps.text if steps.changed is None else steps.changed
    alone = [(s.cuts[0], changed[s.low : s.high]) for s in steps.stretches if len(s.cuts) == 1]
    same = {cut for cut, now in alone if now == steps.text[cut.start : cut.stop]}
    for cut in steps.cuts:
        if cut.start < place.stop and place.start < cut.stop:
            trouble = [t for t in steps.troubles if t.span == cut.span]
            made = {"span": [cut.start, cut.stop], "asked": cut.asked, "as_before": cut in same}
            plain = made | {"done": cut.asked, "exception": None, "cause": None, "tries": 1}
            rows = [
                made | {"done": t.done, "exception": t.exception, "cause": t.cause, "tries": t.tries} for t in trouble
            ]
            told += [row for row in rows or [plain] if row not in told]
    return told


def _pieces(steps: Steps, shown: Shown) -> list[Label]:
    """Replacements, as kind and length, or as they are where values may be shown."""
    changed = steps.text if steps.changed is None else steps.changed
    done = {t.span: t.done for t in steps.troubles}
    out = []
    for stretch in steps.stretches:
        first, last = stretch.cuts[0].start, stretch.cuts[-1].stop
        if shown.revealed:
            out.append(Label(first, last, changed[stretch.low : stretch.high]))
            continue
        kinds = dict.fromkeys(done.get(c.span, c.asked) for c in stretch.cuts)
        size = stretch.high - stretch.low
        together = f", {len(stretch.cuts)} replacements" if len(stretch.cuts) > 1 else ""
        out.append(Label(first, last, f"<{' and '.join(kinds)}, {size:,} character{'s' * (size != 1)}{together}>"))
    return out


def _texts(shown: Shown, steps: Steps, place: Place, labels: Sequence[Label], pieces: Sequence[Label]) -> Row:
    """The text around a place before and after."""
    focus = (place.start, place.stop)
    here: Callable[[Sequence[Label]], list[Label]] = lambda some: near(some, focus)  # noqa: E731
    before = here(labels)
    after = replaced(before, here(pieces))
    return {
        "before": around(steps.text, focus, before, shown.mask),
        "after": around(steps.text, focus, after, shown.mask),
    }
