"""Deliveries that carried a value, as a graph of its own for every trace and value; and who held the value unaided.

The sender of a delivery either was reached by the value before (it is on a way), or it had the value from outside:
an initial input, a tool or a memory nobody gave the value to, or somewhere the record does not show. Those are the
sources. What is left when deliveries are taken out is found by spreading from the sources again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from earwitness.graph.parties import RANK, TIME, Bools, Parties, ints
from earwitness.graph.temporal import NEVER, Contacts, Ints, Spread, Starts, index, spread
from earwitness.schema.case import Case

_CARRIED = f"""
    SELECT v.trace, v.value, coalesce(s.node, -1) AS tail, r.node AS head, f.seq, {RANK} AS rank, v.event, f.channel,
           {TIME} AS time, bool_or(v.dynamic = 'sanitize') AS crossing
    FROM verdicts v JOIN flows f ON f.event = v.event AND f.recipient = v.recipient AND f.grade = v.grade
    JOIN events e ON e.event = v.event
    JOIN node r ON r.trace = v.trace AND r.actor = v.recipient
    LEFT JOIN node s ON s.trace = v.trace AND s.actor = f.sender
    WHERE v.standing = 'confirmed' GROUP BY ALL ORDER BY v.trace, v.value, f.seq, v.event, rank, head
"""
_HELD = """
    SELECT a.trace, a.value, n.node, a.seq FROM access a JOIN node n ON n.trace = a.trace AND n.actor = a.agent
    WHERE a.access = 'initial'
