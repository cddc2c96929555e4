"""What an audit of sanitized traces will find: detected and decided as an audit does, over what is laid out.

Most of it is what the replay says remains. Beside that stands what the record did not have: a replacement that equals
another value, a value that was only possible and is sure once others are gone, pieces of split values that pair anew.
No occurrence was recorded for these, so they are in no residual.

Temporary tables:

- `rx_found` (event, recipient, value, attribute, text, verdict, split, fresh): occurrences as measured; `split` over
  messages, `fresh` of a value that the case does not know: recognizers found it in a trace that brings none.
- `rx_new` (event, recipient, attribute, text, verdict, why): those that the record did not have.
- `rx_left` (event, recipient, value, vouched): those that the replay says remain; `vouched` by a judge or a person.
"""

from msgspec.json import decode

from earwitness.audit.decide import decide, in_force
from earwitness.audit.detect import Tiers, detect
from earwitness.audit.promote import lacking
from earwitness.audit.replay.apart import apart, carry
from earwitness.audit.replayed.detector import looked_for_names
from earwitness.audit.rulesets import RuleSet
from earwitness.schema.case import Case

# Why an occurrence is there that the record did not have; the first that holds.
REASONS = ("recognized", "split", "uncertain", "replacement")

_TEXTS = """
    SELECT DISTINCT ON (content) content, text FROM (
        SELECT content, text FROM contents UNION ALL SELECT changed, text FROM replay_texts WHERE text IS NOT NULL
        UNION ALL SELECT shown, text FROM rx_cut)
    WHERE content IN (SELECT shown FROM {shown})
"""
# What is withheld stands between the messages of its sender all the same.
_NOTICE = "md5('withheld')::UUID"
_TABLES = {
    "traces": "SELECT * FROM traces",
    "actors": "SELECT * FROM actors",
    "aliases": "SELECT * FROM aliases",
    "parties": "SELECT * FROM parties",
    "rules": "SELECT * FROM rules",
    # What recognizers were sure of is written as a value of its trace; what they only suspected is not.
    "vault": """SELECT * REPLACE (CASE origin WHEN 'recognized' THEN 'trace' ELSE origin END AS origin) FROM vault
                WHERE origin <> 'suspected'""",
    "contents": _TEXTS.format(shown="rx_event") + f" UNION ALL SELECT {_NOTICE}, '{{notice}}'",
    "events": f"""SELECT v.copy AS event, e.trace, v.id AS event_id, e.seq, e.channel, e.sender,
                         coalesce(v.shown, {_NOTICE}) AS content, e.flags
                  FROM rx_event v JOIN events e USING (event) ORDER BY copy""",
    "deliveries": """SELECT v.copy AS event, d.actor AS recipient, d.grade, d.delivered
                     FROM rx_to d JOIN rx_event v USING (event, part) ORDER BY copy, nth""",
}
# Recognizers look at these, too, in traces that bring no values.
_SIGHTINGS = {
    "contents": f"SELECT * FROM ({_TEXTS.format(shown='rx_seen')}) WHERE content NOT IN "
    "(SELECT shown FROM rx_event WHERE shown IS NOT NULL)",
    "sightings": """SELECT s.trace, s.actor, s.kind, s.seq, x.shown AS content, x.id AS event_id
                    FROM rx_seen x JOIN sightings s ON s.rowid = x.sighting WHERE x.shown IS NOT NULL""",
}
_OCCURRENCES = """
    SELECT v.event AS copy, v.recipient, v.value, w.attribute, w.text, v.dynamic AS verdict,
           (v.event, v.value) IN (SELECT (event, value) FROM matches WHERE event IS NOT NULL) AS split,
           w.origin = 'recognized' AS fresh
    FROM verdicts v JOIN vault w USING (value) WHERE v.standing = 'confirmed'
"""
_FOUND = """
    CREATE OR REPLACE TEMP TABLE rx_found AS
    SELECT x.event, f.recipient, f.value, f.attribute, f.text, f.verdict, f.split, f.fresh
    FROM found f JOIN rx_event x USING (copy) JOIN events e USING (event)
    JOIN rulings u ON u.trace = e.trace AND u.ruled
"""
_LEFT = """
    CREATE OR REPLACE TEMP TABLE rx_left AS
    WITH vouched AS (
        SELECT content, value FROM matches WHERE standing = 'confirmed'
        AND (tier > 1 OR (content, value) IN (SELECT (content, value) FROM overruled)))
    SELECT r.event, r.recipient, r.value, v.value IS NOT NULL AS vouched
    FROM replays r JOIN events e USING (event) LEFT JOIN vouched v ON v.content = e.content AND v.value = r.value
    WHERE r.condition = $condition AND r.setting = $setting
      AND CASE WHEN $mode = 'propagate' THEN r.downstream ELSE r.remains END
"""
# An occurrence of the record that the replay says is gone is none of these: that would be a fault.
_NEW = """
    CREATE OR REPLACE TEMP TABLE rx_new AS
    SELECT DISTINCT f.event, f.recipient, f.attribute, f.text, f.verdict,
           CASE WHEN f.fresh THEN 'recognized' WHEN f.split THEN 'split'
                WHEN k.value IS NOT NULL THEN 'uncertain' ELSE 'replacement' END AS why
    FROM rx_found f JOIN events e USING (event)
    LEFT JOIN (SELECT DISTINCT content, value FROM matches) k ON k.content = e.content AND k.value = f.value
    WHERE f.fresh OR (f.event, f.value) NOT IN (
        SELECT (event, value) FROM verdicts WHERE standing = 'confirmed')
"""
_SAME = "f.event = r.event AND f.value = r.value AND f.recipient IS NOT DISTINCT FROM r.recipient AND NOT f.fresh"
_UNCONFIRMED = f"SELECT count(*) FROM rx_left r WHERE vouched AND NOT EXISTS (FROM rx_found f WHERE {_SAME})"
_DIFFERENT = f"""
    SELECT (SELECT count(*) FROM rx_left r WHERE NOT vouched AND NOT EXISTS (FROM rx_found f WHERE {_SAME}))
         + (SELECT count(*) FROM rx_found f JOIN verdicts w ON w.event = f.event AND w.value = f.value
                AND w.recipient IS NOT DISTINCT FROM f.recipient AND w.standing = 'confirmed'
            WHERE NOT f.fresh AND NOT EXISTS (FROM rx_left r WHERE {_SAME}))
"""


