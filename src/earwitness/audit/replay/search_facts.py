"""What a search counts: the occurrences of one stored replay, their places, and what is known to become of them.

Everything is an array over occurrences (in the order of `rp_occ`) or over their places (`rs_spot`). What is done at a
place is a code: 0 nobody found it, 1 found and passed, from 2 on the actions, weakest first.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from earwitness.audit.replay.downstream import Hops, read_hops, still
from earwitness.audit.transform.words import ACTIONS, STRENGTH
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]

PASSED, ACTED = 1, 2
CODES = {action: STRENGTH[action] + 1 for action in ACTIONS}
_FIRM = CODES["redact"]
CODE = "CASE {column} " + " ".join(f"WHEN '{a}' THEN {n}" for a, n in CODES.items()) + " ELSE 0 END"

_SAME = """
    r.event = o.event AND r.value = o.value AND r.recipient IS NOT DISTINCT FROM o.recipient
"""
_OCCURRENCES = f"""
    SELECT o.occ, o.class, o.channel, o.recipient, coalesce(o.grade, 'none') AS grade, v.attribute,
           v.value_type, o.truth = 'sanitize' AS sanitize, r.remains, r.downstream,
           coalesce(p.roles, []) AS roles, coalesce(d.dynamic_rule = 'in-request', false) AS asked
    FROM rp_occ o JOIN replays r ON {_SAME} AND r.condition = ? AND r.setting = ?
    JOIN vault v ON v.value = o.value
    JOIN verdicts d ON d.event = o.event AND d.value = o.value AND d.recipient IS NOT DISTINCT FROM o.recipient
    LEFT JOIN parties p ON p.trace = o.trace AND p.actor = o.recipient
    ORDER BY o.occ
"""
# What became of the same occurrence under any stored condition that acted on every place of it; where they differ,
# nothing is known.
_MEASURED = f"""
    SELECT o.occ, {CODE.format(column="r.action")} AS code, bool_or(r.remains) AS remains
    FROM rp_occ o JOIN replays r ON {_SAME} WHERE r.detected AND r.action <> 'allow'
    GROUP BY ALL HAVING bool_or(r.remains) = bool_and(r.remains)
"""
_STALE = f"""
    SELECT (SELECT count(*) FROM rp_occ o JOIN rp_handled h USING (occ)
            LEFT JOIN replays r ON {_SAME} AND r.condition = $condition AND r.setting = $setting
            WHERE r.event IS NULL OR r.action IS DISTINCT FROM h.action OR r.detected <> h.detected
               OR r.truth <> o.truth OR r.reason IS DISTINCT FROM h.reason OR r.resolved <> h.resolved),
           (SELECT count(*) FROM replays WHERE condition = $condition AND setting = $setting),
           (SELECT count(*) FROM rp_occ)
