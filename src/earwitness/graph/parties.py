"""Parties and flows of a case as numbers: what the searches over all traces work on."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from earwitness.graph.temporal import Contacts, Ints
from earwitness.schema.case import Case
from earwitness.schema.words import GRADES

Bools = npt.NDArray[np.bool_]

# Stands for a moment that was not recorded.
UNTIMED = np.iinfo(np.int64).min
RANK = f"list_position({list(GRADES)}, f.grade) - 1"
TIME = f"coalesce(epoch_ns(e.time), {UNTIMED})"

# Every sender and recipient is a party: the import makes one of each, and aliases are resolved in both.
_NUMBER = """
    CREATE OR REPLACE TEMP TABLE node AS
    SELECT trace, actor, row_number() OVER (ORDER BY trace, actor) - 1 AS node,
           dense_rank() OVER (ORDER BY actor) - 1 AS name, kind
    FROM parties {chosen}
"""
_FLOWS = f"""
    SELECT s.node AS tail, r.node AS head, f.seq, {RANK} AS rank, f.event, f.channel, {TIME} AS time,
           s.kind = 'agent' AND r.kind = 'agent' AS agents
    FROM flows f JOIN node s ON s.trace = f.trace AND s.actor = f.sender
    JOIN node r ON r.trace = f.trace AND r.actor = f.recipient JOIN events e ON e.event = f.event
"""


@dataclass(frozen=True)
class Parties:
    """Every party of every trace, as a number from 0; those of one trace stand together.

    Attributes:
        table: columns trace, actor, node, name (number of the actor's name over all traces), kind.
        trace: of each party.
        name: of each party.
    """

    table: pl.DataFrame
    trace: Ints
    name: Ints

    def __len__(self) -> int:
        return len(self.trace)

    @cached_property
    def names(self) -> list[str]:
        """The name behind each number of a name."""
        return self.table.unique("name").sort("name")["actor"].to_list()

    @cached_property
    def agent(self) -> Bools:
        """Which of them are agents; one more at the end is for senders that are not named, who count as such."""
        return np.append((self.table["kind"] == "agent").to_numpy(), True)


@dataclass(frozen=True)
class Flows:
    """Every delivery with a known sender, in arrays: contacts, and beside them event, time and what they were.

    Attributes:
        message: on C2, whoever speaks.
        agents: sender and recipient are agents.
    """

    contacts: Contacts
    event: Ints
    time: Ints
    message: Bools
    agents: Bools


def number_parties(case: Case, traces: Sequence[int] | None = None) -> Parties:
    """Number the parties of all traces, or of some.

    Leaves the temporary table `node` behind: the queries of this room go by it, so they see these traces only.
    """
    chosen = "" if traces is None else f"WHERE list_contains({[int(t) for t in traces]}::INTEGER[], trace)"
    case.execute(_NUMBER.format(chosen=chosen))
    table = case.frame("SELECT * FROM node ORDER BY node")
    return Parties(table, ints(table, "trace"), ints(table, "name"))


def load_flows(case: Case) -> Flows:
    """Their deliveries, after `number_parties`."""
    frame = case.frame(_FLOWS)
    frame = frame[np.lexsort((ints(frame, "rank"), ints(frame, "head"), ints(frame, "event")))]
    return Flows(
        Contacts(*(ints(frame, c) for c in ("tail", "head", "seq", "rank"))),
        ints(frame, "event"),
        ints(frame, "time"),
        (frame["channel"] == "C2").to_numpy(),
        frame["agents"].to_numpy(),
    )


def ints(frame: pl.DataFrame, column: str) -> Ints:
    """A column without NULLs as 64-bit integers."""
    return frame[column].cast(pl.Int64).to_numpy()
