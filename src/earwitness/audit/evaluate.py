"""Detection held against labels: recall and precision, by value type, channel, tier and form.

The unit is a pair of event and what was labelled in it (an attribute, or one value by its fingerprint). It is found
where a match stands, of any standing; figures are given twice, over confirmed findings and over all of them. Beside
every rate stand its counts and its Wilson interval.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from earwitness.audit.labelfile import EVENT_NAME, INSIDE, place_labels
from earwitness.audit.stats import wilson
from earwitness.audit.strata import DETECTED, KNOWS, prepare, stratum
from earwitness.schema.case import Case
from earwitness.schema.views import IN_SCOPE

Against = Literal["presence", "disclosure"]
CELLS = ("value_type", "channel", "tier", "form", "stratum", "attribute")

# What detection says of every labelled event: the surest match of each value, and whether it was unauthorised there.
_FOUND = f"""
    CREATE OR REPLACE TEMP TABLE found AS
    SELECT e.event, m.value, v.attribute, v.fingerprint, v.value_type, m.tier, m.form, m.confidence,
           CASE WHEN m.overruled THEN m.standing ELSE coalesce(u.standing, m.standing) END AS standing
    FROM events e JOIN traces t USING (trace)
    JOIN {DETECTED} m ON m.content = e.content AND (m.event IS NULL OR m.event = e.event)
    JOIN vault v USING (value)
    LEFT JOIN (SELECT event, value, min(standing) AS standing, bool_or(dynamic = 'sanitize') AS crossed
               FROM verdicts GROUP BY ALL) u ON u.event = e.event AND u.value = m.value
    WHERE e.event IN (SELECT event FROM label) AND {IN_SCOPE.format(trace="e.trace", scenario="t.scenario")}
      AND {{wanted}}
    QUALIFY row_number() OVER (PARTITION BY e.event, m.value ORDER BY m.standing, m.confidence DESC, m.form) = 1
"""
_WANTED: dict[Against, str] = {"presence": "true", "disclosure": "coalesce(u.crossed, m.overruled)"}

# One row a labelled pair, and one for what was found in an event whose labels are said to be all there is.
_MEETS = "f.event = s.event AND coalesce(s.told = f.attribute, true) AND coalesce(s.mark = f.fingerprint, true)"
_PAIRS = f"""
    WITH whole AS (SELECT event FROM label GROUP BY event HAVING {{whole}}),
    marked AS (SELECT fingerprint, min(attribute) AS attribute FROM vault GROUP BY fingerprint),
    said AS (
        SELECT l.event, l.attribute AS told, l.fingerprint AS mark, l.leaked,
               coalesce(l.attribute, k.attribute, '?') AS attribute, max(l.score) AS score
        FROM label l LEFT JOIN marked k USING (fingerprint)
        WHERE l.attribute IS NOT NULL OR l.fingerprint IS NOT NULL GROUP BY ALL
    ), met AS (
        SELECT s.event, s.told, s.leaked, s.score, s.attribute, coalesce(s.mark, f.fingerprint) AS mark, f.value,
               f.value_type, f.tier, f.form, f.confidence, f.standing
        FROM said s LEFT JOIN found f ON {_MEETS}
        QUALIFY row_number() OVER (PARTITION BY s.event, s.told, s.mark, s.leaked
                                   ORDER BY f.standing, f.confidence DESC, f.form) = 1
    ), missed AS (
        SELECT m.event, m.attribute, m.mark, min_by(v.fingerprint, v.value) AS fingerprint, min(v.value) AS value,
               min_by(v.value_type, v.value) AS value_type
        FROM met m JOIN events e USING (event) JOIN traces t USING (trace)
        JOIN vault v ON v.attribute = m.attribute AND coalesce(m.mark = v.fingerprint, true)
        WHERE m.standing IS NULL AND {IN_SCOPE.format(trace="e.trace", scenario="t.scenario")} GROUP BY ALL
    ), extra AS (
        SELECT f.event, NULL AS told, false AS leaked, NULL::DOUBLE AS score, f.attribute, f.fingerprint AS mark,
               f.value, f.value_type, f.tier, f.form, f.confidence, f.standing
        FROM found f JOIN whole USING (event) ANTI JOIN said s ON {_MEETS}
        QUALIFY row_number() OVER (PARTITION BY f.event, f.attribute ORDER BY f.standing, f.confidence DESC, f.form) = 1
    ), held AS ({{held}}),
    rest AS (
        SELECT h.event, h.attribute, min_by(v.fingerprint, h.value) AS mark, min(h.value) AS value,
               min_by(v.value_type, h.value) AS value_type
        FROM held h JOIN vault v USING (value) ANTI JOIN said s ON s.event = h.event AND s.attribute = h.attribute
        ANTI JOIN found f ON f.event = h.event AND f.attribute = h.attribute GROUP BY ALL
    ), pairs AS (
        SELECT p.* EXCLUDE (mark, value, value_type), coalesce(p.mark, k.fingerprint) AS mark,
               coalesce(p.value, k.value) AS value, coalesce(p.value_type, k.value_type, 'unknown') AS value_type
        FROM (SELECT * FROM met UNION ALL SELECT * FROM extra) p
        LEFT JOIN missed k ON k.event = p.event AND k.attribute = p.attribute AND k.mark IS NOT DISTINCT FROM p.mark
        UNION ALL BY NAME SELECT *, false AS leaked FROM rest
    )
    SELECT p.leaked, p.standing, p.confidence, p.tier, p.form, e.channel, p.attribute, p.mark, p.value_type,
           {stratum("p.tier", "p.standing", "a.kind", "h.seq")} AS stratum,
           CASE WHEN stratum = 'certain-positive' THEN p.score ELSE coalesce(p.score, j.score) END,
           t.trace_id, {EVENT_NAME}, s.name, e.line, e.pointer
    FROM pairs p JOIN events e ON e.event = p.event JOIN traces t USING (trace)
    LEFT JOIN sources s ON s.source = e.source LEFT JOIN aliases al ON al.alias = e.sender
    LEFT JOIN parties a ON a.trace = e.trace AND a.actor = coalesce(al.actor, e.sender)
    LEFT JOIN (SELECT content, fingerprint, arg_max(score, judged_at) AS score FROM judgements GROUP BY ALL) j
        ON j.content = e.content AND j.fingerprint = p.mark
    LEFT JOIN {KNOWS} h ON h.trace = e.trace AND h.value = p.value AND h.actor = coalesce(al.actor, e.sender)
        AND h.seq < e.seq
    ORDER BY e.event, p.attribute, p.mark, p.leaked
