"""The decision layer: what every span may be to every recipient, and what a condition makes of that.

Temporary tables, all by set operations:

- `rp_judged` (class, span, by_field, field_rule, by_recipient, recipient_rule, spared, in_force, reachable, forwarded):
  the rules asked once for each detector; where a span fits several known values there are several rows.
- `rp_act` (class, span, action, reason, rule, confidence): what one plan decides on each span of each delivery.
"""

from earwitness.audit.decide import answer, floor
from earwitness.audit.replay.condition import BY_RECIPIENT, Plan
from earwitness.audit.replay.ordering import as_written
from earwitness.audit.replay.topology import mark_forwarded, mark_reachable
from earwitness.audit.rulesets import RuleSet
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy
from earwitness.schema.words import CHANNELS, VALUE_TYPES

# What the rules are asked: each span for its own recipient, and for every agent its content could travel on to.
_ASKED = """
    CREATE OR REPLACE TEMP TABLE occurrence AS
    SELECT DISTINCT c.trace, c.scenario, c.channel, c.recipient, a.attribute, a.value_type, a.subject, c.kind,
           c.position, c.roles
    FROM rp_class c JOIN rp_span s ON s.trace = c.trace AND s.content = c.content JOIN rp_ask a USING (span)
"""
_ELSEWHERE = """
    INSERT INTO occurrence
    SELECT DISTINCT s.trace, t.scenario, 'C2', p.actor, a.attribute, a.value_type, a.subject, p.kind, p.position,
           coalesce(p.roles, [])
    FROM rp_span s JOIN rp_ask a USING (span) JOIN traces t ON t.trace = s.trace
    JOIN parties p ON p.trace = s.trace AND p.kind = 'agent'
"""
ASKS = """
    q.attribute IS NOT DISTINCT FROM a.attribute AND q.value_type IS NOT DISTINCT FROM a.value_type
    AND q.subject IS NOT DISTINCT FROM a.subject
"""
_JUDGED = """
    CREATE OR REPLACE TEMP TABLE rp_judged AS
    SELECT c.class, s.span, a.value, a.value_type, a.attribute, a.spared, ru.ruled AS in_force,
           CASE WHEN w.deny_static IS NOT NULL THEN 'sanitize' WHEN w.allow_static IS NOT NULL THEN 'allow'
                ELSE '{default}' END AS by_field,
           coalesce(w.deny_static, w.allow_static, 'default') AS field_rule,
           CASE WHEN w.deny_dynamic IS NOT NULL THEN 'sanitize' WHEN w.allow_dynamic IS NOT NULL THEN 'allow'
                ELSE '{default}' END AS by_recipient,
           coalesce(w.deny_dynamic, w.allow_dynamic, 'default') AS recipient_rule,
           {reachable} AS reachable, {forwarded} AS forwarded
    FROM rp_class c JOIN rp_span s ON s.trace = c.trace AND s.content = c.content JOIN rp_ask a USING (span)
    JOIN question q ON q.trace = c.trace AND q.channel = c.channel AND q.recipient IS NOT DISTINCT FROM c.recipient
         AND q.kind IS NOT DISTINCT FROM c.kind AND {asks}
    LEFT JOIN answer w USING (question) JOIN rulings ru ON ru.trace = c.trace {joins}
"""
_TRAVEL = """
    LEFT JOIN rp_reachable rr ON rr.trace = c.trace AND rr.agent = c.recipient
         AND rr.attribute IS NOT DISTINCT FROM a.attribute AND rr.value_type IS NOT DISTINCT FROM a.value_type
         AND rr.subject IS NOT DISTINCT FROM a.subject
    LEFT JOIN rp_forwarded rf ON rf.class = c.class AND rf.value = a.value
"""


def judge(case: Case, policy: Policy, rules: RuleSet, *, travels: bool) -> None:
    """Leave `rp_judged`, after `look`.

    Args:
        case: with `rp_class`, `rp_span` and `rp_ask`.
        policy: the one in force.
        rules: those of the audit.
        travels: some condition asks where a value could go, or did go, after this delivery.
    """
    case.execute(_ASKED)
    if travels:
        case.execute(_ELSEWHERE)
    answer(case, rules)
    if travels:
        mark_reachable(case, policy)
        mark_forwarded(case)
    marks = {"reachable": "rr.agent IS NOT NULL", "forwarded": "rf.class IS NOT NULL", "joins": _TRAVEL}
    marks = marks if travels else {"reachable": "false", "forwarded": "false", "joins": ""}
    with as_written(case):
        case.execute(_JUDGED.format(default=policy.default, asks=ASKS, **marks))
    for table in ("occurrence", "question", "term", "answer", *(("rp_reachable", "rp_forwarded") if travels else ())):
        case.execute(f"DROP TABLE {table}")


