"""The search: eligible instances, raw positives and single-source ones by run and value, and candidates to audit."""

from dataclasses import dataclass

from earwitness.audit.reconstruction import nearness, passages, scoring, wordings
from earwitness.audit.reconstruction.eligible import count_eligible
from earwitness.audit.reconstruction.standing import drop_outsiders, place_outsiders
from earwitness.audit.reconstruction.unions import by_share
from earwitness.audit.registry import describe_values
from earwitness.audit.semantic.tier import THRESHOLDS, Method
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress, silent
from earwitness.schema.tables_study import STUDIED

# A format is told whole or not at all.
EXACT = 1.0


@dataclass(frozen=True)
class SearchOptions:
    """How to search.

    Attributes:
        method: how texts and values are compared.
        threshold: least score of a contextual value that counts; None for the method's own.
        exact: least share of any other value; embeddings compare contextual values only.
        progress: told what is being done.
    """

    method: Method = "containment"
    threshold: float | None = None
    exact: float = EXACT
    progress: Progress = silent

    @property
    def least(self) -> float:
        """The threshold in force for contextual values."""
        return THRESHOLDS[self.method] if self.threshold is None else self.threshold


# Pairs of events on different channels that hold no text which tells the value alone.
_COUNTED = """
    WITH heard AS (
        SELECT o.trace, o.actor, o.value, e.channel, count(*)::HUGEINT AS n,
               count(*) FILTER (a.text IS NULL)::HUGEINT AS mute
        FROM rc_outside o JOIN rc_fact f ON f.value = o.value JOIN rc_event e USING (trace, actor)
        LEFT JOIN rc_alone a ON a.text = e.text AND a.fact = f.fact GROUP BY ALL
    ), apart AS (
        SELECT trace, value, (sum(n) * sum(n) - sum(n * n) - sum(mute) * sum(mute) + sum(mute * mute)) // 2 AS single
        FROM heard GROUP BY trace, actor, value
    ), emerged AS (
        SELECT x.trace, x.value, count(*) AS n FROM rc_silent x JOIN rc_silent y
            ON y.trace = x.trace AND y.actor = x.actor AND y.value = x.value AND x.channel < y.channel
        JOIN rc_joined j ON j.one_text = least(x.text, y.text) AND j.two_text = greatest(x.text, y.text)
            AND j.fact = x.fact
        GROUP BY x.trace, x.value
    ), agents AS (
        SELECT o.trace, o.value, count(*) AS m, count(*) FILTER (s.actor IS NULL) AS mute
        FROM rc_outside o LEFT JOIN rc_sole s USING (trace, actor, value) WHERE o.kind = 'agent' GROUP BY ALL
    ), found AS (
        SELECT 'inference' AS axis, trace, value, sum(n - mute) AS single, 0 AS emergent FROM heard GROUP BY ALL
        UNION ALL
        SELECT 'cross-channel', a.trace, a.value, sum(a.single), coalesce(any_value(e.n), 0)
        FROM apart a LEFT JOIN emerged e USING (trace, value) GROUP BY ALL
        UNION ALL
        SELECT 'cross-agent', a.trace, a.value, (a.m * (a.m - 1) - a.mute * (a.mute - 1)) // 2, coalesce(p.n, 0)
        FROM agents a LEFT JOIN (SELECT trace, value, count(*) AS n FROM rc_pooled GROUP BY ALL) p USING (trace, value)
    )
    INSERT INTO reconstructions
    SELECT e.axis, e.trace, e.value, e.eligible, CASE WHEN w.fact IS NULL THEN 0 ELSE e.eligible END,
           f.single + f.emergent, CASE WHEN e.axis <> 'inference' THEN f.single END
    FROM rc_eligible e JOIN rc_fact c ON c.value = e.value LEFT JOIN rc_comparable w USING (fact)
    JOIN found f ON f.axis = e.axis AND f.trace = e.trace AND f.value = e.value
"""
_ALONE = """
    SELECT 'inference' AS axis, o.trace, o.value, a.score, a.text AS one_text,
           least(a.one_start, a.two_start) AS one_start, greatest(a.one_stop, a.two_stop) AS one_stop,
           NULL::BIGINT AS two_text, NULL::BIGINT AS two_start, NULL::BIGINT AS two_stop
    FROM rc_outside o JOIN rc_fact f ON f.value = o.value JOIN rc_event e USING (trace, actor)
    JOIN rc_alone a ON a.text = e.text AND a.fact = f.fact
"""
_JOINED = """
    SELECT 'cross-channel', x.trace, x.value, j.score, j.one_text, j.one_start, j.one_stop, j.two_text, j.two_start,
           j.two_stop
    FROM rc_silent x JOIN rc_silent y
        ON y.trace = x.trace AND y.actor = x.actor AND y.value = x.value AND x.channel < y.channel
    JOIN rc_joined j ON j.one_text = least(x.text, y.text) AND j.two_text = greatest(x.text, y.text) AND j.fact = x.fact
"""
# The same two texts are the same question, whichever agent had which.
_POOLED = """
    SELECT 'cross-agent', trace, value, score,
           CASE WHEN turned THEN two_text ELSE one_text END, CASE WHEN turned THEN two_start ELSE one_start END,
           CASE WHEN turned THEN two_stop ELSE one_stop END, CASE WHEN turned THEN one_text ELSE two_text END,
           CASE WHEN turned THEN one_start ELSE two_start END, CASE WHEN turned THEN one_stop ELSE two_stop END
    FROM (SELECT *, one_text > two_text AS turned FROM rc_pooled)
"""
_CANDIDATES = f"""
    INSERT INTO candidates
    SELECT left(md5(concat_ws('|', i.axis, v.attribute, v.fingerprint, c.content, d.content)), 12), i.axis,
           min(i.value), v.fingerprint, v.attribute, max(i.score), NULL, count(*), min(i.trace),
           c.content, arg_max(i.one_start, i.score), arg_max(i.one_stop, i.score),
           d.content, arg_max(i.two_start, i.score), arg_max(i.two_stop, i.score)
    FROM ({_ALONE} UNION ALL {_JOINED} UNION ALL {_POOLED}) i JOIN vault v ON v.value = i.value
    JOIN rc_text c ON c.text = i.one_text LEFT JOIN rc_text d ON d.text = i.two_text
    GROUP BY i.axis, v.attribute, v.fingerprint, c.content, d.content
"""


