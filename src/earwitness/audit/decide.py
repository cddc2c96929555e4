"""The authorisation relation over every occurrence: Static-A by field, Dynamic-A by field and resolved recipient.

Deny beats allow; what no rule allows falls to the default. Which rule decided stands beside each verdict.
Traces over which no rule of any kind stands are `unruled`: nothing in them is called a leak.
"""

from collections.abc import Mapping
from itertools import product

from msgspec.json import decode, encode

from earwitness.audit.namesakes import find_namesakes
from earwitness.audit.rulesets import RuleSet
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy
from earwitness.schema.words import CHANNELS, Channel

_OCCURRENCES = """
    CREATE OR REPLACE TEMP TABLE occurrence AS
    SELECT f.event, f.trace, t.scenario, f.channel, f.recipient, f.grade,
           m.value, v.attribute, v.value_type, v.subject, p.kind, p.position, coalesce(p.roles, []) AS roles,
           CASE WHEN m.confidence < {floor} OR n.value IS NOT NULL THEN 'possible' ELSE m.standing END AS standing,
           {spared} AS spared
    FROM flows f JOIN matches m ON m.content = f.content AND (m.event IS NULL OR m.event = f.event)
    JOIN vault v USING (value) JOIN traces t ON t.trace = f.trace
    LEFT JOIN parties p ON p.trace = f.trace AND p.actor = f.recipient
    LEFT JOIN namesakes n ON n.trace = f.trace AND n.value = m.value
    WHERE v.scope = 'case' OR v.trace = f.trace OR (v.scope = 'scenario' AND v.scenario = t.scenario)
"""
_SPARED = "coalesce(contains(lower(t.request), lower(v.text)), false)"

# Every distinct question is decided once, however many occurrences ask it.
_QUESTIONS = """
    CREATE OR REPLACE TEMP TABLE question AS
    SELECT row_number() OVER () AS question, * FROM (
        SELECT DISTINCT trace, scenario, channel, recipient, attribute, value_type, subject, kind, position, roles
        FROM occurrence)
"""

_TERMS = """
    CREATE OR REPLACE TEMP TABLE term AS
    WITH used AS (SELECT * FROM rules WHERE effect IN ({effects})),
    names AS (SELECT rule, unnest(attributes) AS name FROM used)
    SELECT rule, name AS attribute FROM names WHERE NOT contains(name, '*')
    UNION SELECT rule, a.attribute FROM names
    JOIN (SELECT DISTINCT attribute FROM occurrence) a ON a.attribute GLOB name WHERE contains(name, '*')
    UNION SELECT rule, NULL FROM used WHERE len(attributes) = 0
"""

_SCOPES = {
    "trace": "r.trace = q.trace",
    "scenario": "r.scenario = q.scenario AND r.trace IS NULL",
    "case": "r.trace IS NULL AND r.scenario IS NULL",
}


def _fits(column: str, cell: str) -> str:
    """SQL: a list selector is empty, names the cell, or holds a wildcard that does."""
    wild = f"len(list_filter({column}, lambda x: contains(x, '*') AND {cell} GLOB x)) > 0"
    return f"(len({column}) = 0 OR list_contains({column}, {cell}) OR {wild})"


_FIELD_FITS = " AND ".join(
    (
        _fits("r.value_types", "q.value_type"),
        _fits("r.subjects", "coalesce(q.subject, '')"),
        _fits("r.channels", "q.channel"),
    )
)
_RECIPIENT_FITS = " AND ".join(
    (
        _fits("r.recipients", "coalesce(q.recipient, '')"),
        _fits("r.kinds", "coalesce(q.kind, '')"),
        _fits("r.positions", "coalesce(q.position, 'unknown')"),
        "(len(r.roles) = 0 OR len(list_intersect(r.roles, q.roles)) > 0)",
    )
)
_NAMES_RECIPIENT = "len(r.recipients) + len(r.kinds) + len(r.positions) + len(r.roles) > 0"


def _hits() -> str:
    """SQL: the rules that speak to each question; one equi-join for each scope, with and without an attribute."""
    branches = []
    for scope, named in product(_SCOPES.values(), ("t.attribute = q.attribute", "t.attribute IS NULL")):
        branches.append(f"""
            SELECT q.question, r.rule, r.rule_id, r.effect, {_NAMES_RECIPIENT} AS narrow,
                   q.recipient IS NOT NULL AND {_RECIPIENT_FITS} AS reaches
            FROM question q JOIN rules r ON {scope} JOIN term t ON t.rule = r.rule AND {named}
            WHERE {_FIELD_FITS}""")
    return " UNION ALL ".join(branches)


_DENY_STATIC = "effect = 'sanitize' AND NOT narrow"
_ANSWERS = f"""
    CREATE OR REPLACE TEMP TABLE answer AS
    SELECT question, count(*) AS hits,
           min_by(rule_id, rule) FILTER ({_DENY_STATIC}) AS deny_static,
           min_by(rule_id, rule) FILTER (effect = 'allow') AS allow_static,
           min_by(rule_id, rule) FILTER (effect = 'sanitize' AND reaches) AS deny_dynamic,
           min_by(rule_id, rule) FILTER (effect = 'allow' AND reaches) AS allow_dynamic
    FROM ({_hits()}) GROUP BY question
"""