# Of several readings of a span the strictest holds.
_ACT = """
    CREATE OR REPLACE TEMP TABLE rp_act AS
    WITH told AS (
        SELECT j.*, s.confidence, {resolved} AS resolved, {closed} AS closed, s.confidence < {floor} AS uncertain,
               {numeric} AS numeric
        FROM rp_judged j JOIN rp_class c USING (class) JOIN rp_span s USING (span)
    ), decided AS (
        SELECT *, {verdict} AS how FROM told
    ), best AS (
        SELECT class, span, any_value(confidence) AS confidence, any_value(resolved) AS resolved,
               arg_min(struct_pack(how := how, value_type := value_type, attribute := attribute, numeric := numeric),
                       struct_pack(passes := how.verdict = 'allow', kind := value_type, a := attribute)) AS b
        FROM decided GROUP BY class, span
    )
    SELECT class, span, CASE WHEN b.how.verdict = 'allow' THEN 'allow' ELSE {action} END AS action,
           b.how.reason AS reason, b.how.rule AS rule, confidence, b.attribute AS attribute, b.value_type AS value_type
    FROM best
"""
_RESOLVED = {"paper": "c.boundary", "extended": "c.recipient IS NOT NULL"}
_NUMBER = r"\s*[A-Z]{0,3}\s?[$€£¥]?\s?-?\d[\d.,'' ]*\s?(%|[$€£¥]|[A-Z]{3})?\s*"
_NUMERIC = f"regexp_full_match(coalesce(s.canonical, ''), '{_NUMBER}')"


def _how(verdict: str, reason: str, rule: str = "NULL::VARCHAR") -> str:
    return f"struct_pack(verdict := {verdict}, reason := '{reason}', rule := {rule})"


_UNRULED = "WHEN NOT in_force THEN " + _how("'allow'", "unruled")
_SPARED = "WHEN spared THEN " + _how("'allow'", "in request")
_UNRESOLVED = " ".join(
    (
        "WHEN NOT resolved AND closed THEN " + _how("'sanitize'", "fallback: closed"),
        "WHEN NOT resolved THEN " + _how("by_field", "fallback: field", "field_rule"),
    )
)
_UNCERTAIN = "WHEN uncertain THEN " + _how("'sanitize'", "uncertain")
_WITHHELD = {
    "dynamic": "",
    "topology-reachable": "WHEN reachable AND by_recipient = 'allow' THEN " + _how("'sanitize'", "reachable"),
    "topology-forwarded": "WHEN forwarded AND by_recipient = 'allow' THEN " + _how("'sanitize'", "forwarded"),
}


def _verdict(plan: Plan) -> str:
    """SQL: verdict, reason and rule for one reading of a span."""
    decision = plan.condition.decision
    if decision == "allow_all":
        return _how("'allow'", "everything passes")
    if decision == "all_detected":
        return _how("'sanitize'", "detected")
    if decision == "static":
        return f"CASE {_UNRULED} {_SPARED} ELSE {_how('by_field', 'field', 'field_rule')} END"
    uncertain = _UNCERTAIN if plan.condition.protect_uncertain else ""
    by_recipient = _how("by_recipient", "recipient", "recipient_rule")
    return f"CASE {_UNRULED} {_SPARED} {_UNRESOLVED} {uncertain} {_WITHHELD[decision]} ELSE {by_recipient} END"


# What fits the type where nobody says otherwise; numbers are blurred rather than renamed.
_BY_TYPE = {
    "format_dependent": "'fpe'",
    "value_dependent": "CASE WHEN b.numeric THEN 'mldp' ELSE 'pseudonym' END",
    "contextual": "'rewrite'",
}


def _action(plan: Plan, policy: Policy) -> str:
    """SQL: the transform for the type of a value."""
    given = policy.transforms if plan.condition.transforms is None else plan.condition.transforms
    chosen = {t: f"'{given[t]}'" if t in given else _BY_TYPE[t] for t in VALUE_TYPES}
    cases = " ".join(f"WHEN '{kind}' THEN {action}" for kind, action in chosen.items())
    return f"CASE b.value_type {cases} ELSE 'redact' END"


def closed_channels(plan: Plan, policy: Policy) -> list[str]:
    """Channels on which what has no known recipient is sanitized."""
    given = policy.fallback if plan.condition.fallback is None else plan.condition.fallback
    return [c for c in CHANNELS if given.get(c) == "closed"]


