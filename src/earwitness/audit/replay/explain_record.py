"""What record and policy say of one occurrence: who sent what to whom, how far it had come, which rule decides."""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from earwitness.audit.replay.explain_names import Named
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.policy import load_policy

Row = dict[str, Any]

_RECORD = """
    SELECT t.trace_id, t.scenario, t.topology, v.channel, f.sender, s.kind AS sender_kind,
           s.position AS sender_position, v.recipient, p.kind AS recipient_kind, p.position AS recipient_position,
           v.grade, x.carried AS hops, x.distance, x.route, o.agent AS origin, v.dynamic AS truth,
           v.dynamic_rule AS truth_rule, v.static AS by_field, v.static_rule AS field_rule
    FROM verdicts v JOIN traces t ON t.trace = v.trace
    LEFT JOIN (SELECT DISTINCT event, sender FROM flows) f ON f.event = v.event
    LEFT JOIN parties s ON s.trace = v.trace AND s.actor = f.sender
    LEFT JOIN parties p ON p.trace = v.trace AND p.actor = v.recipient
    LEFT JOIN origins o ON o.trace = v.trace AND o.value = v.value
    LEFT JOIN exposures x ON x.trace = v.trace AND x.value = v.value AND x.recipient = v.recipient
    WHERE v.event = $event AND v.value = $value AND v.recipient IS NOT DISTINCT FROM $recipient
      AND v.standing = 'confirmed' LIMIT 1
"""
LISTS = ("attributes", "value_types", "subjects", "channels", "recipients", "roles", "kinds", "positions")
_RULE = f"""
    SELECT r.rule_id, r.effect, r.origin, r.scenario, {", ".join(f"r.{name}" for name in LISTS)}
    FROM rules r JOIN traces t ON t.trace = $trace
    WHERE r.rule_id = $rule AND (r.trace IS NULL OR r.trace = t.trace)
      AND (r.scenario IS NULL OR r.scenario = t.scenario)
    ORDER BY r.rule LIMIT 1
"""


def record(case: Case, named: Named) -> Row:
    """The delivery and the verdict of the audit, by the names of the columns: run, sender, recipient, way, truth."""
    parameters = {"event": named.event, "value": named.value, "recipient": named.recipient}
    con = case.con.execute(_RECORD, parameters)
    names = [d[0] for d in con.description]
    return dict(zip(names, con.fetchall()[0], strict=True))


def rule_of(case: Case, trace: int, rule: str | None) -> Row | None:
    """What a rule says: `rule`, `effect`, `origin` (trace or policy), `scenario`, and its selectors that say something.

    None for what is no rule of the case: the default, a fallback, a value that stands in the request.
    """
    rows = case.rows(_RULE, {"trace": trace, "rule": rule}) if rule else []
    if not rows:
        return None
    name, effect, origin, scenario, *lists = rows[0]
    selectors = {key: list(cell) for key, cell in zip(LISTS, lists, strict=True) if cell}
    return {"rule": name, "effect": effect, "origin": origin, "scenario": scenario, "selectors": selectors}


_LAST = "SELECT policy_sha256 FROM runs WHERE stage = 'decide' ORDER BY run DESC LIMIT 1"


def rule_lines(case: Case, path: Path) -> dict[str, int]:
    """The line, from 1, of every rule in the policy file of the last audit, by id; and of its `default` and `fallback`.

    Raises:
        PolicyError: the file does not hold together.
        InputError: it is not the file of the last audit.
    """
    policy, sha256 = load_policy(path)
    if sha256 != told_policy(case):
        raise InputError(f"{path}: not the policy of the last audit of {case.path or 'the case'}, or changed since")
    node = yaml.compose(path.read_bytes().decode("utf-8-sig"), Loader=yaml.SafeLoader)
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    lines = {f"${key.value}": key.start_mark.line + 1 for key, _ in pairs}
    entries = [entry for key, value in pairs if key.value == "rules" for entry in value.value]
    named = [rule.id or f"rules[{n}]" for n, rule in enumerate(policy.rules)]
    return lines | {name: entry.start_mark.line + 1 for name, entry in zip(named, entries, strict=True)}


def told_policy(case: Case) -> str | None:
    """The sha256 of the policy file of the last audit; None if there was none."""
    found = case.one(_LAST)
    return None if found is None else str(found)


def told_at_replay(case: Case) -> Row:
    """How the last replay was made: `version`, `finished_at`, `ephemeral` (its key held for that run alone)."""
    version, at, parameters = case.rows(
        "SELECT version, finished_at, parameters FROM runs WHERE stage = 'replay' ORDER BY run DESC LIMIT 1"
    )[0]
    return {"version": version, "finished_at": str(at), "ephemeral": _key(parameters)}


def _key(parameters: str) -> bool:
    found = msgspec.json.decode(parameters).get("key") or {}
    return bool(found.get("ephemeral"))
