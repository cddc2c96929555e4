"""What is no longer passed on: a value that a sanitizer kept from an actor cannot be told by that actor later.

A counterfactual over the recorded hops. An occurrence is still there if its sender would still have had the value:
from the start, by a delivery that remains, or because the record never told where it had it from. What a tool or a
memory gave it is a delivery like any other: it counts as long as it remains.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from earwitness.schema.case import Case

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
NEVER = int(np.iinfo(np.int64).max)

# Holders are (trace, value, actor). Each occurrence has the holder that told it and the one that was told.
_HOPS = """
    WITH hop AS (
        SELECT DISTINCT o.occ, o.trace, o.value, o.recipient, e.seq, f.sender
        FROM rp_occ o JOIN events e ON e.event = o.event
        JOIN (SELECT DISTINCT event, sender FROM flows) f ON f.event = o.event
    ), holder AS (
        SELECT *, row_number() OVER (ORDER BY trace, value, actor) - 1 AS holder FROM (
            SELECT trace, value, sender AS actor FROM hop WHERE sender IS NOT NULL
            UNION SELECT trace, value, recipient FROM hop WHERE recipient IS NOT NULL)
    )
    SELECT h.occ, h.seq, s.holder AS teller, r.holder AS told, coalesce(a.seq, {never}) AS access
    FROM hop h LEFT JOIN holder s ON s.trace = h.trace AND s.value = h.value AND s.actor = h.sender
    LEFT JOIN holder r ON r.trace = h.trace AND r.value = h.value AND r.actor = h.recipient
    LEFT JOIN (SELECT trace, value, agent, min(seq) AS seq FROM access
               WHERE access = 'initial' GROUP BY ALL) a
         ON a.trace = h.trace AND a.value = h.value AND a.agent = h.sender
    ORDER BY h.occ
"""


class Hops(NamedTuple):
    """Who told what to whom, over occurrences: as `still` takes it."""

    seq: Ints
    teller: Ints
    told: Ints
    access: Ints


def read_hops(case: Case) -> Hops:
    """The recorded hops, in the order of `rp_occ`."""
    hops = case.frame(_HOPS.format(never=NEVER))
    return Hops(*(hops[c].fill_null(-1).to_numpy().astype(np.int64) for c in Hops._fields))


def find_downstream(case: Case) -> None:
    """Set `downstream` of `rp_left`, from its `found`, plan by plan."""
    seq, teller, told, access = read_hops(case)
    left = case.frame("SELECT plan, occ, found FROM rp_left ORDER BY plan, occ")
    parts = []
    for part in left.partition_by("plan", maintain_order=True):
        here = part["occ"].to_numpy()
        kept = still(part["found"].to_numpy(), seq[here], teller[here], told[here], access[here])
        parts.append(part.with_columns(downstream=kept).to_arrow())
    case.execute(
        "CREATE OR REPLACE TEMP TABLE rp_downstream (plan INTEGER, occ INTEGER, found BOOLEAN, downstream BOOLEAN)"
    )
    for table in parts:
        case.insert("rp_downstream", table)


def still(found: Bools, seq: Ints, teller: Ints, told: Ints, access: Ints) -> Bools:
    """Which occurrences are still there when nobody passes on what was kept from them.

    Rounds of array operations until nothing changes: no more than the longest way has hops. Removing an occurrence
    can only remove others, so that the order of rounds does not matter.

    Args:
        found: it remains in its own text.
        seq: order of its event in the trace.
        teller: holder that sent it, -1 if the record does not tell.
        told: holder that received it, -1 likewise.
        access: since when the sender had the value by what it was given at the start, `NEVER` if it was not.
    """
    holders = int(max(teller.max(initial=-1), told.max(initial=-1))) + 1
    recorded = _first(np.ones(len(found), np.bool_), seq, told, holders)
    # Index -1 is the holder nobody knows: it has no recorded source.
    own = (access < seq) | (recorded[teller] >= seq)
    kept = found.astype(np.bool_)
    while True:
        again = kept & (own | (_first(kept, seq, told, holders)[teller] < seq))
        if (again == kept).all():
            return kept
        kept = again


def _first(kept: Bools, seq: Ints, told: Ints, holders: int) -> Ints:
    """When each holder was first told, by what is kept; `NEVER` if it was not."""
    first = np.full(holders + 1, NEVER, np.int64)
    known = kept & (told >= 0)
    np.minimum.at(first, told[known], seq[known])
    return first