"""


# Every attribute beside every event whose labels are all there is: what is neither labelled nor found there is clean.
_HELD = """
    SELECT e.event, v.attribute, v.value FROM whole JOIN events e USING (event)
    JOIN vault v ON v.scope = 'trace' AND v.trace = e.trace
    UNION ALL
    SELECT e.event, v.attribute, v.value FROM whole JOIN events e USING (event) JOIN traces t ON t.trace = e.trace
    JOIN vault v ON v.scope = 'scenario' AND v.scenario = t.scenario
    UNION ALL
    SELECT event, v.attribute, v.value FROM whole
    CROSS JOIN (SELECT attribute, min(value) AS value FROM vault WHERE scope = 'case' GROUP BY ALL) v
"""
_NOTHING = "SELECT 0::BIGINT AS event, '' AS attribute, 0::BIGINT AS value WHERE false"


class Pair(NamedTuple):
    """A labelled pair beside what detection says of it: `standing` is None where nothing was found.

    `score` is what the label file itself gives, or a judge gave where no deterministic tier decides.
    """

    leaked: bool
    standing: str | None
    confidence: float | None
    tier: int | None
    form: str | None
    channel: str
    attribute: str
    fingerprint: str | None
    value_type: str
    stratum: str
    score: float | None
    trace: str
    event: str
    source: str | None
    line: int | None
    pointer: str | None


class Score(NamedTuple):
    """Counts of a cell: found and leaked, found and clean, leaked and not found, clean and not found."""

    tp: int
    fp: int
    fn: int
    tn: int


class Evaluation(NamedTuple):
    """Detection against labels.

    Attributes:
        pairs: what was labelled, and what was found where labels say all of an event.
        lost: lines of the file whose trace or event the case does not hold.
        against: what a label means.
        listed: every clean pair has a label of its own, so that those not found can be counted.
    """

    pairs: list[Pair]
    lost: list[int]
    against: Against
    listed: bool


def evaluate(case: Case, source: Path | str, against: Against | None = None, *, clean: bool = False) -> Evaluation:
    """Hold detection against labels.

    Args:
        case: an audited case.
        source: a label file, `inside` for the labels that traces carry, `adjudicated` for those of the annotators.
        against: `presence` (the text holds the value, whoever may know it) or `disclosure` (and somebody may not).
            Labels of a file mean presence unless told otherwise, those inside mean disclosure.
        clean: where labels say all of an event, list what is neither labelled nor found there, too.

    Raises:
        InputError: the labels cannot be read, or none is of this case.
    """
    inside = source == INSIDE
    against = against or ("disclosure" if inside else "presence")
    prepare(case)
    lost = place_labels(case, source)
    case.execute(_FOUND.format(wanted=_WANTED[against]))
    # Labels that traces carry say all of an event; those of a file only where a line calls the whole event clean.
    whole = "true" if inside else "bool_or(attribute IS NULL AND fingerprint IS NULL)"
    pairs = [Pair(*row) for row in case.rows(_PAIRS.format(whole=whole, held=_HELD if clean else _NOTHING))]
    vague = case.one("SELECT count(*) FROM label WHERE attribute IS NULL AND fingerprint IS NULL")
    listed = clean or not (inside or vague)
    for table in ("label", "found"):
        case.execute(f"DROP TABLE {table}")
    return Evaluation(pairs, lost, against, listed)


def score(pairs: Iterable[Pair], *, possible: bool) -> Score:
    """Count pairs; `possible` counts findings that are only possible as found."""
    counts = {(leaked, found): 0 for leaked in (True, False) for found in (True, False)}
    for pair in pairs:
        counts[pair.leaked, is_found(pair, possible=possible)] += 1
    return Score(counts[True, True], counts[False, True], counts[True, False], counts[False, False])


def is_found(pair: Pair, *, possible: bool) -> bool:
    """Whether detection found it."""
    return pair.standing == "confirmed" or (possible and pair.standing is not None)


def share(k: int, n: int) -> dict[str, Any] | None:
    """A proportion with its counts and its interval; None of nothing."""
    if not n:
        return None
    low, high = wilson(k, n)
    return {"k": k, "n": n, "rate": k / n, "low": low, "high": high}


def rates(s: Score, *, listed: bool = True) -> dict[str, Any]:
    """A score as counts, recall, precision and F1; the clean pairs not found are known only where all are listed."""
    return {
        **s._asdict(),
        "tn": s.tn if listed else None,
        "recall": share(s.tp, s.tp + s.fn),
        "precision": share(s.tp, s.tp + s.fp),
        "f1": 2 * s.tp / (2 * s.tp + s.fp + s.fn) if s.tp + s.fp + s.fn else None,
    }


def summarise(found: Evaluation) -> dict[str, Any]:
    """An evaluation as one plain object: no value, and no text of a trace but ids, names and places."""
    pairs = found.pairs
    return {
        "against": found.against,
        "pairs": len(pairs),
        "leaked": sum(p.leaked for p in pairs),
        "unplaced_lines": found.lost,
        "confirmed": rates(score(pairs, possible=False), listed=found.listed),
        "with_possible": rates(score(pairs, possible=True), listed=found.listed),
        "cells": [row for cell in CELLS for row in _cell(found, cell)],
        "agreement": list(_agreement(pairs)),
        "misses": [place(p) for p in pairs if p.leaked and p.standing != "confirmed"],
        "analyzer_only": [place(p) for p in pairs if not p.leaked and p.standing == "confirmed"],
    }


def _cell(found: Evaluation, cell: str) -> Iterator[dict[str, Any]]:
    """The score of every group. A miss has no tier and no form: there recall is the share of all leaks found so."""
    groups: dict[str, list[Pair]] = {}
    for pair in found.pairs:
        key = getattr(pair, cell)
        if key is not None:
            groups.setdefault(str(key), []).append(pair)
    leaked = sum(p.leaked for p in found.pairs)
    for key in sorted(groups):
        row: dict[str, Any] = {"cell": cell, "group": key}
        for name, possible in (("confirmed", False), ("with_possible", True)):
            s = score(groups[key], possible=possible)
            row[name] = rates(s, listed=found.listed)
            if cell in ("tier", "form"):
                row[name] |= {"recall": share(s.tp, leaked), "fn": None, "tn": None, "f1": None}
        yield row


def _agreement(pairs: Sequence[Pair]) -> Iterator[dict[str, Any]]:
    """Where label and analyzer agree, by form; what only the label says has none."""
    counts: dict[str | None, dict[str, int]] = {}
    for pair in pairs:
        confirmed = pair.standing == "confirmed"
        if not confirmed and not pair.leaked:
            continue
        cell = "agree" if pair.leaked and confirmed else "analyzer_only" if confirmed else "label_only"
        row = counts.setdefault(pair.form, {"agree": 0, "label_only": 0, "analyzer_only": 0})
        row[cell] += 1
    for form in sorted(counts, key=lambda f: (f is None, f or "")):
        yield {"form": form, **counts[form]}


def place(pair: Pair) -> dict[str, Any]:
    """Where a pair stands, and what it is about; never the value."""
    names = ("trace", "event", "attribute", "fingerprint", "value_type", "channel", "form", "standing", "confidence")
    return {n: getattr(pair, n) for n in (*names, "source", "line", "pointer")}
