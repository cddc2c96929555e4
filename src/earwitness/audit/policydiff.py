"""What differs between two policies: as files, and in what they say of the flows of a case."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from earwitness.audit.pipeline import STAGES, Request, audit
from earwitness.audit.rulesets import DEFAULT, RULE_SETS
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyValue, load_policy
from earwitness.schema.vaultfile import load_vault

# Subjects are persons, and may be protected values themselves: they are counted, not named.
_UNNAMED = ("subjects",)
_PLAIN = ("default", "unlisted")
_MAPPINGS = ("fallback", "confidence", "transforms")


class Change(NamedTuple):
    """One difference. `change`: added, removed or changed; `part`, `name`: where; `before`, `after`: as text."""

    change: str
    part: str
    name: str
    before: str
    after: str


class Read(NamedTuple):
    """A policy file with the values it brings."""

    policy: Policy
    values: tuple[PolicyValue, ...]
    sha256: str


def read_policy(path: Path) -> Read:
    """A policy and all its values, those of its vault file too.

    Raises:
        PolicyError: naming file, line and path.
    """
    policy, sha256 = load_policy(path)
    vault = load_vault(path.parent / policy.vault) if policy.vault else ()
    return Read(policy, (*policy.values, *vault), sha256)


def differences(old: Read, new: Read) -> list[Change]:
    """What the files say differently, in the order of the file; it tells no value and no subject."""
    return [
        *_keys("", {k: getattr(old.policy, k) for k in _PLAIN}, {k: getattr(new.policy, k) for k in _PLAIN}),
        *_entries("roster", _members(old.policy), _members(new.policy)),
        *_values(old.values, new.values),
        *_entries("rules", _rules(old.policy), _rules(new.policy)),
        *(c for m in _MAPPINGS for c in _keys(m, getattr(old.policy, m), getattr(new.policy, m))),
    ]


def _members(policy: Policy) -> dict[str, str]:
    """Members by name. Only agents have a position."""
    plain = (m if m.kind == "agent" else msgspec.structs.replace(m, position="original") for m in policy.roster)
    return {m.name: _written(m, "name") for m in plain}


def _rules(policy: Policy) -> dict[str, str]:
    """Rules by id. One without is known by what it says: its place in the file means nothing."""
    texts = [(r.id, _written(r, "id")) for r in policy.rules]
    return {rule_id or f"({text})": text for rule_id, text in texts}


def _written(entry: msgspec.Struct, name: str) -> str:
    """An entry as text, without its name and without what is not to be told."""
    told: dict[str, Any] = {k: v for k, v in msgspec.to_builtins(entry).items() if k != name}
    told |= {k: f"{len(told[k])} named" for k in _UNNAMED if k in told}
    return "; ".join(f"{k}: {', '.join(v) if isinstance(v, list | tuple) else v}" for k, v in told.items())


def _entries(part: str, old: dict[str, str], new: dict[str, str]) -> Iterator[Change]:
    for name in {**old, **new}:
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            yield Change("added" if before is None else "removed", part, name, before or "", after or "")
        elif before != after:
            yield Change("changed", part, name, before, after)


def _keys(part: str, old: dict[Any, Any], new: dict[Any, Any]) -> Iterator[Change]:
    yield from _entries(part, {k: str(v) for k, v in old.items()}, {k: str(v) for k, v in new.items()})


def _values(old: Sequence[PolicyValue], new: Sequence[PolicyValue]) -> Iterator[Change]:
    """Values that came or went, counted by attribute."""
    for change, here, there in (("removed", old, new), ("added", new, old)):
        known = set(there)
        gone = Counter(v.attribute for v in dict.fromkeys(here) if v not in known)
        for attribute, n in sorted(gone.items()):
            text = f"{n} value{'s' * (n > 1)}"
            yield Change(change, "values", attribute, *((text, "") if change == "removed" else ("", text)))


_JUDGED = """
    SELECT v.event, v.recipient, v.channel, v.dynamic AS verdict, v.dynamic_rule AS rule, p.attribute,
           hash(p.attribute, p.subject, p.text) AS mark
    FROM verdicts v JOIN vault p USING (value) WHERE v.standing = 'confirmed'
"""
_RULES_USED = "SELECT parameters->>'rules' FROM runs WHERE stage = 'decide' ORDER BY run LIMIT 1"
_KEY = ["event", "recipient", "mark"]
_CELL = ["channel", "attribute", "recipient", "before", "before_rule", "after", "after_rule"]


def verdict_changes(case: Case, old: Read, new: Read, values: Sequence[PolicyValue] = ()) -> pl.DataFrame:
    """Confirmed occurrences of a case whose verdict or rule changes; the case stays as it is.

    Args:
        case: a case opened for writing.
        old: a policy.
        new: the policy to hold against it.
        values: of a vault file that stands beside both.

    Returns:
        channel, attribute, recipient (NULL: nobody known), before, before_rule, after, after_rule, n; a verdict is
        NULL where the policy brings no such value. Most changes of the verdict first.
    """
    with case.undone():
        left, right = (_judged(case, one, values) for one in (old, new))
    joined = left.join(right, on=_KEY, how="full", coalesce=True, nulls_equal=True, suffix="_new")
    rows = joined.select(
        pl.coalesce("channel", "channel_new").alias("channel"),
        pl.coalesce("attribute", "attribute_new").alias("attribute"),
        "recipient", before="verdict", before_rule="rule", after="verdict_new", after_rule="rule_new",
    )  # fmt: skip
    turned = pl.col("before").ne_missing(pl.col("after"))
    found = rows.filter(turned | pl.col("before_rule").ne_missing(pl.col("after_rule")))
    grouped = found.group_by(_CELL).agg(pl.len().alias("n"), turned.first().alias("turned"))
    return grouped.sort("turned", "n", *_CELL, descending=[True, True, *(False for _ in _CELL)]).drop("turned")


def _judged(case: Case, read: Read, values: Sequence[PolicyValue]) -> pl.DataFrame:
    known = read.policy.values
    beside = (*(v for v in read.values if v not in set(known)), *values)
    rules = RULE_SETS.get(str(case.one(_RULES_USED)), DEFAULT)
    audit(case, Request(rules, read.policy, read.sha256, beside), STAGES[:3])
    return case.frame(_JUDGED)
