"""What a replay left, as arrays: rows are plans, columns are occurrences; figures count over them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from earwitness.schema.case import Case
from earwitness.schema.words import CAUSES

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
# 0 stands for no action: nothing was found.
ACTIONS = ("", "allow", "fpe", "pseudonym", "mldp", "rewrite", "redact", "block")

# By what occurrences are told apart, whatever a plan does to them.
_OCCURRENCES = """
    WITH steps AS (SELECT trace, value, recipient, any_value(carried) AS carried, any_value(distance) AS distance
                   FROM exposures GROUP BY ALL)
    SELECT o.truth = 'sanitize' AS sanitize, o.channel, v.attribute, v.value_type, t.topology,
           coalesce(t.scenario, o.trace::VARCHAR) AS scenario,
           coalesce(p.position, CASE WHEN o.recipient IS NULL THEN 'unresolved' ELSE 'unknown' END) AS position,
           coalesce(x.carried::VARCHAR, 'unknown') AS hops, coalesce(x.distance::VARCHAR, 'unknown') AS distance
    FROM rp_occ o JOIN vault v USING (value) JOIN traces t ON t.trace = o.trace
    LEFT JOIN parties p ON p.trace = o.trace AND p.actor = o.recipient
    LEFT JOIN steps x ON x.trace = o.trace AND x.value = o.value AND x.recipient = o.recipient
    ORDER BY o.occ
"""
_HANDLED = f"""
    SELECT plan, occ, resolved, detected, acted, coalesce(reason LIKE 'fallback%', false) AS fallback,
           list_position({list(ACTIONS)}, coalesce(action, '')) - 1 AS action
    FROM rp_handled
"""
_LEFT = "SELECT plan, occ, found, downstream FROM rp_downstream"
_DONE = f"SELECT plan, occ, list_position({list(ACTIONS)}, done) - 1 AS done FROM rp_done"
GROUPS = ("channel", "attribute", "value_type", "topology", "position", "hops", "distance")


class Groups(NamedTuple):
    """Cells: the number of that of each occurrence, and what they are called; one without a name stands last."""

    number: Ints
    names: list[str | None]


@dataclass(frozen=True)
class Facts:
    """Occurrences under plans.

    Attributes:
        plans: condition and setting of each row, in order of their names.
        sanitize: of each occurrence, whether it should be sanitized; the others should be allowed.
        scenario: number of its scenario; traces without one stand alone.
        groups: its cells.
        resolved: of each plan and occurrence whether the recipient counts as known,
        detected: whether something was found at every place,
        action: what was decided,
        done: what was done, both as numbers of `ACTIONS`,
        found: whether it remains in its own text,
        downstream: and its sender would still have had it.
        causes: by name, where it remains, should not, and that is why.
    """

    plans: list[tuple[str, str]]
    sanitize: Bools
    scenario: Ints
    groups: dict[str, Groups]
    resolved: Bools
    detected: Bools
    action: Ints
    done: Ints
    found: Bools
    downstream: Bools
    causes: dict[str, Bools]


def read_facts(case: Case) -> Facts:
    """The facts of a replay, after `conclude`."""
    told = case.frame(_OCCURRENCES)
    plans = case.rows("SELECT plan, condition, setting FROM rp_plan ORDER BY condition, setting")
    row = np.full(max((p for p, _, _ in plans), default=0) + 1, -1)
    row[[p for p, _, _ in plans]] = np.arange(len(plans))
    tables = {query: _spread(case, query, row, (len(plans), len(told))) for query in (_HANDLED, _LEFT, _DONE)}
    handled, left, done = tables[_HANDLED], tables[_LEFT], tables[_DONE]["done"]
    sanitize = told["sanitize"].to_numpy().astype(np.bool_)
    action = handled["action"].astype(np.int64)
    return Facts(
        [(c, s) for _, c, s in plans],
        sanitize,
        np.unique(told["scenario"].to_numpy(), return_inverse=True)[1].astype(np.int64),
        {name: _grouped(told[name].to_list()) for name in GROUPS},
        handled["resolved"].astype(np.bool_),
        handled["detected"].astype(np.bool_),
        action,
        np.where(done > 0, done, action).astype(np.int64),
        left["found"].astype(np.bool_),
        left["downstream"].astype(np.bool_),
        _causes(handled, left["found"].astype(np.bool_) & sanitize),
    )


def _spread(case: Case, query: str, row: Ints, shape: tuple[int, int]) -> dict[str, npt.NDArray[np.int8]]:
    """Columns of a table with plan and occurrence as matrices; 0 where there is no row."""
    frame = case.frame(query)
    at = row[frame["plan"].to_numpy()] * shape[1] + frame["occ"].to_numpy()
    found = {}
    for name in frame.columns[2:]:
        matrix = np.zeros(shape[0] * shape[1], np.int8)
        matrix[at] = frame[name].to_numpy()
        found[name] = matrix.reshape(shape)
    return found


def _grouped(names: list[str | None]) -> Groups:
    known = sorted({n for n in names if n is not None})
    ordered = [*known, *([None] if None in names else [])]
    number = {name: n for n, name in enumerate(ordered)}
    return Groups(np.array([number[n] for n in names], np.int64), ordered)


def _causes(handled: dict[str, Any], residual: Bools) -> dict[str, Bools]:
    """The first that holds, for each occurrence that remains and should not."""
    detected, acted, fallback = (handled[n].astype(np.bool_) for n in ("detected", "acted", "fallback"))
    missed, passed = residual & ~detected, residual & detected & ~acted
    each = (missed, passed & fallback, passed & ~fallback, residual & detected & acted)
    return dict(zip(CAUSES, each, strict=True))
