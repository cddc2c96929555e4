"""What a replay leaves of each occurrence, and why: one row of `replays` for every plan and occurrence.

Temporary tables:

- `rp_occ` (occ, event, trace, channel, value, recipient, grade, truth, class, split): confirmed occurrences that a
  policy rules.
- `rp_spot` (occ, spot, span): the places of each, and the spans on them (NULL: none).
- `rp_handled` (plan, occ, detected, acted, touched, action, reason, rule, confidence): what was decided on them.
"""

from earwitness.audit.decide import floor
from earwitness.audit.namesakes import find_namesakes
from earwitness.audit.replay.condition import Plan
from earwitness.audit.replay.downstream import find_downstream
from earwitness.audit.replay.judging import resolved
from earwitness.audit.replay.ordering import as_written
from earwitness.audit.rulesets import RuleSet
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy

_MEMORY = "250MB"

PREPARE = (
    """
    CREATE OR REPLACE TEMP TABLE rp_occ AS
    SELECT row_number() OVER (ORDER BY v.event, v.value, v.recipient)::INTEGER - 1 AS occ, v.event, v.trace, v.channel,
           v.value, v.recipient, v.grade, v.dynamic AS truth, f.class,
           v.value NOT IN (SELECT value FROM rp_known k WHERE k.trace = v.trace AND k.content = c.content
                           AND k.event IS NULL) AS split
    FROM verdicts v JOIN rp_flow f ON f.event = v.event AND f.recipient IS NOT DISTINCT FROM v.recipient
    JOIN rp_class c USING (class)
    WHERE v.standing = 'confirmed' AND v.dynamic <> 'unruled'
    """,
    """CREATE OR REPLACE TEMP TABLE rp_handled (
        plan INTEGER, occ INTEGER, detected BOOLEAN, acted BOOLEAN, touched BOOLEAN,
        resolved BOOLEAN, action VARCHAR, reason VARCHAR, rule VARCHAR, confidence DOUBLE)""",
)
SPOTS = """
    CREATE OR REPLACE TEMP TABLE rp_spot AS
    WITH spot AS (
        SELECT o.occ, o.class, k.value, k.trace, k.content, k.start, k.stop
        FROM rp_occ o JOIN rp_class c USING (class)
        JOIN rp_known k ON k.trace = o.trace AND k.content = c.content AND k.value = o.value
             AND (k.event IS NULL OR k.event = o.event)
    ), touch AS (
        SELECT t.span, s.trace, s.content, t.value, t.start, t.stop FROM rp_touch t JOIN rp_span s USING (span))
    SELECT p.occ, p.class, p.start AS spot, p.stop, t.span
    FROM spot p LEFT JOIN touch t USING (trace, content, value, start, stop)
"""
# A place is acted on if one of the spans on it is. The reason is that of a place that was not, if there is one.
_HANDLED = """
    INSERT INTO rp_handled
    WITH spot AS (
        SELECT s.occ, s.spot, s.stop, count(s.span) > 0 AS flagged,
               coalesce(bool_or(a.action <> 'allow'), false) AS acted,
               max(a.confidence) AS confidence,
               arg_min(struct_pack(action := a.action, reason := a.reason, rule := a.rule),
                       (a.action = 'allow', -a.confidence, a.reason, a.span)) FILTER (a.span IS NOT NULL) AS how
        FROM rp_spot s LEFT JOIN rp_act a ON a.class = s.class AND a.span = s.span GROUP BY s.occ, s.spot, s.stop
    ), told AS (
        SELECT occ, bool_and(flagged) AS detected, bool_and(acted) AS acted, bool_or(acted) AS touched,
               max(confidence) AS confidence, arg_min(how, (acted, spot)) FILTER (flagged) AS how FROM spot GROUP BY occ
    )
    SELECT {plan}, occ, coalesce(detected, false), coalesce(acted, false), coalesce(touched, false), {resolved},
           how.action, how.reason, how.rule, confidence
    FROM rp_occ o JOIN rp_class c USING (class) LEFT JOIN told USING (occ)
"""


def handle(case: Case, plan: Plan) -> None:
    """Note what a plan decides on each occurrence, after `act`."""
    case.execute(_HANDLED.format(plan=plan.number, resolved=resolved(plan)))


_LIKE = """
    INSERT INTO rp_handled
    SELECT {plan}, h.* EXCLUDE (plan) REPLACE ({resolved} AS resolved)
    FROM rp_handled h JOIN rp_occ o USING (occ) JOIN rp_class c USING (class) WHERE h.plan = {first}
"""


def handle_like(case: Case, plan: Plan, first: Plan) -> None:
    """Note for a plan what was noted for another that decides alike."""
    case.execute(_LIKE.format(plan=plan.number, first=first.number, resolved=resolved(plan)))


