"""The policy file: one YAML document that says who may learn what.

```yaml
version: 1
default: sanitize            # what holds where no rule speaks
roster:                      # the presumed authorised agents; aliases are resolved to the name
  - {name: coordinator, position: original, roles: [lead], aliases: [Coordinator]}
unlisted: introduced         # position of agents the roster does not name: introduced or unknown
values:                      # protected values given inline ...
  - {attribute: ssn, value: 123-45-6789, value_type: format_dependent, subject: Ann Lee}
vault: vault.csv             # ... or in a file beside this one (CSV, JSONL, Parquet)
rules:                       # deny beats allow; an empty selector matches everything
  - {id: lead-may-know, effect: allow, attributes: [ssn], recipients: [coordinator]}
fallback: {C3: closed}       # unresolved recipients: field (static verdict) or closed (sanitize)
confidence: {C6: 0.6}        # matches below the floor of their channel are `possible`
transforms: {contextual: rewrite}
```
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from earwitness.schema.cures import cure
from earwitness.schema.errors import PolicyError
from earwitness.schema.model import Selectors
from earwitness.schema.words import ActorKind, Channel, Effect, Position, ValueType
from earwitness.schema.yamlerrors import told_as


class _Strict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Unknown keys are errors: a mistyped rule must not silently rule nothing."""


class Member(_Strict, frozen=True, kw_only=True):
    """An entry of the roster."""

    name: str
    position: Position = "original"
    kind: ActorKind = "agent"
    roles: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


class PolicyValue(_Strict, frozen=True, kw_only=True):
    """A protected value given inline or by a vault file. Without `scenario` it holds in the whole case."""

    attribute: str
    value: str
    value_type: ValueType | None = None
    subject: str | None = None
    scenario: str | None = None
    aliases: tuple[str, ...] = ()


class PolicyRule(Selectors, _Strict, frozen=True, kw_only=True):
    """Who may (`allow`) or may not (`sanitize`) receive what."""


class Policy(_Strict, frozen=True, kw_only=True):
    """A whole policy file."""

    version: Literal[1] = 1
    default: Effect = "sanitize"
    roster: tuple[Member, ...] = ()
    unlisted: Position = "unknown"
    values: tuple[PolicyValue, ...] = ()
    vault: str | None = None
    rules: tuple[PolicyRule, ...] = ()
    fallback: dict[Channel, Literal["field", "closed"]] = {}
    confidence: dict[Channel, float] = {}
    transforms: dict[ValueType, Literal["fpe", "pseudonym", "mldp", "rewrite", "redact", "block"]] = {}


def load_policy(path: Path) -> tuple[Policy, str]:
    """A policy file and its sha256.

    Raises:
        PolicyError: naming the file, the line and the path inside it, never a value.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}; give the path of a policy file") from None
    return parse_policy(raw, str(path)), hashlib.sha256(raw).hexdigest()


def parse_policy(raw: bytes, name: str) -> Policy:
    """The policy in `raw`; `name` is what errors call the file."""
    node, data = _parse_yaml(raw, name)
    if not isinstance(data, dict):
        raise PolicyError(f"{name}: a policy is a mapping with keys such as `default` and `rules`")
    try:
        policy = msgspec.convert(_listed(data), Policy)
    except msgspec.ValidationError as error:
        raise PolicyError(_located(str(error), node, name) + cure(Policy, error)) from None
    _check(policy, node, name)
    return policy


def _parse_yaml(raw: bytes, name: str) -> tuple[Any, Any]:
    with told_as(PolicyError, name):
        text = raw.decode("utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return node, yaml.load(text, Loader=_TextLoader) or {}  # noqa: S506  (a SafeLoader)


class _TextLoader(yaml.SafeLoader):
    """Dates, big numbers and yes/no inside `values` must stay the text the author wrote."""


def _keep_text(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    return loader.construct_scalar(node)


for _tag in ("timestamp", "int", "bool", "float"):
    _TextLoader.add_constructor(f"tag:yaml.org,2002:{_tag}", _keep_text)


def _listed(data: dict[str, Any]) -> dict[str, Any]:
    """One name may stand where a list of names is meant; the two numeric keys become numbers again."""
    out = dict(data)
    for key in ("rules", "roster", "values"):
        if isinstance(out.get(key), list):
            out[key] = [_one_to_many(entry) for entry in out[key]]
    if isinstance(out.get("version"), str) and out["version"].isdigit():
        out["version"] = int(out["version"])
    if isinstance(out.get("confidence"), dict):
        out["confidence"] = {k: _number(v) for k, v in out["confidence"].items()}
    return out


def _number(value: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


_MANY = frozenset(
    {"attributes", "value_types", "subjects", "channels", "recipients", "roles", "kinds", "positions", "aliases"}
)


def _one_to_many(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    return {k: [v] if k in _MANY and isinstance(v, str) else v for k, v in entry.items()}


def _located(message: str, node: Any, name: str) -> str:
    """`file:line: cause at path`, from a validation message that ends in a `$.path`."""
    cause, _, path = message.partition(" - at `")
    path = path.rstrip("`") or "$"
    return f"{name}:{_line_of(node, path)}: {cause} at `{path}`"


def _line_of(node: Any, path: str) -> int:
    for step in path.replace("[", ".[").split(".")[1:]:
        found = _child(node, step)
        if found is None:
            break
        node = found
    return int(node.start_mark.line) + 1


def _child(node: Any, step: str) -> Any:
    if isinstance(node, yaml.SequenceNode) and step.startswith("["):
        index = step.strip("[]")
        return node.value[int(index)] if index.isdigit() and int(index) < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    return None


def _check(policy: Policy, node: Any, name: str) -> None:
    """What the types cannot say: unique names and ids, floors between 0 and 1, no empty value."""
    names = [n for m in policy.roster for n in (m.name, *m.aliases)]
    ids = [r.id for r in policy.rules if r.id]
    problems = [("$.roster", f"the name or alias {n!r} stands twice") for n in _twice(names)] + [
        ("$.rules", f"the rule id {i!r} stands twice") for i in _twice(ids)
    ]
    problems += [
        (f"$.values[{i}].value", "a protected value must not be empty")
        for i, v in enumerate(policy.values)
        if not v.value.strip()
    ]
    problems += [
        (f"$.confidence.{c}", "a floor lies between 0 and 1") for c, f in policy.confidence.items() if not 0 <= f <= 1
    ]
    if problems:
        path, cause = problems[0]
        raise PolicyError(f"{name}:{_line_of(node, path)}: {cause} at `{path}`")


def _twice(names: list[str]) -> list[str]:
    return sorted({n for n in names if names.count(n) > 1})


def review(policy: Policy, vault: Sequence[PolicyValue] = ()) -> list[str]:
    """What is well formed but probably not meant: rules that name nobody or nothing the file knows."""
    values = [*policy.values, *vault]
    known = {
        "recipients": {n for m in policy.roster for n in (m.name, *m.aliases)},
        "roles": {r for m in policy.roster for r in m.roles},
        "attributes": {v.attribute for v in values},
        "subjects": {v.subject for v in values if v.subject},
    }
    warnings = []
    for n, rule in enumerate(policy.rules):
        for key, names in known.items():
            strange = [s for s in getattr(rule, key) if names and "*" not in s and s not in names]
            if strange:
                warnings.append(f"rule {rule.id or n}: {key} not named elsewhere in the policy: {', '.join(strange)}")
    if policy.default == "allow" and not any(r.effect == "sanitize" for r in policy.rules):
        warnings.append("default is allow and no rule sanitizes: nothing can be a leak")
    return warnings