_RULINGS = """
    INSERT INTO rulings
    WITH used AS (SELECT * FROM rules WHERE effect IN ({effects})),
    ruled AS (
        SELECT trace FROM used WHERE trace IS NOT NULL
        UNION SELECT t.trace FROM used u JOIN traces t ON t.scenario = u.scenario WHERE u.trace IS NULL
        UNION SELECT trace FROM traces WHERE {given}
            OR EXISTS (SELECT 1 FROM used WHERE trace IS NULL AND scenario IS NULL)
    ), valued AS (
        -- What recognizers found is looked for; it does not make the rest of a trace clean.
        SELECT trace FROM vault WHERE scope = 'trace' AND origin NOT IN ('recognized', 'suspected')
        UNION SELECT t.trace FROM vault v JOIN traces t ON t.scenario = v.scenario WHERE v.scope = 'scenario'
        UNION SELECT trace FROM traces WHERE EXISTS (SELECT 1 FROM vault WHERE scope = 'case')
    )
    SELECT trace, trace IN (SELECT trace FROM ruled), trace IN (SELECT trace FROM valued) FROM traces
"""

_VERDICTS = """
    INSERT INTO verdicts
    WITH decided AS (
        SELECT o.event, o.trace, o.channel, o.value, o.recipient, o.grade, o.standing, o.spared,
               ru.ruled AS in_force, coalesce(a.hits, 0) > 0 AS mentioned, a.*,
               CASE WHEN a.deny_static IS NOT NULL THEN 'sanitize' WHEN a.allow_static IS NOT NULL THEN 'allow'
                    ELSE '{default}' END AS by_field,
               coalesce(a.deny_static, a.allow_static, 'default') AS field_rule,
               list_contains({closed}, o.channel) AS closed
        FROM occurrence o
        JOIN question q ON q.trace = o.trace AND q.channel = o.channel AND q.recipient IS NOT DISTINCT FROM o.recipient
             AND q.attribute = o.attribute AND q.value_type = o.value_type AND q.subject IS NOT DISTINCT FROM o.subject
        LEFT JOIN answer a USING (question) JOIN rulings ru ON ru.trace = o.trace
    )
    SELECT event, trace, channel, value, recipient, grade, standing,
        CASE WHEN NOT in_force THEN 'unruled' WHEN spared THEN 'allow' ELSE by_field END,
        CASE WHEN NOT in_force THEN NULL WHEN spared THEN 'in-request' ELSE field_rule END,
        CASE WHEN NOT in_force THEN 'unruled' WHEN spared THEN 'allow'
             WHEN recipient IS NULL THEN CASE WHEN closed THEN 'sanitize' ELSE by_field END
             WHEN deny_dynamic IS NOT NULL THEN 'sanitize' WHEN allow_dynamic IS NOT NULL THEN 'allow'
             ELSE '{default}' END,
        CASE WHEN NOT in_force THEN NULL WHEN spared THEN 'in-request'
             WHEN recipient IS NULL THEN CASE WHEN closed THEN 'fallback: closed' ELSE field_rule END
             ELSE coalesce(deny_dynamic, allow_dynamic, 'default') END,
        mentioned
    FROM decided
"""


def decide(case: Case, policy: Policy | None, rules: RuleSet) -> int:
    """Fill `verdicts`; gives their number.

    Args:
        case: after detection, with the policy in force (`apply_policy`).
        policy: its default, fallbacks and confidence floors; None for those of an empty policy.
        rules: which effects count, and whether a value in the request is spared.
    """
    case.clear("verdicts", "rulings")
    given = policy or Policy()
    effects = ", ".join(f"'{e}'" for e in rules.effects)
    spared = _SPARED if rules.spare_request else "false"
    closed = [c for c in CHANNELS if given.fallback.get(c) == "closed"]
    if rules.forms:
        find_namesakes(case)
    else:
        case.execute("CREATE OR REPLACE TEMP TABLE namesakes (trace INTEGER, value BIGINT)")
    case.execute(_OCCURRENCES.format(floor=floor(given.confidence, "f.channel"), spared=spared))
    answer(case, rules)
    case.execute(_RULINGS.format(effects=effects, given="true" if policy else "false"))
    case.execute(_VERDICTS.format(default=given.default, closed=f"{closed}::VARCHAR[]"))
    for table in ("occurrence", "question", "term", "answer", "namesakes"):
        case.execute(f"DROP TABLE {table}")
    # Only what the tables do not hold; no value that the file gives inline.
    kept = Policy(
        default=given.default, fallback=given.fallback, confidence=given.confidence, transforms=given.transforms
    )
    case.set_meta("policy", encode(kept).decode())
    return case.count("verdicts")


def answer(case: Case, rules: RuleSet) -> None:
    """Ask the rules in force every distinct question of the temporary table `occurrence`; leaves `question`, `term`
    and `answer`: which rules forbid and allow it, by field alone and by the recipient too.

    Questions are the columns trace, scenario, channel, recipient, attribute, value_type, subject, kind, position and
    roles of `occurrence`, whatever else it holds.
    """
    effects = ", ".join(f"'{e}'" for e in rules.effects)
    for statement in (_QUESTIONS, _TERMS.format(effects=effects), _ANSWERS):
        case.execute(statement)


def in_force(case: Case) -> Policy:
    """The policy by which the case was judged: its default, fallbacks, floors and transforms."""
    return decode(case.meta("policy") or "{}", type=Policy)


def floor(floors: Mapping[Channel, float], channel: str) -> str:
    """SQL: the confidence floor of the channel in the column `channel`."""
    cases = " ".join(f"WHEN '{c}' THEN {float(f)}" for c, f in floors.items())
    return f"CASE {channel} {cases} ELSE 0.0 END" if cases else "0.0"
