"""Findings with their evidence, set-wise: what pages, exports and tables are made from.

Everything here is masked: a protected value is `attribute` and keyed fingerprint, and any string of a trace
that happens to contain one (an actor's name, a file name) goes through `Mask` before it is handed out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from earwitness.reports.mask import Mask
from earwitness.schema.case import Case


class Pattern(NamedTuple):
    """Findings that are alike: what was learned, by what kind of recipient, on which channel."""

    pattern: int
    attribute: str
    kind: str | None
    position: str
    channel: str
    findings: int
    traces: int
    values: int


class Hop(NamedTuple):
    """One step of the way of a value."""

    event: int
    sender: str | None
    recipient: str
    channel: str
    grade: str | None
    source: str
    line: int | None


class Citation(NamedTuple):
    """Where the evidence stands: file, hash, position, and the span inside the text of the event."""

    source: str
    sha256: str
    line: int | None
    offset: int | None
    pointer: str | None
    start: int | None
    stop: int | None


@dataclass(frozen=True)
class Finding:
    """One value that reached one recipient: the disclosure, what decided on it, the way, the evidence.

    `origin` is the disclosing agent of the value and `access` how it had obtained it.
    `recipient` is None where the recording does not tell who received it; `exposure` is then None too, and `kind`
    is `unresolved`.
    """

    exposure: int | None
    pattern: int
    trace: int
    trace_id: str
    attribute: str
    fingerprint: str
    value_type: str | None
    recipient: str | None
    kind: str | None
    position: str
    sender: str | None
    channel: str
    grade: str | None
    rule: str | None
    ruled: bool
    event: int
    event_id: str | None
    seq: int | None
    time: str | None
    distance: int | None
    carried: int | None
    route: str | None
    origin: str | None
    access: str | None
    form: str | None
    citation: Citation
    way: tuple[Hop, ...]


# Recipients nobody vouched for stand first, then those outside the agents, then the roster itself.
ORDER_OF_PATTERNS = (
    "recipients added by the topology first, then recipients outside the agents (users, tools, stores, logs, "
    "unresolved), then agents of the roster; within each, the pattern seen in most traces"
)
_CROSSINGS = """
    CREATE OR REPLACE TEMP TABLE crossing AS
    WITH told AS (
        SELECT x.exposure, x.trace, x.value, x.recipient, x.event, x.seq, x.sender, x.position, x.distance, x.carried,
               x.route, x.origin FROM exposures x WHERE x.authorised IS NOT DISTINCT FROM {authorised}
        UNION ALL
        SELECT NULL, v.trace, v.value, NULL, arg_min(v.event, (e.seq, v.event)), min(e.seq),
               arg_min(e.sender, (e.seq, v.event)), 'unknown', NULL, NULL, NULL, NULL
        FROM verdicts v JOIN events e USING (event)
        WHERE v.recipient IS NULL AND v.dynamic = '{verdict}' AND v.standing = 'confirmed' GROUP BY v.trace, v.value
    ), judged AS (
        SELECT t.*, v.channel, v.grade, v.dynamic_rule AS rule, v.ruled, w.attribute, w.fingerprint,
               w.value_type, CASE WHEN t.recipient IS NULL THEN 'unresolved' ELSE p.kind END AS kind
        FROM told t
        JOIN verdicts v ON v.event = t.event AND v.value = t.value AND v.recipient IS NOT DISTINCT FROM t.recipient
        JOIN vault w ON w.value = t.value
        LEFT JOIN parties p ON p.trace = t.trace AND p.actor = t.recipient
        QUALIFY row_number() OVER (PARTITION BY t.trace, t.value, t.recipient ORDER BY v.grade) = 1
    ), sized AS (
        SELECT attribute, kind, position, channel, count(*) AS findings, count(DISTINCT trace) AS traces,
               count(DISTINCT fingerprint) AS fingerprints,
               CASE WHEN position = 'introduced' THEN 0 WHEN kind IS DISTINCT FROM 'agent' THEN 1 ELSE 2 END AS weight
        FROM judged GROUP BY ALL
    ), numbered AS (
        SELECT *, row_number() OVER (ORDER BY weight, traces DESC, findings DESC, attribute, kind, channel, position)
                  - 1 AS pattern FROM sized
    )
    SELECT j.*, n.pattern, n.findings, n.traces, n.fingerprints,
           row_number() OVER (PARTITION BY n.pattern ORDER BY j.carried DESC NULLS LAST, j.trace, j.seq, j.value,
                              j.recipient) AS rank
    FROM judged j JOIN numbered n ON n.attribute = j.attribute AND n.kind IS NOT DISTINCT FROM j.kind
        AND n.position = j.position AND n.channel = j.channel