"""


@dataclass(frozen=True)
class Facts:
    """Occurrences and places of one replay.

    Attributes:
        frame: one row an occurrence: class, channel, recipient, grade, attribute, value_type, roles,
            asked (the request itself holds the value).
        sanitize: what should have become of it, by the policy in force.
        remains: it is still found, each event by itself.
        downstream: it is, and its sender would still have had it.
        owner: the occurrence of each place.
        starts: the first place of each occurrence that has places; `placed`: which those are.
        measured: by occurrence and code: under a stored condition that did so it remained (1), or not (0); -1: unknown.
        hops: who told what to whom.
    """

    frame: pl.DataFrame
    sanitize: Bools
    remains: Bools
    downstream: Bools
    owner: Ints
    starts: Ints
    placed: Ints
    measured: Codes
    hops: Hops

    def least(self, codes: Codes) -> Codes:
        """The weakest that is done at a place of each occurrence; 0 for those without places."""
        return self._reduced(codes, np.minimum)

    def most(self, codes: Codes) -> Codes:
        """The strongest, likewise."""
        return self._reduced(codes, np.maximum)

    def _reduced(self, codes: Codes, how: np.ufunc) -> Codes:
        out = np.zeros(len(self.sanitize), np.int8)
        if len(self.starts):
            out[self.placed] = how.reduceat(codes, self.starts)
        return out

    def counted(self, found: Bools, mode: str) -> Bools:
        """What remains in the way of counting that was asked for."""
        return still(found, *self.hops) if mode == "propagate" else found

    def column(self, name: str) -> npt.NDArray[np.object_]:
        """A column of the frame."""
        return self.frame[name].to_numpy(allow_copy=True).astype(object)


def read_facts(case: Case, condition: str, setting: str) -> Facts:
    """The facts, with `rp_occ`, `rp_class` and `rs_spot`."""
    frame = case.con.sql(_OCCURRENCES, params=[condition, setting]).pl()
    owner = case.frame("SELECT occ FROM rs_spot ORDER BY sid")["occ"].to_numpy().astype(np.int64)
    placed, starts = np.unique(owner, return_index=True)
    truth, remains, downstream = (frame[c].to_numpy().astype(np.bool_) for c in ("sanitize", "remains", "downstream"))
    known, hops = _measured(case, len(frame)), read_hops(case)
    return Facts(frame, truth, remains, downstream, owner, starts, placed, known, hops)


def _measured(case: Case, n: int) -> Codes:
    known = case.frame(_MEASURED)
    out = np.full((n, max(CODES.values()) + 1), -1, np.int8)
    out[known["occ"].to_numpy(), known["code"].to_numpy()] = known["remains"].to_numpy().astype(np.int8)
    return out


def check_fresh(case: Case, condition: str, setting: str) -> None:
    """Hold what the stored tables decide today against the stored replay: rows, truth, finds, actions, reasons.

    Raises:
        InputError: the case has changed since its replay.
    """
    differing, stored, now = case.rows(_STALE, {"condition": condition, "setting": setting})[0]
    # What was measured in changed texts holds for the values and rules it was measured with.
    measured = str(case.meta("measured_again") or "").startswith(f"{case.meta('detected')} ")
    placed = case.meta("placed") == f"{case.meta('detected')} {case.meta('annotated')} {case.count('matches')}"
    if differing or stored != now or not measured or not placed:
        raise stale(condition)


def check_passed_on(facts: Facts, condition: str) -> None:
    """What was not passed on follows from what remains and from the recorded hops; else one of them has changed.

    Raises:
        InputError: the case has changed since its replay.
    """
    if not np.array_equal(still(facts.remains, *facts.hops), facts.downstream):
        raise stale(condition)


def stale(condition: str) -> InputError:
    """What to say of a case that is not what was replayed."""
    return InputError(f"{condition}: the case has changed since its replay; run `earwitness replay` again")


def outcome_of(facts: Facts, before: Codes, kept: Bools, codes: Codes, *, measured: bool = True) -> tuple[Bools, Bools]:
    """What remains once `codes` are done in place of `before`; and what of it rests on an assumption.

    What is passed remains, what is acted on in the same way becomes what it became. What is acted on anew is what a
    stored replay made of it, where one did the same; else it is taken to be gone, which a redaction guarantees at its
    place and other actions do not.

    Args:
        facts: the occurrences.
        before: codes of the places, and
        kept: what remains under them.
        codes: the changed ones.
        measured: the finds are the same as in the stored replays, so that what these measured holds.
    """
    old, new = facts.least(before), facts.least(codes)
    changed = facts.most((before != codes).astype(np.int8)) > 0
    fresh = changed & (new >= ACTED)
    out = np.where(fresh, False, np.where(changed & (old >= ACTED), True, kept))
    known = facts.measured[np.arange(len(new)), new]
    known = np.where(measured & (facts.most(codes) == new), known, -1)
    out = np.where(fresh & (known >= 0), known == 1, out)
    return out, fresh & (known < 0) & (new < _FIRM)
