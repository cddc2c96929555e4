"""What a sanitizer would have looked at: deliveries, the spans a detector finds in them, the known values they lie on.

Temporary tables, all by set operations:

- `rp_class` (class, trace, scenario, content, channel, recipient, kind, position, roles, boundary): deliveries that
  are judged alike; `boundary` says that the recipient counts as known in the paper's setting.
- `rp_flow` (event, recipient, class): which class each delivery is of.
- `rp_known` (trace, content, value, start, stop, event): places of confirmed values, the truth.
- `rp_span` (span, trace, content, start, stop, entity, attribute, value_type, canonical, subject, confidence).
- `rp_touch` (span, value, start, stop, event, share): spans on places of known values; `share` is what both have in
  common of what either covers.
- `rp_ask` (span, attribute, value_type, subject, value, spared): what each span is judged under.
"""

from collections.abc import Callable

from earwitness.audit.replay.condition import Condition, Detector
from earwitness.audit.replay.presidio import find_presidio
from earwitness.audit.replayed.detector import looked_for_names, replayed
from earwitness.audit.rulesets import RuleSet
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress

# Only an inter-agent message and what an agent reads from memory name a recipient by themselves.
_CLASSES = """
    CREATE OR REPLACE TEMP TABLE rp_class AS
    SELECT row_number() OVER (ORDER BY trace, content, channel, recipient)::INTEGER AS class, *,
           recipient IS NOT NULL AND (channel = 'C2' OR channel = 'C5' AND kind = 'agent') AS boundary
    FROM (SELECT DISTINCT f.trace, t.scenario, f.content, f.channel, f.recipient, p.kind, p.position,
                 coalesce(p.roles, []) AS roles
          FROM flows f JOIN traces t ON t.trace = f.trace
          LEFT JOIN parties p ON p.trace = f.trace AND p.actor = f.recipient)
"""
_FLOWS = """
    CREATE OR REPLACE TEMP TABLE rp_flow AS
    SELECT DISTINCT f.event, f.recipient, c.class FROM flows f JOIN rp_class c
    ON c.trace = f.trace AND c.content = f.content AND c.channel = f.channel
       AND c.recipient IS NOT DISTINCT FROM f.recipient
"""
_KNOWN = """
    CREATE OR REPLACE TEMP TABLE rp_known AS
    SELECT DISTINCT v.trace, e.content, p.value, p.start, p.stop, p.event
    FROM verdicts v JOIN events e USING (event)
    JOIN replay_places p ON p.content = e.content AND p.value = v.value AND (p.event IS NULL OR p.event = v.event)
    WHERE v.standing = 'confirmed'
"""
_SPANS = """
    CREATE OR REPLACE TEMP TABLE rp_span AS
    SELECT row_number() OVER (ORDER BY trace, content, start, stop)::INTEGER AS span, * FROM ({found})
"""
_BEST = """
    SELECT h.trace, d.content, d.start, d.stop, {told}, max(d.confidence) AS confidence
    FROM {table} d JOIN (SELECT DISTINCT trace, content FROM rp_class) h ON h.content = d.content
    {texts} WHERE {where} GROUP BY h.trace, d.content, d.start, d.stop
"""
_OWN = ", ".join(
    f"arg_min(d.{c}, (-d.confidence, d.recognizer, d.entity)) AS {c}"
    for c in ("entity", "attribute", "value_type", "canonical", "subject")
)
_THEIRS = """
    arg_min(d.entity, (-d.confidence, d.entity)) AS entity, NULL::VARCHAR AS attribute,
    'value_dependent' AS value_type, any_value(substr(x.text, d.start + 1, d.stop - d.start)) AS canonical,
    NULL::VARCHAR AS subject
"""
_TEXTS = "JOIN contents x ON x.content = d.content"
_FOUND: dict[Detector, str] = {
    "replayed": _BEST.format(told=_OWN, table="detections", where="d.trace IS NULL OR d.trace = h.trace", texts=""),
    "presidio": _BEST.format(told=_THEIRS, table="replay_found", where="true", texts=_TEXTS),
    "oracle": """
        SELECT k.trace, k.content, k.start, k.stop, NULL::VARCHAR AS entity, v.attribute, v.value_type,
               v.text AS canonical, v.subject, 1.0::DOUBLE AS confidence, k.value
        FROM (SELECT DISTINCT trace, content, start, stop, value FROM rp_known) k JOIN vault v USING (value)
    """,
}
# Spans and places meet in cells of this many code points, so that long texts cost no more than their length.
_CELL = 256
_TOUCH = f"""
    CREATE OR REPLACE TEMP TABLE rp_touch AS
    WITH placed AS (SELECT *, unnest(range(start // {_CELL}, (stop - 1) // {_CELL} + 1)) AS cell FROM rp_known),
    spanned AS (SELECT span, trace, content, start, stop, unnest(range(start // {_CELL}, (stop - 1) // {_CELL} + 1))
                AS cell FROM rp_span)
    SELECT DISTINCT s.span, p.value, p.start, p.stop, p.event,
           (least(s.stop, p.stop) - greatest(s.start, p.start))::DOUBLE
           / (greatest(s.stop, p.stop) - least(s.start, p.start)) AS share
    FROM spanned s JOIN placed p USING (trace, content, cell)
    WHERE s.start < p.stop AND p.start < s.stop
"""
_SPARED = "coalesce(contains(lower(t.request), lower(v.text)), false)"
# A span is judged under the known value that it fits best; where several fit alike it has to be allowed under each.
_TOLD = """
    CREATE OR REPLACE TEMP TABLE rp_ask AS
    WITH best AS (SELECT DISTINCT span, value FROM (SELECT span, value, share FROM rp_touch
                  QUALIFY share = max(share) OVER (PARTITION BY span)))
    SELECT s.span, v.attribute, v.value_type, v.subject, v.value, {spared} AS spared
    FROM best b JOIN rp_span s USING (span) JOIN vault v ON v.value = b.value JOIN traces t ON t.trace = s.trace
    UNION ALL
    SELECT span, coalesce(attribute, lower(entity)), value_type, subject, NULL, false FROM rp_span
    WHERE span NOT IN (SELECT span FROM rp_touch)
"""
_RECOGNIZED = """
    CREATE OR REPLACE TEMP TABLE rp_ask AS
    SELECT span, coalesce(attribute, lower(entity)) AS attribute, value_type, subject, NULL::BIGINT AS value,
           false AS spared FROM rp_span
"""
_ORACLE = """
    CREATE OR REPLACE TEMP TABLE rp_ask AS
    SELECT s.span, s.attribute, s.value_type, s.subject, s.value, {spared} AS spared
    FROM rp_span s JOIN vault v USING (value) JOIN traces t ON t.trace = s.trace
"""
TABLES = ("rp_class", "rp_flow", "rp_known", "rp_span", "rp_touch", "rp_ask")


