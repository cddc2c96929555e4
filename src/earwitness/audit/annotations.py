"""What people say of findings: put on record, compared, adjudicated, and brought to bear on the matches.

Two annotators label pairs independently. What both say alike is adjudicated at once; on the rest somebody decides.
An adjudicated `leak` confirms a match that was only possible, a `no-leak` takes a match away; what detection had said
is kept in `overruled`, so that a decision can be taken back and detectors are still measured by what they found.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from earwitness.audit.agreement import Agreement, agreement
from earwitness.audit.labelfile import ADJUDICATED, EVENT_NAME, read_rows
from earwitness.audit.strata import prepare
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.views import IN_SCOPE

LABELS = ("leak", "no-leak", "unsure")
_WORDS = {"leak": "leak", "l": "leak", "yes": "leak", "true": "leak", "no-leak": "no-leak", "n": "no-leak"} | {
    "no": "no-leak",
    "false": "no-leak",
    "unsure": "unsure",
    "u": "unsure",
}


class Said(NamedTuple):
    """One label of one pair."""

    trace: str
    event: str
    attribute: str
    fingerprint: str
    label: str
    reason: str | None = None


class Disagreement(NamedTuple):
    """A pair on which annotators differ, or which one of them was unsure of, and what each said."""

    item: str | None
    trace: str
    event: str
    attribute: str
    fingerprint: str
    labels: dict[str, str]


class Applied(NamedTuple):
    """What adjudicated labels did: matches confirmed and taken away, leaks that detection does not know at all, texts
    on which decisions contradict each other, and labels whose pair the case no longer holds."""

    confirmed: int
    rejected: int
    undetected: int
    contradictory: int
    unplaced: int


def record(case: Case, annotator: str, said: Sequence[Said]) -> int:
    """Put labels on record; a later label of the same pair by the same annotator replaces the earlier."""
    prepare(case)
    latest = {s[:4]: s for s in said}
    columns = {n: pa.array([getattr(s, n) for s in latest.values()], pa.string()) for n in Said._fields}
    rows = pa.table({**columns, "annotator": pa.array([annotator] * len(latest), pa.string())})
    case.con.register("said", rows)
    with case.transaction():
        case.execute("""
            DELETE FROM annotations USING said WHERE annotations.annotator = said.annotator
                AND annotations.trace = said.trace AND annotations.event = said.event
                AND annotations.attribute = said.attribute AND annotations.fingerprint = said.fingerprint""")
        case.execute("""
            INSERT INTO annotations BY NAME
            SELECT *, (now() AT TIME ZONE 'UTC')::TIMESTAMP_NS AS said_at FROM said""")
    case.con.unregister("said")
    return len(latest)


def read_said(case: Case, path: Path) -> list[Said]:
    """The labels of a file: pairs by `item` of the queue, or by `trace`, `event`, `attribute` and `fingerprint`.

    Lines without a label are left out.

    Raises:
        InputError: naming the file and the line; a label that is no word of ours, or a pair nobody knows.
    """
    prepare(case)
    items = {r[0]: r[1:] for r in case.rows("SELECT item, trace, event, attribute, fingerprint FROM queue")}
    out = []
    for number, row in read_rows(path):
        told = row.get("label") if row.get("label") is not None else row.get("leaked")
        if told is None or not str(told).strip():
            continue
        label = _WORDS.get(str(told).strip().lower())
        if label is None:
            raise InputError(f"{path}:{number}: `label` must be {', '.join(LABELS[:-1])} or {LABELS[-1]}")
        out.append(Said(*_pair(items, row, f"{path}:{number}"), label, row.get("reason") or None))
    return out


def _pair(items: dict[str, tuple[Any, ...]], row: dict[str, Any], where: str) -> tuple[str, str, str, str]:
    item = row.get("item")
    if item:
        if item not in items:
            raise InputError(f"{where}: no such `item` in the queue of this case; was the file drawn from another?")
        trace, event, attribute, mark = items[item]
        return trace, event, attribute, mark
    names = ("trace", "event", "attribute", "fingerprint")
    if not all(row.get(n) for n in names):
        raise InputError(f"{where}: a label needs `item`, or all of {', '.join(names)}")
    trace, event, attribute, mark = (str(row[n]) for n in names)
    return trace, event, attribute, mark


def waiting(case: Case, annotator: str) -> list[str]:
    """Items of the queue that an annotator has not labelled, in order."""
    prepare(case)
    return [
        r[0]
        for r in case.rows(
            """SELECT q.item FROM queue q ANTI JOIN (SELECT * FROM annotations WHERE annotator = ?) a
               USING (trace, event, attribute, fingerprint) ORDER BY q.place""",
            [annotator],
        )
    ]


_LABELLED_BY = """
    SELECT any_value(q.item), a.trace, a.event, a.attribute, a.fingerprint,
           list({'who': a.annotator, 'label': a.label} ORDER BY a.annotator), min(q.place) AS place
    FROM annotations a LEFT JOIN queue q USING (trace, event, attribute, fingerprint)
    GROUP BY a.trace, a.event, a.attribute, a.fingerprint ORDER BY place NULLS LAST, a.trace, a.event, a.attribute