def find(case: Case, options: SearchOptions | None = None) -> int:
    """Fill `reconstructions` and `candidates` of an audited case; gives the number of candidates. Keeps `audits`."""
    options = options or SearchOptions()
    prepare(case)
    describe_values(case)
    told: dict[str, object] = {"method": options.method, "threshold": options.least, "exact": options.exact}
    with case.stage("reconstruct", told):
        case.clear("reconstructions", "candidates")
        told["default"] = place_outsiders(case)
        _search(case, options)
        drop_outsiders(case)
    return case.count("candidates")


def _search(case: Case, options: SearchOptions) -> None:
    count_eligible(case)
    words = wordings.load(case)
    passages.number(case)
    if options.method == "containment":
        share = passages.tell(case, words, (options.least, options.exact), options.progress)
        scorer = by_share(share)
    else:
        words = wordings.contextual(words)
        scorer = nearness.tell(case, words, options.method, options.least, options.progress)
    scoring.score(case, scorer)
    comparable = ", ".join(f"({n})" for n in sorted(set(words.facts.tolist()))) or "(-1)"
    case.execute(f"CREATE OR REPLACE TEMP TABLE rc_comparable AS SELECT fact FROM (VALUES {comparable}) t(fact)")
    case.execute(_COUNTED)
    case.execute(_CANDIDATES)
    for name in (*scoring.MADE, *passages.MADE, "rc_fact", "rc_eligible", "rc_comparable"):
        case.execute(f"DROP TABLE IF EXISTS {name}")


def prepare(case: Case) -> None:
    """Make the tables of studies where the case was written without them."""
    for table in STUDIED:
        case.execute(table.ddl)