# Floors of the policy hold for what is found again, too. What only a judge or a person had confirmed remains as long
# as nothing on its place was changed, or the measuring detector still finds it.
_LEFT = """
    CREATE OR REPLACE TEMP TABLE rp_left AS
    WITH again AS (
        SELECT content, value, max(confidence) AS confidence, bool_or(standing = 'confirmed') AS confirmed
        FROM replay_matches WHERE stream IS NULL GROUP BY ALL
    ), split AS (
        SELECT stream, event, content, value, max(confidence) AS confidence FROM replay_matches
        WHERE stream IS NOT NULL AND standing = 'confirmed' GROUP BY ALL
    ), vouched AS (
        SELECT m.content, m.value FROM matches m WHERE m.standing = 'confirmed'
        AND (m.tier > 1 OR (m.content, m.value) IN (SELECT (content, value) FROM overruled))
    ), delivered AS (
        SELECT h.plan, h.occ, o.value, o.event, o.split, o.class, h.touched AS acted,
               c.content AS original, coalesce(t.changed, c.content) AS content,
               coalesce(t.text IS NOT NULL, false) AS changed, {floor} AS floor, o.trace, f.sender
        FROM rp_handled h JOIN rp_occ o USING (occ) JOIN rp_class c USING (class)
        JOIN (SELECT DISTINCT event, coalesce(sender, '') AS sender FROM flows) f ON f.event = o.event
        LEFT JOIN rp_sent s ON s.plan = h.plan AND s.class = o.class
        LEFT JOIN replay_texts t ON t.variant = s.variant
    )
    SELECT d.plan, d.occ, d.trace, d.value,
           CASE WHEN d.split OR d.changed THEN
                    coalesce(a.confirmed AND a.confidence >= d.floor, false)
                    OR (NOT d.changed AND d.split AND r.stream IS NULL)
                    OR coalesce(p.confidence >= d.floor, false)
                    OR (v.value IS NOT NULL AND (a.value IS NOT NULL OR NOT d.acted))
                ELSE true END AS found
    FROM delivered d
    LEFT JOIN again a ON a.content = d.content AND a.value = d.value
    LEFT JOIN rp_stream r ON r.plan = d.plan AND r.trace = d.trace AND r.sender = d.sender
    LEFT JOIN split p ON p.stream = r.stream AND p.event = d.event AND p.content = d.content AND p.value = d.value
    LEFT JOIN vouched v ON v.content = d.original AND v.value = d.value
"""
_WRITE = """
    INSERT INTO replays
    SELECT n.condition, n.setting, o.event, o.trace, o.channel, o.value, o.recipient, o.grade, o.truth, h.resolved,
           h.detected, h.action, coalesce(x.done, h.action), h.reason, h.rule, h.confidence, l.found, l.downstream,
           CASE WHEN o.truth <> 'sanitize' OR NOT l.found THEN NULL
                WHEN NOT h.detected THEN 'detection_miss'
                WHEN h.acted THEN 'post_transform'
                WHEN h.reason LIKE 'fallback%' THEN 'no_recipient' ELSE 'policy_gap' END
    FROM rp_handled h JOIN rp_occ o USING (occ) JOIN rp_downstream l USING (plan, occ) JOIN rp_plan n USING (plan)
    LEFT JOIN rp_done x USING (plan, occ)
"""
# Where a place did not become what was asked for, what it became stands in the exceptions of its text.
_DONE = """
    CREATE OR REPLACE TEMP TABLE rp_done AS
    SELECT s.plan, o.occ, min(e.done) AS done
    FROM rp_sent s JOIN replay_exceptions e ON e.variant = s.variant AND e.done <> e.asked
    JOIN rp_occ o ON o.class = s.class JOIN (SELECT DISTINCT occ, spot, stop FROM rp_spot_all) p USING (occ)
    WHERE e.start < p.stop AND p.spot < e.stop GROUP BY s.plan, o.occ
"""
_SPOTS_ALL = """
    CREATE OR REPLACE TEMP TABLE rp_spot_all AS
    SELECT o.occ, k.start AS spot, k.stop FROM rp_occ o JOIN rp_class c USING (class)
    JOIN rp_known k ON k.trace = o.trace AND k.content = c.content AND k.value = o.value
         AND (k.event IS NULL OR k.event = o.event)
"""
# Names and birthdays that others share are sure only beside what identifies; a sanitizer may have taken that away.
_SEEN = """
    SELECT trace, value FROM rp_left WHERE plan = {plan} AND found
    UNION
    SELECT e.trace, m.value FROM matches m
    JOIN events e ON e.content = m.content AND (m.event IS NULL OR m.event = e.event)
    WHERE m.standing = 'confirmed' AND e.event NOT IN (SELECT event FROM flows)
"""


def _mistake(case: Case, plan: Plan) -> None:
    """What is left of a plan that could be somebody else's is only possible."""
    if find_namesakes(case, _SEEN.format(plan=plan.number)):
        case.execute(f"""
            UPDATE rp_left SET found = false WHERE plan = {plan.number}
            AND (trace, value) IN (SELECT (trace, value) FROM namesakes)
        """)
    case.execute("DROP TABLE namesakes")


_DELIVERIES = """
    INSERT INTO replay_deliveries
    SELECT n.condition, n.setting, f.event, f.recipient, s.variant
    FROM rp_sent s JOIN rp_plan n USING (plan) JOIN rp_flow f USING (class)
"""


def conclude(case: Case, plans: list[Plan], policy: Policy, rules: RuleSet) -> int:
    """Fill `replays`, after `measure_again`; gives the number of rows."""
    case.clear("replays")
    case.execute("CREATE OR REPLACE TEMP TABLE rp_plan (plan INTEGER, condition VARCHAR, setting VARCHAR)")
    for plan in plans:
        case.execute("INSERT INTO rp_plan VALUES (?, ?, ?)", [plan.number, plan.condition.name, plan.setting])
    # What the transforms hold is in memory, too.
    with case.confined(_MEMORY):
        with as_written(case):
            case.execute(_LEFT.format(floor=floor(policy.confidence, "o.channel")))
        if rules.forms and case.one("SELECT count(*) FROM vault WHERE subject IS NOT NULL"):
            for plan in plans:
                _mistake(case, plan)
        find_downstream(case)
        for statement in (_SPOTS_ALL, _DONE, _WRITE, _DELIVERIES):
            case.execute(statement)
    return case.count("replays")