"""


def _labelled(case: Case) -> list[Disagreement]:
    prepare(case)
    return [
        Disagreement(item, trace, event, attribute, mark, {s["who"]: s["label"] for s in said})
        for item, trace, event, attribute, mark, said, _ in case.rows(_LABELLED_BY)
    ]


def disagreements(case: Case) -> list[Disagreement]:
    """Pairs that await a decision: annotators differ, or one of two or more was unsure."""
    return [d for d in _labelled(case) if ADJUDICATED not in d.labels and len(d.labels) > 1 and not _agreed(d)]


def _agreed(pair: Disagreement) -> bool:
    labels = {label for who, label in pair.labels.items() if who != ADJUDICATED}
    return len(pair.labels.keys() - {ADJUDICATED}) > 1 and len(labels) == 1 and "unsure" not in labels


def adjudicate_agreed(case: Case) -> int:
    """Make final what two or more annotators say alike and nobody has decided yet; gives how many."""
    agreed = [d for d in _labelled(case) if ADJUDICATED not in d.labels and _agreed(d)]
    said = [Said(d.trace, d.event, d.attribute, d.fingerprint, next(iter(d.labels.values()))) for d in agreed]
    return record(case, ADJUDICATED, said)


def agreements(case: Case) -> dict[str, dict[str, Agreement]]:
    """Agreement of every two annotators: over all three labels, and over the pairs both have decided."""
    labelled = _labelled(case)
    names = sorted({who for d in labelled for who in d.labels} - {ADJUDICATED})
    out = {}
    for n, first in enumerate(names):
        for second in names[n + 1 :]:
            pairs = [(d.labels[first], d.labels[second]) for d in labelled if {first, second} <= d.labels.keys()]
            three, two = agreement(pairs), agreement(pairs, without=("unsure",))
            out[f"{first} / {second}"] = {"three_way": three, "binary": two}
    return out


_SAME = """m.content = o.content AND m.value = o.value AND m.tier = o.tier AND m.event IS NOT DISTINCT FROM o.event"""
_DECIDED = f"""
    CREATE OR REPLACE TEMP TABLE decided AS
    SELECT a.trace, a.event AS event_id, a.attribute, a.fingerprint, a.label, e.content, e.event, v.value
    FROM annotations a LEFT JOIN (traces t JOIN events e ON e.trace = t.trace)
        ON t.trace_id = a.trace AND {EVENT_NAME} = a.event
    LEFT JOIN vault v ON v.fingerprint = a.fingerprint AND v.attribute = a.attribute
        AND {IN_SCOPE.format(trace="e.trace", scenario="t.scenario")}
    WHERE a.annotator = '{ADJUDICATED}' AND a.label <> 'unsure'
"""
# A text is judged once, wherever it was sent; where decisions on one text differ, neither is followed.
_TARGETS = """
    INSERT INTO overruled
    WITH said AS (
        SELECT content, value, min(label) AS label, list(DISTINCT event) AS events FROM decided
        WHERE value IS NOT NULL GROUP BY content, value HAVING min(label) = max(label))
    SELECT m.*, s.label FROM matches m JOIN said s ON s.content = m.content AND s.value = m.value
        AND (m.event IS NULL OR list_contains(s.events, m.event))
    WHERE s.label = 'no-leak' OR m.standing = 'possible' OR m.confidence < 1
"""


def apply_annotations(case: Case) -> Applied:
    """Bring adjudicated labels to bear on `matches`. To be called after detection; calling it again changes nothing."""
    prepare(case)
    with case.transaction():
        before = _restore(case)
        case.execute(_DECIDED)
        case.execute(_TARGETS)
        case.execute(f"DELETE FROM matches m USING overruled o WHERE {_SAME}")
        case.execute("""
            INSERT INTO matches SELECT * EXCLUDE (label) REPLACE ('confirmed' AS standing, 1.0 AS confidence)
            FROM overruled WHERE label = 'leak'""")
        told = _tell(case)
        case.execute("DROP TABLE decided")
        case.set_meta("annotated", case.meta("detected") or "")
        if before or case.count("overruled"):
            case.set_meta("accessed", "")  # who had which value depends on the matches
    return told


def _restore(case: Case) -> int:
    """Undo what labels did before, unless detection has filled `matches` anew since; gives how many were changed."""
    n = case.count("overruled")
    if n and case.meta("annotated") == (case.meta("detected") or ""):
        case.execute(f"DELETE FROM matches m USING overruled o WHERE {_SAME}")
        case.execute("INSERT INTO matches SELECT * EXCLUDE (label) FROM overruled")
    case.clear("overruled")
    return n


def _tell(case: Case) -> Applied:
    changed: dict[str, int] = dict(
        case.rows("""SELECT label, count(*) FROM overruled WHERE label = 'no-leak' OR standing = 'possible'
                     GROUP BY ALL""")
    )
    undetected = case.one("""
        SELECT count(DISTINCT (d.trace, d.event_id, d.fingerprint)) FROM decided d
        WHERE d.label = 'leak' AND d.value IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM matches m WHERE m.content = d.content AND m.value = d.value)""")
    contradictory = case.one("""
        SELECT count(*) FROM (SELECT content, value FROM decided WHERE value IS NOT NULL
                              GROUP BY ALL HAVING min(label) <> max(label))""")
    unplaced = case.one("SELECT count(*) FROM decided WHERE value IS NULL")
    return Applied(
        changed.get("leak", 0), changed.get("no-leak", 0), int(undetected), int(contradictory), int(unplaced)
    )


def decide(case: Case, said: Iterable[Said]) -> int:
    """Put decisions on record; gives how many."""
    return record(case, ADJUDICATED, list(said))