def find_introduced(case: Case, plan: dict[str, str], rules: RuleSet, notice: str) -> tuple[int, int, int, int]:
    """Leave `rx_found`, `rx_left` and `rx_new`, from what else is laid out.

    Args:
        case: after `rx_event`, `rx_to` and `rx_seen` were laid out.
        plan: condition, setting and mode.
        rules: those of the audit.
        notice: what stands in the place of a text that is withheld.

    Returns:
        Occurrences that the record did not have, which should be sanitized, and which are allowed; those that only a
        judge or a person had confirmed and that are not found again; those on which replay and audit differ: none, or
        there is a fault.
    """
    case.execute(_LEFT, plan)
    _measure(case, rules, notice)
    case.execute(_NEW)
    counts = [int(case.one(f"SELECT count(*) FROM rx_new WHERE verdict = '{v}'")) for v in ("sanitize", "allow")]
    return counts[0], counts[1], int(case.one(_UNCONFIRMED)), int(case.one(_DIFFERENT))


def reasons(case: Case) -> dict[str, int]:
    """How many of `rx_new` there are, by why."""
    return dict(case.rows("SELECT why, count(*) FROM rx_new GROUP BY why ORDER BY why"))


def _measure(case: Case, rules: RuleSet, notice: str) -> None:
    """Detection and decision, as in an audit, over what is laid out."""
    tables = _TABLES | {"contents": _TABLES["contents"].format(notice=notice)}
    with apart(case, tables) as other:
        if lacking(other):
            carry(case, other, _SIGHTINGS)
        detect(other, rules, _tiers(case) if rules.forms else Tiers(recognize=False, semantic=()))
        decide(other, in_force(case), rules)
        found = other.arrow(_OCCURRENCES)
    case.con.register("found", found)
    try:
        case.execute(_FOUND)
    finally:
        case.con.unregister("found")


def _tiers(case: Case) -> Tiers:
    """What looked for values in the audit; a judge is asked by none but who asks for it."""
    told = decode(case.meta("detected") or "[]")
    return Tiers(recognize=bool(told[1]) if told else True, ner=looked_for_names(case), semantic=())
