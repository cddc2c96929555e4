"""A first policy: least privilege from the flows a case shows to be authorised.

It grants what was seen to be allowed and nothing else, as wide as no denial that was seen speaks against: in the whole
case, else in a scenario, else of one subject in a scenario. What the language of policies cannot grant without
opening more is not granted, and counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
import yaml

from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.words import CHANNELS

# Allows nobody that has a name. Where nobody is known, any grant of the field on the channel is what counts.
NOBODY = "(nobody known)"
_FLOWS = f"""
    SELECT DISTINCT t.scenario, p.subject, p.attribute, v.channel, coalesce(v.recipient, '{NOBODY}') AS recipient,
           {{allowed}} AS allowed
    FROM verdicts v JOIN vault p USING (value) JOIN traces t ON t.trace = v.trace
    WHERE v.dynamic_rule IS DISTINCT FROM 'in-request'
"""
_ROSTER = """
    SELECT actor AS name, min(kind) AS kind, min(position) AS position,
           list_sort(list_distinct(flatten(list(roles)))) AS roles
    FROM parties WHERE kind <> 'agent' OR position <> 'unknown'
    GROUP BY actor HAVING count(DISTINCT kind) = 1 AND count(DISTINCT position) = 1
    ORDER BY kind, position DESC, name
"""
_FIELD = ("attribute", "channel")
_LEVELS: tuple[tuple[str, ...], ...] = ((), ("scenario",), ("scenario", "subject"))


@dataclass(frozen=True)
class Draft:
    """A drafted policy.

    Attributes:
        policy: the policy file as plain data.
        flows: distinct (scenario, subject, attribute, channel, recipient) seen to be allowed.
        refused: those of them that no rule could grant without opening what was seen to be denied.
    """

    policy: dict[str, Any]
    flows: int
    refused: int


def draft_policy(case: Case, observed: bool = False) -> Draft:
    """Draft a policy from the verdicts of the last audit.

    Args:
        case: an audited case.
        observed: take every flow that was seen for authorised, whatever the policy in force said.

    Raises:
        InputError: nothing was judged, so nothing is known to be authorised.
    """
    flows = case.frame(_FLOWS.format(allowed="true" if observed else "v.dynamic = 'allow'"))
    allowed, denied = flows.filter("allowed").drop("allowed"), flows.filter(~pl.col("allowed")).drop("allowed")
    if allowed.is_empty():
        raise InputError(_nothing(case, observed))
    open_to_nobody = _unresolved(allowed, denied)
    wanted = allowed.filter((pl.col("recipient") != NOBODY) | pl.col("channel").is_in(open_to_nobody))
    # Where a channel stands closed, its flows to nobody are denied whatever a rule grants.
    grants, left = _widest(wanted, denied)
    rules = list(_rules(grants))
    fallback = {c: "closed" for c in CHANNELS if c not in open_to_nobody}
    policy = {"version": 1, "default": "sanitize", **_parties(case), "rules": rules, "fallback": fallback}
    return Draft(policy, allowed.height, allowed.height - wanted.height + left.height)


def _nothing(case: Case, observed: bool) -> str:
    if observed or not case.count("verdicts"):
        return "no protected value was seen to go anywhere; audit traces with `--values` or a policy first"
    return (
        "no flow of this case is known to be authorised; audit it with a policy, "
        "or give --observed to take every flow for authorised and strike out what is not"
    )


def _unresolved(allowed: pl.DataFrame, denied: pl.DataFrame) -> list[str]:
    """Channels on which flows to nobody known may be judged by field: no grant there opens one that was denied."""
    nobody = pl.col("recipient") == NOBODY
    closed = denied.filter(nobody).join(allowed, on=_FIELD, how="semi")["channel"]
    return sorted(set(allowed.filter(nobody)["channel"]) - set(closed))


def _widest(wanted: pl.DataFrame, denied: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Each flow under the widest selectors that met no denial; and the flows for which there are none."""
    granted = [wanted.head(0)]
    for extra in _LEVELS:
        keys = [*_FIELD, "recipient", *extra]
        # A rule without a scenario is a wider rule, not one for traces that have none.
        named = wanted.drop_nulls(list(extra)) if extra else wanted
        fine = named.join(denied, on=keys, how="anti", nulls_equal=True)
        blank = [c for c in ("scenario", "subject") if c not in extra]
        wanted = wanted.join(fine, on=wanted.columns, how="anti", nulls_equal=True)
        granted.append(fine.with_columns(pl.lit(None, pl.String).alias(c) for c in blank))
    return pl.concat(granted).unique(), wanted


def _rules(grants: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """One rule for all attributes that go to one recipient over the same channels."""
    whom = ["scenario", "subject", "recipient"]
    by_field = grants.group_by(*whom, "attribute").agg(pl.col("channel").unique().sort().alias("channels"))
    by_rule = by_field.group_by(*whom, "channels").agg(pl.col("attribute").unique().sort().alias("attributes"))
    rows = by_rule.sort(*whom, "channels", nulls_last=False).to_dicts()
    for number, row in enumerate(rows, 1):
        rule: dict[str, Any] = {"id": f"seen-{number}", "effect": "allow"}
        if row["scenario"] is not None:
            rule["scenario"] = row["scenario"]
        rule |= {"attributes": [_exact(a) for a in row["attributes"]]}
        if row["subject"] is not None:
            rule["subjects"] = [_exact(row["subject"])]
        yield rule | {"channels": row["channels"], "recipients": [_exact(row["recipient"])]}


def _exact(name: str) -> str:
    """A name that holds `*` would be a wildcard: its special characters are put into brackets."""
    if "*" not in name:
        return name
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _parties(case: Case) -> dict[str, Any]:
    roster = []
    for row in case.frame(_ROSTER).to_dicts():
        member = {"name": row["name"], "kind": row["kind"], "position": row["position"], "roles": row["roles"]}
        if row["kind"] == "agent":
            member.pop("kind")
        else:
            member.pop("position")
        roster.append({k: v for k, v in member.items() if v})
    placed = case.one("SELECT count(*) FILTER (position = 'unknown') = 0 FROM parties WHERE kind = 'agent'")
    return {"roster": roster, "unlisted": "introduced" if placed and roster else "unknown"}


_HEAD = """# Drafted from what was seen to be authorised: {flows} distinct flows, {rules} rules.
# It grants what happened, not what is right: read it before you use it.
# It holds no values: give them with `--values`, or add `values:` or `vault:`.
# Rules that traces bring along stay in force beside these.
"""
_REFUSED = "# {refused} authorised flows are not granted: no rule could, without opening what was seen to be denied.\n"
_UNKNOWN = f"# {NOBODY!r} allows nobody: such rules let a field pass where the record names no recipient.\n"


def as_yaml(draft: Draft) -> str:
    """The draft as a policy file, one line a rule."""
    lines = [_HEAD.format(flows=draft.flows, rules=len(draft.policy["rules"]))]
    if draft.refused:
        lines.append(_REFUSED.format(refused=draft.refused))
    if any(NOBODY in rule["recipients"] for rule in draft.policy["rules"]):
        lines.append(_UNKNOWN)
    for key, value in draft.policy.items():
        if isinstance(value, list) and value:
            lines.append(f"\n{key}:\n" + "".join(f"  - {_flow(v)}\n" for v in value))
        elif value or value == 0:
            lines.append(f"{key}: {_flow(value)}\n")
    return "".join(lines)


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000)
    return str(text).removesuffix("...\n").strip()