def gather(case: Case) -> None:
    """Leave `rp_class`, `rp_flow` and `rp_known`: what every condition is replayed on."""
    for statement in (_CLASSES, _FLOWS, _KNOWN):
        case.execute(statement)


def look(case: Case, condition: Condition, rules: RuleSet, progress: Progress) -> None:
    """Leave `rp_span`, `rp_touch` and `rp_ask`: what the detector of a condition finds, and what that is judged under.

    Raises:
        MissingExtraError: the detector is presidio, and it is not installed.
    """
    _RUN[condition.detector](case, progress)
    found = _FOUND.get(condition.detector, _FOUND["oracle"] + " WHERE false")
    case.execute(_SPANS.format(found=found))
    case.execute(_TOUCH)
    spared = _SPARED if rules.spare_request else "false"
    if condition.detector in ("oracle", "none"):
        case.execute(_ORACLE.format(spared=spared))
    elif condition.attributes == "told":
        case.execute(_TOLD.format(spared=spared))
    else:
        case.execute(_RECOGNIZED)


def _recognize(case: Case, progress: Progress) -> None:
    # If an audit looked for names, too, so does what is replayed.
    replayed(case, looked_for_names(case), progress)


def _nothing(case: Case, progress: Progress) -> None:
    """The oracle reads what is known; `none` reads nothing."""


_RUN: dict[Detector, Callable[[Case, Progress], None]] = {
    "replayed": _recognize,
    "presidio": find_presidio,
    "oracle": _nothing,
    "none": _nothing,
}
