"""What tells a value alone, and what does so only together: by passages, over all runs at once.

The score of a set of texts is the most that any two of its sentences tell of a wording together; so a set tells at
least what each of its parts does. A pair is *single-source* where one part alone reaches the threshold, *emergent*
where only both do. Single-source pairs are counted by formula and never made; emergent ones are found.

- `rc_alone` (text, fact, ...): texts that reach the threshold alone.
- `rc_sole` (trace, actor, value): agents whose whole view does.
- `rc_joined` (one_text, two_text, fact, ...): emergent pairs of texts on different channels.
- `rc_pooled` (trace, value, one_actor, two_actor, ...): emergent pairs of agents.
"""

import polars as pl

from earwitness.audit.reconstruction.unions import REACH, Scorer, reaching
from earwitness.schema.case import Case

_PLACED = "a.start AS one_start, a.stop AS one_stop, b.start AS two_start, b.stop AS two_stop"
_ALONE = f"""
    SELECT a.text, a.fact, a.wording, a.threshold, a.mask AS one, b.mask AS two, {_PLACED}
    FROM rc_told a JOIN rc_told b ON b.text = a.text AND b.wording = a.wording AND b.mask >= a.mask WHERE {REACH}
"""
# Events whose text does not tell the value alone, but something of it.
_SILENT = """
    CREATE OR REPLACE TEMP TABLE rc_silent AS
    SELECT o.trace, o.actor, o.value, f.fact, e.event, e.channel, e.text
    FROM rc_outside o JOIN rc_fact f ON f.value = o.value JOIN rc_event e USING (trace, actor)
    SEMI JOIN rc_told t ON t.text = e.text AND t.fact = f.fact
    ANTI JOIN rc_alone a ON a.text = e.text AND a.fact = f.fact
"""
_NEAR = f"""
    CREATE OR REPLACE TEMP TABLE rc_near AS
    WITH most AS (
        SELECT text, fact, wording, max(share) AS share, any_value(threshold) AS threshold FROM rc_told GROUP BY ALL),
    placed AS (SELECT DISTINCT trace, actor, fact, channel, text FROM rc_silent)
    SELECT DISTINCT least(x.text, y.text) AS one_text, greatest(x.text, y.text) AS two_text, a.fact, a.wording
    FROM placed x JOIN placed y ON y.trace = x.trace AND y.actor = x.actor AND y.fact = x.fact
        AND x.channel < y.channel AND x.text <> y.text
    JOIN most a ON a.text = x.text AND a.fact = x.fact
    JOIN most b ON b.text = y.text AND b.wording = a.wording WHERE {REACH}
"""
_JOINED = f"""
    SELECT n.one_text, n.two_text, n.fact, n.wording, a.threshold, a.mask AS one, b.mask AS two, {_PLACED}
    FROM rc_near n JOIN rc_told a ON a.text = n.one_text AND a.wording = n.wording
    JOIN rc_told b ON b.text = n.two_text AND b.wording = n.wording WHERE {REACH}
"""
# Passages of whole views that hold no text which tells the value alone; each set of stems once a view.
_VIEWS = """
    CREATE OR REPLACE TEMP TABLE rc_sight AS
    SELECT o.trace, o.actor, o.value, t.wording, t.mask, any_value(t.share) AS share,
           any_value(t.threshold) AS threshold, min(t.text) AS text, arg_min(t.start, t.text) AS start,
           arg_min(t.stop, t.text) AS stop
    FROM rc_outside o JOIN rc_fact f ON f.value = o.value JOIN rc_seen s USING (trace, actor)
    JOIN rc_told t ON t.text = s.text AND t.fact = f.fact
    WHERE o.kind = 'agent' AND (o.trace, o.actor, o.value) NOT IN (SELECT (trace, actor, value) FROM rc_sole)
    GROUP BY o.trace, o.actor, o.value, t.wording, t.mask
"""
_SOLE = """
    CREATE OR REPLACE TEMP TABLE rc_sole AS
    SELECT DISTINCT o.trace, o.actor, o.value FROM rc_outside o JOIN rc_fact f ON f.value = o.value
    JOIN rc_seen s USING (trace, actor) JOIN rc_alone a ON a.text = s.text AND a.fact = f.fact WHERE o.kind = 'agent'
"""
_WITHIN = f"""
    SELECT a.trace, a.actor, a.value, a.wording, a.threshold, a.mask AS one, b.mask AS two
    FROM rc_sight a JOIN rc_sight b USING (trace, actor, value, wording) WHERE b.mask > a.mask AND {REACH}
"""
_POOLED = f"""
    SELECT a.trace, a.value, a.actor AS one_actor, b.actor AS two_actor, a.wording, a.threshold, a.mask AS one,
           b.mask AS two, a.text AS one_text, b.text AS two_text, {_PLACED}
    FROM rc_sight a JOIN rc_sight b USING (trace, value, wording) WHERE b.actor > a.actor AND {REACH}
"""
MADE = ("rc_alone", "rc_silent", "rc_near", "rc_joined", "rc_sight", "rc_sole", "rc_pooled")


def score(case: Case, scorer: Scorer) -> None:
    """Make the tables of this module from `rc_told`."""
    _keep(case, "rc_alone", reaching(case, _ALONE, ["text", "fact"], scorer))
    case.execute(_SILENT)
    case.execute(_NEAR)
    _keep(case, "rc_joined", reaching(case, _JOINED, ["one_text", "two_text", "fact"], scorer))
    case.execute(_SOLE)
    case.execute(_VIEWS)
    found = reaching(case, _WITHIN, ["trace", "actor", "value"], scorer).select("trace", "actor", "value")
    _keep(case, "rc_more", found)
    case.execute("INSERT INTO rc_sole SELECT trace, actor, value FROM rc_more")
    case.execute("DELETE FROM rc_sight USING rc_more m WHERE (rc_sight.trace, rc_sight.actor, rc_sight.value) = "
                 "(m.trace, m.actor, m.value)")  # fmt: skip
    case.execute("DROP TABLE rc_more")
    _keep(case, "rc_pooled", reaching(case, _POOLED, ["trace", "value", "one_actor", "two_actor"], scorer))


def _keep(case: Case, name: str, frame: pl.DataFrame) -> None:
    case.con.register("frame_of_scores", frame.to_arrow())
    try:
        case.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM frame_of_scores")
    finally:
        case.con.unregister("frame_of_scores")
