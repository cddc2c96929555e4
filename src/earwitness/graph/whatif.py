"""What would have been: deliveries are taken out, the values spread again from their sources, exposures are recounted.

What a sender no longer holds it cannot pass on, unless it held the value by itself. A value that still arrives another
way, or from another source, is said to survive there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from earwitness.graph.carried import Carried, load_carried
from earwitness.graph.parties import Bools, number_parties
from earwitness.graph.temporal import Ints, Spread
from earwitness.schema.case import Case

OUTCOMES = ("stopped", "unchanged", "another way", "another source")
UNNAMED = "(unknown sender)"


@dataclass(frozen=True)
class Verdicts:
    """Unauthorised exposures over some deliveries.

    Attributes:
        places: where they are: one place each, in rising order.
        contact: of each place, the first delivery by which it got the value without leave; -1 where there is none left.
        root: of each place, the source that delivery leads back to; -1 likewise.
        way: of each place, a number for the whole way there.
        spread: how the value spread.
    """

    places: Ints
    contact: Ints
    root: Ints
    way: "np.ndarray[tuple[int], np.dtype[np.uint64]]"
    spread: Spread

    @property
    def standing(self) -> Bools:
        """Which of them are there."""
        return self.contact >= 0


def expose(carried: Carried, kept: Bools | None = None) -> Verdicts:
    """The unauthorised exposures that are left when only the deliveries of `kept` happen."""
    found = carried.spread(kept)
    contacts = carried.contacts
    live = carried.crossing & (found.arrival[_state(carried, found, contacts.tail)] < contacts.seq)
    if kept is not None:
        live &= kept
    places = exposed_places(carried)
    first = np.full(len(carried.graph), -1, np.int64)
    at = np.flatnonzero(live)[::-1]
    at = at[np.argsort(-contacts.seq[at], kind="stable")]
    first[contacts.head[at]] = at
    contact = first[places]
    record = np.where(contact >= 0, found.last[_state(carried, found, contacts.tail[contact])], -1)
    root, way = _origins(carried, found, record, contact)
    return Verdicts(places, contact, root, way, found)


def exposed_places(carried: Carried) -> Ints:
    """Places that get the value without leave, in rising order."""
    marked = np.zeros(len(carried.graph), np.bool_)
    marked[carried.contacts.head[carried.crossing]] = True
    return np.flatnonzero(marked)


def _state(carried: Carried, found: Spread, places: Ints) -> Ints:
    return found.at(carried.graph[places], places)


def _origins(
    carried: Carried, found: Spread, record: Ints, contact: Ints
) -> tuple[Ints, "np.ndarray[tuple[int], np.dtype[np.uint64]]"]:
    """Source of each record's way, and a number that two equal ways share."""
    if not len(found.state):
        return np.full(len(record), -1, np.int64), np.zeros(len(record), np.uint64)
    root, mark = np.arange(len(found.state)), np.full(len(found.state), 1469598103934665603, np.uint64)
    for begin, end in found.levels():
        up = found.parent[begin:end]
        root[begin:end] = root[up]
        mark[begin:end] = _mixed(mark[up], found.contact[begin:end])
    # A state of these searches is a place: each graph has one search, and graphs stand in the order of their places.
    place = found.state[root[record]] - found.base[carried.graph[carried.contacts.tail[contact]]]
    place += found.low[carried.graph[carried.contacts.tail[contact]]]
    return np.where(record >= 0, place, -1), _mixed(mark[record], contact)


def _mixed(
    mark: "np.ndarray[tuple[int], np.dtype[np.uint64]]", number: Ints
) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """FNV-1a, a whole number at a time."""
    return (mark ^ (number + 1).astype(np.uint64)) * np.uint64(1099511628211)


