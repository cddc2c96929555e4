"""Where changed conditions are decided again: the stored finds of every detector, judged once, beside the places.

Temporary tables, besides those of the replay:

- `rs_spot` (sid, occ, class, spot, stop): the places of the occurrences.
- `rs_<detector>_hit` (sid, class, span), `rs_<detector>_judged`, `rs_<detector>_span`: what the detector finds on
  places of occurrences, and the rules asked of it, as `rp_judged` and `rp_span`; finds elsewhere decide nothing here.
- `rs_<detector>_name` (span, name, alone): the recognizer or entity behind a span; `alone`: no other found it.

No text is read. Detectors whose finds are not stored are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from earwitness.audit.replay import outcome
from earwitness.audit.replay.condition import Condition, Detector, Plan, Setting
from earwitness.audit.replay.judging import act, judge
from earwitness.audit.replay.presidio import FLOOR
from earwitness.audit.replay.search_facts import (
    CODE,
    Bools,
    Codes,
    Facts,
    check_fresh,
    check_passed_on,
    read_facts,
    stale,
)
from earwitness.audit.replay.search_words import Denial, with_detector
from earwitness.audit.replay.spans import gather, look
from earwitness.audit.rulesets import RuleSet
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy

_SPOT = """
    CREATE OR REPLACE TEMP TABLE rs_spot AS
    SELECT row_number() OVER (ORDER BY occ, spot, stop)::INTEGER - 1 AS sid, *
    FROM (SELECT DISTINCT occ, class, spot, stop FROM rp_spot)
"""
_HIT = """
    CREATE OR REPLACE TEMP TABLE rs_{d}_hit AS
    SELECT s.sid, s.class, p.span FROM rp_spot p JOIN rs_spot s USING (occ, spot, stop) WHERE p.span IS NOT NULL
"""
_JUDGED = """
    CREATE OR REPLACE TEMP TABLE rs_{d}_judged AS
    SELECT * FROM rp_judged SEMI JOIN rs_{d}_hit USING (class, span)
"""
_SPAN = """
    CREATE OR REPLACE TEMP TABLE rs_{d}_span AS SELECT * FROM rp_span SEMI JOIN rs_{d}_hit USING (span)
"""
_NAMES = {
    "replayed": """
        SELECT s.span, d.recognizer AS name FROM rs_replayed_span s JOIN detections d
        ON d.content = s.content AND d.start = s.start AND d.stop = s.stop AND (d.trace IS NULL OR d.trace = s.trace)
    """,
    "presidio": """
        SELECT s.span, d.entity AS name FROM rs_presidio_span s JOIN replay_found d
        ON d.content = s.content AND d.start = s.start AND d.stop = s.stop
    """,
}
_NAME = """
    CREATE OR REPLACE TEMP TABLE rs_{d}_name AS
    SELECT span, name, count(*) OVER (PARTITION BY span) = 1 AS alone FROM (SELECT DISTINCT span, name FROM ({names}))
"""
_READ = f"""
    SELECT h.sid, max({CODE.format(column="a.action")})::TINYINT AS code
    FROM rs_{{d}}_hit h JOIN rp_act a ON a.class = h.class AND a.span = h.span {{names}} {{where}} GROUP BY h.sid
"""
_VIEWS = (
    "CREATE OR REPLACE TEMP VIEW rp_judged AS FROM {judged}",
    "CREATE OR REPLACE TEMP VIEW rp_span AS FROM rs_{d}_span",
)
_DENIED = """
    CREATE OR REPLACE TEMP TABLE rs_denied AS
    SELECT * REPLACE (CASE WHEN attribute = $attribute AND $wide THEN 'sanitize' ELSE by_field END AS by_field,
                      CASE WHEN attribute = $attribute THEN 'sanitize' ELSE by_recipient END AS by_recipient)
    FROM rs_{d}_judged
    SEMI JOIN (SELECT class, span FROM rs_{d}_judged WHERE attribute = $attribute) USING (class, span)
"""
# A rule that stays: without recipients it speaks of the field, too.
_RULE = """
    UPDATE rs_{d}_judged SET by_field = CASE WHEN $wide THEN 'sanitize' ELSE by_field END, by_recipient = 'sanitize'
    WHERE attribute = $attribute AND class IN (
        SELECT class FROM rp_class WHERE ($channel IS NULL OR channel = $channel)
        AND ($recipient IS NULL OR recipient = $recipient) AND ($role IS NULL OR list_contains(roles, $role)))
"""
_RESOLVE = """
    UPDATE rp_class SET boundary = true WHERE recipient IS NOT NULL AND class IN (
        SELECT class FROM rp_occ WHERE ($channel IS NULL OR channel = $channel)
        AND ($grade IS NULL OR coalesce(grade, 'none') = $grade))