# The same for many plans: spans of deliveries of which all is alike that a decision looks at are of one kind, and there
# are few kinds. Hardly a span has several readings.
_LOOKED_AT = (
    "channel", "boundary", "named", "confidence", "is_numeric", "spared", "in_force", "by_field", "field_rule",
    "by_recipient", "recipient_rule", "reachable", "forwarded", "value_type",
)  # fmt: skip
_BASE = f"""
    CREATE OR REPLACE TEMP TABLE rp_base AS
    SELECT *, hash({", ".join(_LOOKED_AT)}) AS kind FROM (
        SELECT j.* EXCLUDE (value), c.channel, c.boundary, c.recipient IS NOT NULL AS named, s.confidence,
               {_NUMERIC} AS is_numeric, m.span IS NOT NULL AS several
        FROM rp_judged j JOIN rp_class c USING (class) JOIN rp_span s USING (span)
        LEFT JOIN (SELECT class, span FROM rp_judged GROUP BY class, span HAVING count(*) > 1) m
             ON m.class = j.class AND m.span = j.span)
"""
_KINDS = f"""
    CREATE OR REPLACE TEMP TABLE rp_kind AS
    SELECT kind, {", ".join(f"any_value({c}) AS {c}" for c in _LOOKED_AT)} FROM rp_base GROUP BY kind
"""
_RULING = """
    CREATE OR REPLACE TEMP TABLE rp_ruling AS
    SELECT b.kind, b.value_type, CASE WHEN b.how.verdict = 'allow' THEN 'allow' ELSE {action} END AS action,
           b.how.reason AS reason, b.how.rule AS rule
    FROM (SELECT *, is_numeric AS numeric, {verdict} AS how FROM (
        SELECT *, {resolved} AS resolved, {closed} AS closed, confidence < {floor} AS uncertain FROM rp_kind)) b
"""
_CARRIED_OUT = """
    CREATE OR REPLACE TEMP TABLE rp_act AS
    WITH decided AS (
        SELECT b.class, b.span, r.action, r.reason, r.rule, b.confidence, b.attribute, r.value_type, b.several
        FROM rp_base b JOIN rp_ruling r ON r.kind = b.kind
    )
    SELECT * EXCLUDE (several) FROM decided WHERE NOT several
    UNION ALL
    SELECT class, span, unnest(arg_min(
               struct_pack(action := action, reason := reason, rule := rule, confidence := confidence,
                           attribute := attribute, value_type := value_type),
               struct_pack(passes := action = 'allow', kind := value_type, a := attribute)))
    FROM decided WHERE several GROUP BY class, span
"""
_NAMED = {"paper": "boundary", "extended": "named"}
Ruling = tuple[tuple[int, str, str, str | None], ...]


def find_kinds(case: Case) -> None:
    """Leave `rp_base` and `rp_kind` for `rule`, after `judge`."""
    case.execute(_BASE)
    case.execute(_KINDS)


def rule(case: Case, plan: Plan, policy: Policy) -> Ruling:
    """Leave `rp_ruling`, and give it: kind, action, reason and rule. Plans with one ruling decide alike everywhere."""
    case.execute(
        _RULING.format(
            resolved=_NAMED[plan.setting],
            closed=f"list_contains({closed_channels(plan, policy)}::VARCHAR[], channel)",
            floor=floor(plan.condition.confidence, "channel"),
            verdict=_verdict(plan),
            action=_action(plan, policy),
        )
    )
    return tuple(case.rows("SELECT kind, action, reason, rule FROM rp_ruling ORDER BY kind"))


def carry_out(case: Case) -> None:
    """Leave `rp_act` as `act` does, from `rp_ruling`."""
    case.execute(_CARRIED_OUT)


def act(case: Case, plan: Plan, policy: Policy) -> None:
    """Leave `rp_act`: the decision of one plan on every span of every delivery."""
    case.execute(
        _ACT.format(
            resolved=resolved(plan),
            closed=f"list_contains({closed_channels(plan, policy)}::VARCHAR[], c.channel)",
            floor=floor(plan.condition.confidence, "c.channel"),
            numeric=_NUMERIC,
            verdict=_verdict(plan),
            action=_action(plan, policy),
        )
    )


def resolved(plan: Plan) -> str:
    """SQL over `rp_class c`: whether the recipient is known in the setting of a plan."""
    return _RESOLVED[plan.setting]


def decides_by(plan: Plan, policy: Policy) -> str:
    """What the decisions of a plan depend on: plans that have it in common decide alike."""
    setting = resolved(plan) if plan.condition.decision in BY_RECIPIENT else ""
    floors = floor(plan.condition.confidence, "c.channel")
    return " ".join((setting, *closed_channels(plan, policy), floors, _verdict(plan), _action(plan, policy)))