"""
_FINDINGS = """
    SELECT c.exposure, c.pattern, c.trace, t.trace_id, c.attribute, c.fingerprint, c.value_type, c.recipient, c.kind,
           c.position, c.sender, c.channel, c.grade, c.rule, coalesce(c.ruled, false), c.event, e.event_id, c.seq,
           strftime(e.time, '%Y-%m-%d %H:%M:%S'), c.distance, c.carried, c.route, o.agent, o.access,
           m.form, s.name, s.sha256, e.line, e."offset", e.pointer, m.start, m.stop
    FROM crossing c
    JOIN traces t USING (trace) JOIN events e ON e.event = c.event JOIN sources s ON s.source = e.source
    LEFT JOIN origins o ON o.trace = c.trace AND o.value = c.value
    LEFT JOIN matches m ON m.content = e.content AND m.value = c.value AND (m.event IS NULL OR m.event = e.event)
    WHERE c.rank <= ? AND c.pattern < ?
    QUALIFY row_number() OVER (PARTITION BY c.trace, c.value, c.recipient ORDER BY m.standing, m.tier, m.start) = 1
    ORDER BY c.pattern, c.rank
"""


class Evidence:
    """The findings of a judged case.

    Args:
        case: after an audit.
        mask: what hides protected values in strings of the traces.
        unruled: collect what nobody has ruled on, in place of what is unauthorised.
    """

    def __init__(self, case: Case, mask: Mask, *, unruled: bool = False) -> None:
        self._case, self._mask = case, mask
        authorised, verdict = ("NULL", "unruled") if unruled else ("false", "sanitize")
        case.execute(_CROSSINGS.format(authorised=authorised, verdict=verdict))
        self.total = case.count("crossing")
        self.pattern_total = int(case.one("SELECT count(DISTINCT pattern) FROM crossing"))

    def patterns(self, limit: int) -> list[Pattern]:
        """Groups of findings, worst first."""
        rows = self._case.rows(
            """SELECT DISTINCT pattern, attribute, kind, position, channel, findings, traces, fingerprints
               FROM crossing WHERE pattern < ? ORDER BY pattern""",
            [limit],
        )
        return [Pattern(*row)._replace(attribute=self._mask(row[1])) for row in rows]

    def by_channel(self) -> list[tuple[str, int, int]]:
        """Channel, findings, traces."""
        rows = self._case.rows(
            "SELECT channel, count(*), count(DISTINCT trace) FROM crossing GROUP BY ALL ORDER BY ALL"
        )
        return [(channel, findings, traces) for channel, findings, traces in rows]

    def findings(self, each: int, patterns: int) -> list[Finding]:
        """Up to `each` findings of each of the first `patterns` patterns; the longest ways first."""
        rows = self._case.rows(_FINDINGS, [each, patterns])
        found = ways(self._case, [row[0] for row in rows if row[0] is not None], self._mask)
        return [self._finding(row, found) for row in rows]

    def _finding(self, row: tuple[Any, ...], found: dict[int, tuple[Hop, ...]]) -> Finding:
        fields: list[Any] = [self._mask(v) if i in _TRACE_TEXT and isinstance(v, str) else v for i, v in enumerate(row)]
        exposure = row[0]
        way = found.get(exposure, ()) if isinstance(exposure, int) else ()
        return Finding(*[*fields[:25], Citation(*fields[25:]), way])


# Columns of _FINDINGS that hold words of the trace or of the policy; hashes and own words are left alone.
_TRACE_TEXT = frozenset({3, 4, 7, 10, 13, 16, 22, 25, 29})

_WAYS = """
    WITH RECURSIVE way AS (
        SELECT exposure AS root, 0 AS back, exposure, via, event, recipient FROM exposures
        WHERE exposure IN (SELECT unnest(?::BIGINT[]))
        UNION ALL
        SELECT w.root, w.back + 1, x.exposure, x.via, x.learned, x.recipient
        FROM way w JOIN exposures x ON x.exposure = w.via WHERE w.back < 10000
    )
    SELECT w.root, w.event, f.sender, w.recipient, f.channel, f.grade, s.name, e.line
    FROM way w JOIN flows f ON f.event = w.event AND f.recipient = w.recipient
    JOIN events e ON e.event = w.event JOIN sources s USING (source)
    QUALIFY row_number() OVER (PARTITION BY w.root, w.back ORDER BY f.grade, f.sender) = 1
    ORDER BY w.root, w.back DESC
"""


def ways(case: Case, exposures: Sequence[int], mask: Mask) -> dict[int, tuple[Hop, ...]]:
    """The way of each exposure, first hop first: `earwitness.graph.exposures.walk` for many at once."""
    out: dict[int, list[Hop]] = {}
    for root, event, sender, recipient, channel, grade, source, line in case.rows(_WAYS, [list(exposures)]):
        hop = Hop(event, sender and mask(sender), mask(recipient), channel, grade, mask(source), line)
        out.setdefault(root, []).append(hop)
    return {root: tuple(hops) for root, hops in out.items()}
