"""Who is outside for a value: may not know it, and was never given it. Everything eligible rests on this.

Temporary tables, all by set operations:

- `rc_value` (trace, value, kept): values in scope of a judged trace; the same text under the same attribute is one,
  `kept` being its first number.
- `rc_got` (trace, actor, kind, channel, event, content): what agents and users received.
- `rc_view` (trace, actor, content): that, and what they were shown.
- `rc_outside` (trace, actor, kind, value): actors outside for a value.
"""

import msgspec

from earwitness.audit.decide import answer, in_force
from earwitness.audit.rulesets import DEFAULT, RULE_SETS, RuleSet
from earwitness.schema.case import Case
from earwitness.schema.words import Effect

_VALUES = """
    CREATE OR REPLACE TEMP TABLE rc_value AS
    WITH judged AS (SELECT t.trace, t.scenario FROM traces t JOIN rulings r USING (trace) WHERE r.ruled),
    held AS (
        SELECT j.trace, v.value FROM judged j JOIN vault v ON v.scope = 'trace' AND v.trace = j.trace
        UNION ALL SELECT j.trace, v.value FROM judged j JOIN vault v ON v.scope = 'scenario' AND v.scenario = j.scenario
        UNION ALL SELECT j.trace, v.value FROM judged j CROSS JOIN (SELECT value FROM vault WHERE scope = 'case') v)
    SELECT h.trace, h.value, min(h.value) OVER (PARTITION BY h.trace, v.attribute, v.text) AS kept
    FROM held h JOIN vault v USING (value)
"""
_GOT = """
    CREATE OR REPLACE TEMP TABLE rc_got AS
    SELECT DISTINCT f.trace, f.recipient AS actor, p.kind, f.channel, f.event, f.content
    FROM flows f JOIN parties p ON p.trace = f.trace AND p.actor = f.recipient
    WHERE p.kind IN ('agent', 'user') AND f.trace IN (SELECT trace FROM rc_value)
"""
_VIEW = """
    CREATE OR REPLACE TEMP TABLE rc_view AS
    SELECT trace, actor, content FROM rc_got
    UNION
    SELECT s.trace, coalesce(a.actor, s.actor), s.content FROM sightings s LEFT JOIN aliases a ON a.alias = s.actor
    WHERE (s.trace, coalesce(a.actor, s.actor)) IN (SELECT (trace, actor) FROM rc_got)
"""
# What decides on an occurrence that never was: each value, told to each recipient on each channel it received by.
_OCCURRENCES = """
    CREATE OR REPLACE TEMP TABLE occurrence AS
    SELECT g.trace, t.scenario, g.channel, g.actor AS recipient, v.kept AS value, w.attribute, w.value_type, w.subject,
           p.kind, p.position, coalesce(p.roles, []) AS roles, {spared} AS spared
    FROM (SELECT DISTINCT trace, actor, channel FROM rc_got) g
    JOIN (SELECT DISTINCT trace, kept FROM rc_value) v USING (trace) JOIN vault w ON w.value = v.kept
    JOIN traces t USING (trace) JOIN parties p ON p.trace = g.trace AND p.actor = g.actor
"""
_SPARED = "coalesce(contains(lower(t.request), lower(w.text)), false)"
_BARRED = """
    CREATE OR REPLACE TEMP TABLE rc_barred AS
    SELECT o.trace, o.recipient AS actor, any_value(o.kind) AS kind, o.value
    FROM occurrence o
    JOIN question q ON q.trace = o.trace AND q.channel = o.channel AND q.recipient = o.recipient
         AND q.attribute = o.attribute AND q.value_type IS NOT DISTINCT FROM o.value_type
         AND q.subject IS NOT DISTINCT FROM o.subject
    LEFT JOIN answer a USING (question) GROUP BY o.trace, o.recipient, o.value
    HAVING NOT bool_or(o.spared OR (a.deny_dynamic IS NULL AND (a.allow_dynamic IS NOT NULL OR {lenient})))
"""
# Who received, was shown or itself said a text that discloses a value has it.
_HOLDERS = """
    CREATE OR REPLACE TEMP TABLE rc_holder AS
    WITH told AS (SELECT content, value, event FROM matches WHERE standing = 'confirmed'),
    met AS (
        SELECT trace, actor, event, content FROM rc_got
        UNION ALL SELECT trace, actor, NULL, content FROM rc_view
        UNION ALL SELECT DISTINCT trace, sender, event, content FROM flows WHERE sender IS NOT NULL)
    SELECT DISTINCT m.trace, m.actor, v.kept AS value
    FROM met m JOIN told t ON t.content = m.content AND (t.event IS NULL OR t.event = m.event)
    JOIN rc_value v ON v.trace = m.trace AND v.value = t.value
"""
_OUTSIDE = """
    CREATE OR REPLACE TEMP TABLE rc_outside AS
    SELECT b.* FROM rc_barred b ANTI JOIN rc_holder h USING (trace, actor, value)
"""
_DECIDING = ("occurrence", "question", "term", "answer", "rc_barred", "rc_holder")
_MADE = ("rc_value", "rc_got", "rc_view", "rc_outside")


def place_outsiders(case: Case) -> Effect:
    """Make the tables of this module; gives the policy's default that was gone by.

    Needs an audited case. A recipient is barred from a value if the policy gives it to that recipient on none of
    the channels it received anything by.
    """
    rules, default = rules_of(case), in_force(case).default
    for query in (_VALUES, _GOT, _VIEW, _OCCURRENCES.format(spared=_SPARED if rules.spare_request else "false")):
        case.execute(query)
    answer(case, rules)
    case.execute(_BARRED.format(lenient="true" if default == "allow" else "false"))
    case.execute(_HOLDERS)
    case.execute(_OUTSIDE)
    for table in _DECIDING:
        case.execute(f"DROP TABLE {table}")
    return default


def drop_outsiders(case: Case) -> None:
    """Drop what `place_outsiders` made."""
    for table in _MADE:
        case.execute(f"DROP TABLE IF EXISTS {table}")


def rules_of(case: Case) -> RuleSet:
    """The rule set of the last audit."""
    told = case.one("SELECT parameters FROM runs WHERE stage = 'decide' ORDER BY run DESC LIMIT 1")
    name = msgspec.json.decode(told).get("rules") if told else None
    return RULE_SETS.get(name, DEFAULT) if isinstance(name, str) else DEFAULT