"""


@dataclass(frozen=True)
class Carried:
    """One graph for every trace and value, in arrays.

    Attributes:
        parties: of all traces.
        trace, value: of each graph, in rising order.
        contacts: deliveries that carried the value, between places; a place is a party as it stands in one graph.
        event, channel, time: of each delivery.
        crossing: of each delivery, whether the recipient may not have the value.
        graph, party: of each place; party -1 stands for senders the record does not name.
        starts: the sources: place, and the moment after which it holds the value.
    """

    parties: Parties
    trace: Ints
    value: Ints
    contacts: Contacts
    event: Ints
    channel: pl.Series
    time: Ints
    crossing: Bools
    graph: Ints
    party: Ints
    starts: Starts

    def spread(self, kept: Bools | None = None, starts: Starts | None = None) -> Spread:
        """Spread from the sources (or other starts) over the deliveries that are kept; contacts keep their numbers."""
        contacts, at = self.contacts, None
        if kept is not None:
            at = np.flatnonzero(kept)
            contacts = contacts.take(at)
        found = spread(index(contacts, self.graph), starts or self.starts, searches=len(self.trace))
        if at is None or not len(at):
            return found
        return replace(found, contact=np.where(found.contact >= 0, at[found.contact], -1))

    def place(self, trace: Ints, value: Ints, party: Ints) -> Ints:
        """Places of parties in graphs; -1 where a party has no part in the graph, or there is none."""
        graph = self.graphs(trace, value)
        key, wanted = self.graph * self._width + self.party + 1, graph * self._width + party + 1
        return np.where(graph >= 0, _find(key, wanted), -1)

    def graphs(self, trace: Ints, value: Ints) -> Ints:
        """Numbers of graphs; -1 where the value was never carried in the trace."""
        width = max(int(self.value.max(initial=0)), int(value.max(initial=0))) + 1
        return _find(self.trace * width + self.value, trace * width + value)

    @property
    def _width(self) -> int:
        return len(self.parties) + 2

    def names(self, places: Ints) -> Ints:
        """Numbers of the names of places; -1 for senders that are not named."""
        party = self.party[places]
        return np.where(party >= 0, self.parties.name[party], -1) if len(self.parties) else party

    def only(self, graphs: Bools) -> "Carried":
        """The same with some of the graphs, for instance those of one trace."""
        number, place = np.cumsum(graphs) - 1, graphs[self.graph]
        place_number, edge, start = np.cumsum(place) - 1, place[self.contacts.tail], place[self.starts.node]
        kept = self.contacts.take(edge)
        starts = Starts(*(column[start] for column in self.starts))
        return Carried(
            self.parties,
            self.trace[graphs],
            self.value[graphs],
            kept._replace(tail=place_number[kept.tail], head=place_number[kept.head]),
            self.event[edge],
            self.channel.filter(pl.Series(edge)),
            self.time[edge],
            self.crossing[edge],
            number[self.graph[place]],
            self.party[place],
            Starts(number[starts.search], place_number[starts.node], starts.seq),
        )

    def parts(self) -> Iterator["Carried"]:
        """The same, one trace after another."""
        cuts = np.flatnonzero(np.diff(self.trace, prepend=-1, append=-1))
        edge, place = self.graph[self.contacts.tail], self.graph
        bounds = [np.searchsorted(column, cuts).tolist() for column in (edge, place, self.starts.search)]
        for n in range(len(cuts) - 1):
            edges, places, starts = (slice(b[n], b[n + 1]) for b in bounds)
            yield self._part(slice(cuts[n], cuts[n + 1]), edges, places, starts)

    def _part(self, graphs: slice, edges: slice, places: slice, starts: slice) -> "Carried":
        tail, head, seq, rank = (column[edges] for column in self.contacts)
        search, node, moment = (column[starts] for column in self.starts)
        return Carried(
            self.parties,
            self.trace[graphs],
            self.value[graphs],
            Contacts(tail - places.start, head - places.start, seq, rank),
            self.event[edges],
            self.channel[edges],
            self.time[edges],
            self.crossing[edges],
            self.graph[places] - graphs.start,
            self.party[places],
            Starts(search - graphs.start, node - places.start, moment),
        )


def _find(sorted_keys: Ints, wanted: Ints) -> Ints:
    if not len(sorted_keys):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(sorted_keys, wanted), len(sorted_keys) - 1)
    return np.where(sorted_keys[at] == wanted, at, -1)


def load_carried(case: Case, parties: Parties) -> Carried:
    """The graphs of all traces and values, after an audit and `number_parties`."""
    frame = case.frame(_CARRIED)
    trace, value = ints(frame, "trace"), ints(frame, "value")
    new = np.ones(len(frame), np.bool_)
    new[1:] = (trace[1:] != trace[:-1]) | (value[1:] != value[:-1])
    graph, width = np.cumsum(new) - 1, len(parties) + 2
    # A place is numbered by graph and party, so that graphs do not mix and places of one stand together.
    ends = np.concatenate([graph * width + ints(frame, c) + 1 for c in ("tail", "head")])
    keys, places = np.unique(ends, return_inverse=True)
    rest = (ints(frame, "seq"), ints(frame, "rank"))
    contacts = Contacts(places[: len(frame)], places[len(frame) :], *rest)
    bare = Carried(
        parties,
        trace[new],
        value[new],
        contacts,
        ints(frame, "event"),
        frame["channel"],
        ints(frame, "time"),
        frame["crossing"].to_numpy(),
        keys // width,
        keys % width - 1,
        Starts(*(np.empty(0, np.int64) for _ in range(3))),
    )
    return replace(bare, starts=_sources(bare, case.frame(_HELD)))


def _sources(carried: Carried, held: pl.DataFrame) -> Starts:
    """Places that hold the value unaided: from the initial input on, or just before they first send it untaught."""
    given = np.full(len(carried.graph), NEVER, np.int64)
    at = carried.place(ints(held, "trace"), ints(held, "value"), ints(held, "node"))
    np.minimum.at(given, at[at >= 0], ints(held, "seq")[at >= 0])
    taught, sent = np.full(len(given), NEVER, np.int64), np.full(len(given), NEVER, np.int64)
    np.minimum.at(taught, carried.contacts.head, carried.contacts.seq)
    np.minimum.at(sent, carried.contacts.tail, carried.contacts.seq)
    unaided = (sent < NEVER) & (sent <= taught) & (sent <= given)
    given[unaided] = np.minimum(given[unaided], sent[unaided] - 1)
    nodes = np.flatnonzero(given < NEVER)
    return Starts(carried.graph[nodes], nodes, given[nodes])
