"""A policy put in force over a case: its values, rules, roster and aliases become rows. Imports are not touched."""

from collections.abc import Sequence

import pyarrow as pa

from earwitness.schema.case import Case
from earwitness.schema.policy import Member, Policy, PolicyValue
from earwitness.schema.tables import arrow_schema

_PARTIES = """
    INSERT INTO parties
    SELECT a.trace, coalesce(al.actor, a.actor), coalesce(any_value(r.kind), first(a.kind)),
           coalesce(any_value(r.position),
                    CASE WHEN first(a.kind) = 'agent' AND first(a.position) = 'unknown' THEN ?
                         ELSE first(a.position) END),
           list_distinct(flatten(list(coalesce(r.roles, [])) || list(coalesce(a.roles, []))))
    FROM actors a
    LEFT JOIN aliases al ON al.alias = a.actor
    LEFT JOIN roster r ON r.actor = coalesce(al.actor, a.actor)
    GROUP BY a.trace, coalesce(al.actor, a.actor)
"""


def apply_policy(case: Case, policy: Policy | None, vault: Sequence[PolicyValue] = ()) -> None:
    """Replace whatever policy was in force.

    Args:
        case: the case.
        policy: None leaves only the rules and values the traces themselves carry.
        vault: values from a vault file, beside those the policy gives inline.
    """
    case.execute("DELETE FROM vault WHERE origin <> 'trace'")
    case.execute("DELETE FROM rules WHERE origin <> 'trace'")
    case.clear("aliases", "parties")
    policy = policy or Policy()
    _insert_values(case, policy.values, "policy")
    _insert_values(case, vault, "vault")
    _insert_rules(case, policy)
    _insert_roster(case, policy)


def _insert_values(case: Case, values: Sequence[PolicyValue], origin: str) -> None:
    first = int(case.one("SELECT coalesce(max(value), -1) + 1 FROM vault"))
    n = len(values)
    columns = {
        "value": list(range(first, first + n)),
        "attribute": [v.attribute for v in values],
        "value_type": [v.value_type for v in values],
        "type_origin": ["given" if v.value_type else None for v in values],
        "subject": [v.subject for v in values],
        "scope": ["scenario" if v.scenario else "case" for v in values],
        "trace": [None] * n,
        "scenario": [v.scenario for v in values],
        "text": [v.value for v in values],
        "aliases": [list(v.aliases) for v in values],
        "fingerprint": [None] * n,
        "origin": [origin] * n,
    }
    case.insert("vault", pa.table(columns, schema=arrow_schema("vault")))


def _insert_rules(case: Case, policy: Policy) -> None:
    rows = policy.rules
    named = {alias: m.name for m in policy.roster for alias in m.aliases}
    first = int(case.one("SELECT coalesce(max(rule), -1) + 1 FROM rules"))
    lists = ("attributes", "value_types", "subjects", "channels", "recipients", "roles", "kinds", "positions")
    columns = {
        "rule": list(range(first, first + len(rows))),
        "rule_id": [r.id or f"rules[{n}]" for n, r in enumerate(rows)],
        "effect": [r.effect for r in rows],
        "trace": [None] * len(rows),
        "scenario": [r.scenario for r in rows],
        **{name: [list(getattr(r, name)) for r in rows] for name in lists},
        # Recipients are known by the name of the roster, so a rule that uses an alias means that name.
        "recipients": [[named.get(n, n) for n in r.recipients] for r in rows],
        "origin": ["policy"] * len(rows),
    }
    case.insert("rules", pa.table(columns, schema=arrow_schema("rules")))


def _insert_roster(case: Case, policy: Policy) -> None:
    pairs = [(alias, m.name) for m in policy.roster for alias in m.aliases]
    aliases = {"alias": [a for a, _ in pairs], "actor": [m for _, m in pairs]}
    case.insert("aliases", pa.table(aliases, schema=arrow_schema("aliases")))
    case.con.register("roster", _roster(policy.roster))
    try:
        case.execute(_PARTIES, [policy.unlisted])
    finally:
        case.con.unregister("roster")


def _roster(members: Sequence[Member]) -> pa.Table:
    return pa.table(
        {
            "actor": pa.array([m.name for m in members], pa.string()),
            "kind": pa.array([m.kind for m in members], pa.string()),
            "position": pa.array([m.position if m.kind == "agent" else "unknown" for m in members], pa.string()),
            "roles": pa.array([list(m.roles) for m in members], pa.list_(pa.string())),
        }
    )
