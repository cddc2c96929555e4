"""What auditors make of candidates: accept (the texts give the value away) or reject, always with a reason.

Files of decisions name candidates by item, a hash; they hold no value and no text, unless a reason does.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from earwitness.audit.labelfile import read_rows
from earwitness.audit.reconstruction.eligible import AXES, Axis
from earwitness.audit.reconstruction.find import prepare
from earwitness.audit.stats import wilson
from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError, InputError

DECISIONS = ("accept", "reject")
# What the case remembers of the judge's threshold.
JUDGED = "reconstruct_judge_threshold"
# A candidate stands unless a judge was asked and scored it lower.
_STANDS = f"""(c.judged IS NULL OR c.judged >= (
    SELECT coalesce(any_value(value)::DOUBLE, 0) FROM meta WHERE key = '{JUDGED}'))"""
# One decision a candidate: accepted if somebody accepts and nobody rejects.
_SETTLED = """
    SELECT item, bool_or(decision = 'accept') AS accepted, bool_or(decision = 'reject') AS rejected
    FROM audits GROUP BY item
"""
_TALLY = f"""
    WITH found AS (
        SELECT axis, sum(eligible)::BIGINT AS eligible, sum(scored)::BIGINT AS scored,
               sum(single_source)::BIGINT AS single
        FROM reconstructions GROUP BY axis
    ), stood AS (
        SELECT c.axis, sum(instances)::BIGINT AS instances, count(*) AS items,
               coalesce(sum(instances) FILTER (s.item IS NOT NULL), 0)::BIGINT AS audited,
               count(s.item) AS audited_items,
               coalesce(sum(instances) FILTER (s.accepted AND NOT s.rejected), 0)::BIGINT AS confirmed,
               count(*) FILTER (s.accepted AND s.rejected) AS disputed
        FROM candidates c LEFT JOIN ({_SETTLED}) s USING (item) WHERE {_STANDS} GROUP BY c.axis)
    SELECT f.axis, f.eligible, f.scored, coalesce(f.single, 0) + coalesce(s.instances, 0), f.single,
           coalesce(s.items, 0), coalesce(s.audited, 0), coalesce(s.audited_items, 0), coalesce(s.confirmed, 0),
           coalesce(s.disputed, 0)
    FROM found f LEFT JOIN stood s USING (axis)
"""


class Decided(NamedTuple):
    """One decision."""

    item: str
    decision: str
    reason: str


class Tally(NamedTuple):
    """An axis in numbers; instances, but for those called items, which are distinct candidates.

    Attributes:
        axis: the axis.
        eligible: instances in which the value was not disclosed.
        scored: of them those the method can compare.
        positive: of those the ones at or above the threshold (and the judge's, where one was asked).
        single_source: positives that one part alone gives; None for inference.
        items: candidates that stand for the other positives.
        audited: instances of candidates with a decision.
        audited_items: such candidates.
        confirmed: instances of candidates that were accepted and by nobody rejected.
        disputed: candidates that one auditor accepts and another rejects.
    """

    axis: Axis
    eligible: int = 0
    scored: int = 0
    positive: int = 0
    single_source: int | None = None
    items: int = 0
    audited: int = 0
    audited_items: int = 0
    confirmed: int = 0
    disputed: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % Wilson interval of confirmed / scored; None where nothing was scored."""
        return wilson(self.confirmed, self.scored) if self.scored else None


def tally(case: Case) -> list[Tally]:
    """All axes, in order.

    Raises:
        CaseError: nothing was searched for yet.
    """
    _searched(case)
    rows = {row[0]: Tally(*row) for row in case.rows(_TALLY)}
    return [rows.get(axis, Tally(axis)) for axis in AXES]


def waiting(case: Case, auditor: str, most: int | None = None) -> list[str]:
    """Candidates an auditor has not decided on: of each axis in turn the one with the highest score.

    Raises:
        CaseError: nothing was searched for yet.
    """
    _searched(case)
    rows = case.rows(
        f"""SELECT c.item FROM candidates c ANTI JOIN (SELECT item FROM audits WHERE auditor = ?) a USING (item)
            WHERE {_STANDS}
            ORDER BY row_number() OVER (PARTITION BY c.axis ORDER BY coalesce(c.judged, c.score) DESC, c.item), c.axis
            LIMIT ?""",
        [auditor, most if most is not None else 1 << 62],
    )
    return [row[0] for row in rows]


def read_decisions(case: Case, path: Path) -> list[Decided]:
    """The decisions of a file (JSONL or CSV): `item`, `decision`, `reason`. Lines without a decision are left out.

    Raises:
        InputError: naming the file and the line: an item nobody knows, no such decision, or no reason.
        CaseError: nothing was searched for yet.
    """
    _searched(case)
    known = {row[0] for row in case.rows("SELECT item FROM candidates UNION SELECT item FROM audits")}
    out = []
    for number, row in read_rows(path):
        if not str(row.get("decision") or "").strip():
            continue
        out.append(checked(known, row.get("item"), row["decision"], row.get("reason"), f"{path}:{number}"))
    return out


def checked(known: set[str], item: object, decision: object, reason: object, where: str) -> Decided:
    """A decision that holds together.

    Raises:
        InputError: saying where and why it does not.
    """
    word, told = str(decision).strip().lower(), str(reason or "").strip()
    if item not in known:
        raise InputError(f"{where}: no such `item` among the candidates; was the file made from another case?")
    if word not in DECISIONS:
        raise InputError(f"{where}: `decision` must be accept or reject")
    if not told:
        raise InputError(f"{where}: a decision needs a `reason`")
    return Decided(str(item), word, told)


def record(case: Case, auditor: str, decided: Sequence[Decided]) -> int:
    """Put decisions on record; a later one on the same item by the same auditor replaces the earlier."""
    prepare(case)
    latest = list({d.item: d for d in decided}.values())
    columns = {n: pa.array([getattr(d, n) for d in latest], pa.string()) for n in Decided._fields}
    case.con.register("decided", pa.table({**columns, "auditor": pa.array([auditor] * len(latest), pa.string())}))
    with case.transaction():
        case.execute("DELETE FROM audits USING decided d WHERE audits.item = d.item AND audits.auditor = d.auditor")
        case.execute("""
            INSERT INTO audits BY NAME
            SELECT *, (now() AT TIME ZONE 'UTC')::TIMESTAMP_NS AS decided_at FROM decided""")
    case.con.unregister("decided")
    return len(latest)


def _searched(case: Case) -> None:
    prepare(case)
    if not case.one("SELECT count(*) FROM runs WHERE stage = 'reconstruct'"):
        raise CaseError(f"{case.path}: nothing was searched for yet; run `earwitness reconstruct find --case CASE`")