@dataclass(frozen=True)
class Removal:
    """What is taken out: edges by the names of sender and recipient, actors with all they send and get, channels."""

    edges: tuple[tuple[str, str], ...] = ()
    actors: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()

    def keeps(self, carried: Carried) -> Bools:
        """Which deliveries are left."""
        number = {name: n for n, name in enumerate(carried.parties.names)} | {UNNAMED: -1}
        tail, head = carried.names(carried.contacts.tail), carried.names(carried.contacts.head)
        gone = carried.channel.is_in(list(self.channels)).to_numpy().copy()
        for sender, recipient in self.edges:
            gone |= (tail == number.get(sender, -2)) & (head == number.get(recipient, -2))
        for actor in self.actors:
            gone |= (tail == number.get(actor, -2)) | (head == number.get(actor, -2))
        return ~gone


@dataclass(frozen=True)
class WhatIf:
    """Unauthorised exposures before and after a removal.

    Attributes:
        before, after: how many.
        outcomes: how many were `stopped`, `unchanged`, or came by `another way` or from `another source`.
        table: one row each: trace, value, recipient, outcome, source and event before, source_after and event_after.
        allowed_before, allowed_after: deliveries nobody objects to, that carried a value; what the removal costs.
    """

    before: int
    after: int
    outcomes: dict[str, int]
    table: pl.DataFrame
    allowed_before: int
    allowed_after: int


def what_if(
    case: Case,
    *,
    edges: Sequence[tuple[str, str]] = (),
    actors: Sequence[str] = (),
    channels: Sequence[str] = (),
    traces: Sequence[int] | None = None,
) -> WhatIf:
    """Remove edges, actors or channels and recount the unauthorised exposures.

    Args:
        case: after an audit.
        edges: (sender, recipient) by name, in every trace.
        actors: with everything they send and receive.
        channels: C1 to C7.
        traces: numbers of some traces; None for all.
    """
    carried = load_carried(case, number_parties(case, traces))
    kept = Removal(tuple(edges), tuple(actors), tuple(channels)).keeps(carried)
    old, new = expose(carried), expose(carried, kept)
    table = _compared(carried, old, new)
    counts = dict(table.group_by("outcome").len().iter_rows())
    return WhatIf(
        len(table),
        int(new.standing.sum()),
        {name: counts.get(name, 0) for name in OUTCOMES},
        table,
        int(_allowed(carried, old, None).sum()),
        int(_allowed(carried, new, kept).sum()),
    )


def _allowed(carried: Carried, verdicts: Verdicts, kept: Bools | None) -> Bools:
    """Deliveries that nobody objects to and that still happen."""
    found, contacts = verdicts.spread, carried.contacts
    happen = found.arrival[_state(carried, found, contacts.tail)] < contacts.seq
    return happen & ~carried.crossing & (True if kept is None else kept)


def _compared(carried: Carried, old: Verdicts, new: Verdicts) -> pl.DataFrame:
    graph = carried.graph[old.places]
    outcome = np.select(
        [~new.standing, new.root != old.root, new.way != old.way], [OUTCOMES.index(o) for o in _JUDGED], 1
    )
    return pl.DataFrame(
        [
            pl.Series("trace", carried.trace[graph]),
            pl.Series("value", carried.value[graph]),
            named(carried, old.places).alias("recipient"),
            pl.Series(OUTCOMES).gather(outcome).alias("outcome"),
            named(carried, old.root).alias("source"),
            _event(carried, old).alias("event"),
            named(carried, new.root).alias("source_after"),
            _event(carried, new).alias("event_after"),
        ]
    )


_JUDGED = ("stopped", "another source", "another way")


def named(carried: Carried, places: Ints) -> pl.Series:
    """Names of places; NULL for none, and for senders the record does not name."""
    names = pl.Series([*carried.parties.table["actor"], None], dtype=pl.String)
    party = np.where(places >= 0, carried.party[places], -1) if len(carried.party) else np.full(len(places), -1)
    return names.gather(np.where(party >= 0, party, len(names) - 1))


def _event(carried: Carried, verdicts: Verdicts) -> pl.Series:
    events = np.append(carried.event, -1)[verdicts.contact]
    return pl.Series(events).set(pl.Series(verdicts.contact < 0), None)