"""


@dataclass
class Bench:
    """A case laid out for a search; `Facts` say what its arrays are over."""

    case: Case
    rules: RuleSet
    policy: Policy
    detectors: list[Detector]
    places: int = 0

    def codes(self, condition: Condition, setting: Setting, only: str | None = None, drop: str | None = None) -> Codes:
        """What a condition does at each place.

        Args:
            condition: its detector is one of those laid out.
            setting: which recipients count as known.
            only: by what this recognizer or entity finds alone, or
            drop: by what others than this one find, too.
        """
        self._use(condition.detector, f"rs_{condition.detector}_judged")
        return self._acted(condition, setting, only, drop)

    def denied(
        self,
        condition: Condition,
        setting: Setting,
        attribute: str,
        *,
        wide: bool,
        only: str | None = None,
        drop: str | None = None,
    ) -> Codes:
        """What it does at places whose finds are judged under an attribute, if a rule denied that attribute.

        Args:
            condition: its detector is one of those laid out.
            setting: which recipients count as known.
            attribute: of the policy.
            wide: the rule names no recipient, so that it holds where none is known, too.
            only: as of `codes`.
            drop: likewise.
        """
        self.case.execute(_DENIED.format(d=condition.detector), {"attribute": attribute, "wide": wide})
        self._use(condition.detector, "rs_denied")
        return self._acted(condition, setting, only, drop)

    def attributes(self, detector: Detector, places: Bools) -> list[str]:
        """Attributes that finds on some places are judged under."""
        self.case.con.register("wanted", pa.table({"sid": np.flatnonzero(places)}))
        try:
            found = self.case.rows(f"""
                SELECT DISTINCT attribute FROM rs_{detector}_judged JOIN rs_{detector}_hit USING (class, span)
                SEMI JOIN wanted USING (sid) WHERE attribute IS NOT NULL ORDER BY 1
            """)
        finally:
            self.case.con.unregister("wanted")
        return [a for (a,) in found]

    def names(self, detector: Detector) -> list[str]:
        """Recognizers or entities of a detector that find something on a place."""
        if detector not in _NAMES:
            return []
        return [n for (n,) in self.case.rows(f"SELECT DISTINCT name FROM rs_{detector}_name ORDER BY 1")]

    def floors(self, detector: Detector) -> list[float]:
        """Distinct confidences of finds on places, in order."""
        return [c for (c,) in self.case.rows(f"SELECT DISTINCT confidence FROM rs_{detector}_span ORDER BY 1")]

    def resolve(self, channel: str | None, grade: str | None) -> None:
        """From now on recipients with such evidence count as known in the paper's setting, too."""
        self.case.execute(_RESOLVE, {"channel": channel, "grade": grade})

    def deny(self, denial: Denial) -> None:
        """From now on such a rule holds."""
        told = {"attribute": denial.attribute, "wide": denial.wide, "channel": denial.channel}
        told |= {"recipient": denial.recipient, "role": denial.role}
        for detector in self.detectors:
            self.case.execute(_RULE.format(d=detector), told)

    def _use(self, detector: Detector, judged: str) -> None:
        for view in _VIEWS:
            self.case.execute(view.format(d=detector, judged=judged))

    def _acted(self, condition: Condition, setting: Setting, only: str | None, drop: str | None) -> Codes:
        act(self.case, Plan(1, condition, setting), self.policy)
        d = condition.detector
        names = f"JOIN rs_{d}_name n ON n.span = h.span" if only or drop else ""
        where = "WHERE n.name = ?" if only else "WHERE n.name <> ? OR NOT n.alone" if drop else ""
        query = _READ.format(d=d, names=names, where=where)
        table = self.case.con.sql(query, params=[only or drop] if names else []).to_arrow_table()
        out = np.zeros(self.places, np.int8)
        out[table.column("sid").to_numpy()] = table.column("code").to_numpy()
        return out


def lay_out(case: Case, base: Condition, setting: Setting, policy: Policy, rules: RuleSet) -> tuple[Bench, Facts]:
    """Lay out a case; its base is held against the stored replay.

    Raises:
        InputError: the case has changed since that.
    """
    if base.detector not in ("none", *stored(case)):
        raise stale(base.name)
    gather(case)
    for statement in outcome.PREPARE:
        case.execute(statement)
    detectors = list(dict.fromkeys((base.detector, *stored(case))))
    bench = Bench(case, rules, policy, detectors)
    for detector in detectors:
        _lay_out(bench, with_detector(base, detector))
        if detector == base.detector:
            act(case, Plan(0, base, setting), policy)
            outcome.handle(case, Plan(0, base, setting))
            check_fresh(case, base.name, setting)
            case.execute(_SPOT)
        _keep(case, detector)
    bench.places = case.count("rs_spot")
    facts = read_facts(case, base.name, setting)
    check_passed_on(facts, base.name)
    return bench, facts


def stored(case: Case) -> Iterator[Detector]:
    """Detectors that need not look at a text: what they find is stored."""
    if case.meta("replayed"):
        yield "replayed"
    sizes = [case.count(t) for t in ("contents", "events", "sources")]
    if case.meta("presidio") == f"{sizes} {FLOOR}":
        yield "presidio"
    yield "oracle"


def _lay_out(bench: Bench, condition: Condition) -> None:
    """What a detector finds, and the rules asked of it."""

    def scanning(*_: object) -> None:
        raise stale(condition.name)

    look(bench.case, condition, bench.rules, scanning)
    judge(bench.case, bench.policy, bench.rules, travels=True)
    bench.case.execute(outcome.SPOTS)


def _keep(case: Case, detector: Detector) -> None:
    for statement in (_HIT, _JUDGED, _SPAN):
        case.execute(statement.format(d=detector))
    if detector in _NAMES:
        case.execute(_NAME.format(d=detector, names=_NAMES[detector]))
    for table in ("span", "touch", "ask", "judged", "spot"):
        case.execute(f"DROP TABLE IF EXISTS rp_{table}")


def clear(case: Case) -> None:
    """Drop everything that was laid out."""
    for view in ("rp_judged", "rp_span"):
        if case.one("SELECT count(*) FROM duckdb_views() WHERE view_name = ?", [view]):
            case.execute(f"DROP VIEW {view}")
    for (table,) in case.rows(
        "SELECT table_name FROM duckdb_tables() WHERE temporary AND table_name[:3] IN ('rp_', 'rs_')"
    ):
        case.execute(f'DROP TABLE "{table}"')
