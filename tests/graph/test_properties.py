"""What must hold for any graph, and the set-wise answers held against the slow ones of `brute`."""

from itertools import pairwise
from typing import Any

import brute
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worked import PLACES, Spec, judged

from earwitness.graph.guards import Place, cuts, frontier, greedy
from earwitness.graph.hops import distances, route
from earwitness.graph.temporal import NEVER, Contacts, Starts, index, spread
from earwitness.graph.ways import find_ways, patterns
from earwitness.graph.whatif import what_if
from earwitness.schema.case import Case

KINDS = {"t": "tool", "m": "memory", "u": "user"}
ALLOW = ["a", "b", "m"]
WALKED = ("realised", "temporal", "carrying", "realised_any", "temporal_any", "carrying_any")


def channel(sender: str | None, recipient: str) -> str:
    by_recipient = {"t": "C3", "m": "C5", "u": "C1"}
    return {"t": "C4", "m": "C5"}.get(sender or "", by_recipient.get(recipient, "C2"))


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    sender = draw(st.sampled_from([*"aabbccdtm", None]))
    others = "abcd" if sender is None or sender in KINDS else "abcdtmu"
    recipient = draw(st.sampled_from([name for name in others if name != sender]))
    held = draw(st.booleans())
    told = {"from": sender} if sender else {}
    return {"channel": channel(sender, recipient), **told, "to": recipient, "holds": ["account"] if held else []}


@st.composite
def graphs(draw: st.DrawFn) -> Spec:
    return {
        "kinds": KINDS,
        "given": draw(st.sampled_from([{}, {"a": "account"}, {"c": "account"}, {"a": "account", "b": "account"}])),
        "allow": ALLOW,
        "events": draw(st.lists(events(), min_size=1, max_size=7)),
    }


many = st.lists(graphs(), min_size=1, max_size=10)


def by_trace(frame: pl.DataFrame, *columns: str) -> dict[tuple[int, str], tuple[Any, ...]]:
    return {(row[0], row[1]): row[2:] for row in frame.select("trace", "recipient", *columns).iter_rows()}


def number(case: Case, n: int) -> int:
    return int(case.one("SELECT trace FROM traces WHERE trace_id = ?", [f"t{n}"]))


# -- on arrays --------------------------------------------------------------------------------------------------------

contacts = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9), st.integers(0, 3)), min_size=0, max_size=14
)


@given(contacts, st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 5)), min_size=1, max_size=3))
def test_spread_equals_trying_every_walk(raw: list[tuple[int, int, int, int]], begins: list[tuple[int, int]]) -> None:
    columns = [np.array([row[n] for row in raw], np.int64) for n in range(4)]
    starts = Starts(np.arange(len(begins)), *(np.array([b[n] for b in begins], np.int64) for n in range(2)))
    found = spread(index(Contacts(*columns), np.zeros(6, np.int64)), starts, searches=len(begins))
    for search, (begin, since) in enumerate(begins):
        arrival, hops = slow(raw, begin, since)
        states = found.at(np.full(6, search), np.arange(6))
        assert found.hops[states].tolist() == hops
        assert found.arrival[states].tolist() == arrival
        check_ways(raw, found, states.tolist(), begin, since)


def slow(raw: list[tuple[int, int, int, int]], begin: int, since: int) -> tuple[list[int], list[int]]:
    """Bellman-Ford over hops: earliest arrival with at most so many."""
    arrival, hops = [NEVER] * 6, [-1] * 6
    arrival[begin], hops[begin] = since, 0
    for level in range(1, len(raw) + 1):
        before = arrival.copy()
        for tail, head, seq, _ in raw:
            if before[tail] < seq < arrival[head]:
                arrival[head] = seq
                hops[head] = level if hops[head] < 0 else hops[head]
    return arrival, hops


def check_ways(raw: list[tuple[int, int, int, int]], found: Any, states: list[int], begin: int, since: int) -> None:
    worst = found.worst(np.array([row[3] for row in raw], np.int64))
    for node, state in enumerate(states):
        for record in {int(found.first[state]), int(found.last[state])} - {-1}:
            at, after = begin, since
            way = found.way(record)
            for contact in way:
                assert raw[contact][0] == at
                assert raw[contact][2] > after
                at, after = raw[contact][1], raw[contact][2]
            assert at == node
            assert worst[record] == max((raw[c][3] for c in way), default=-1)


@given(contacts)
def test_without_time_spread_is_plain_search(raw: list[tuple[int, int, int, int]]) -> None:
    columns = [np.array([row[n] for row in raw], np.int64) for n in range(4)]
    starts = Starts(np.array([0]), np.array([0]), np.array([5]))
    found = spread(index(Contacts(*columns), np.zeros(6, np.int64)), starts, searches=1, timed=False)
    expected, level, edge = {0: 0}, 0, {0}
    while edge:
        level += 1
        edge = {head for tail, head, _, _ in raw if tail in edge} - set(expected)
        expected |= dict.fromkeys(edge, level)
    assert found.hops.tolist() == [expected.get(n, -1) for n in range(6)]


def test_moments_may_lie_far_apart() -> None:
    """Numbers of the record are 64 bit; what they are does not matter, only their order."""
    big = 2**62
    contacts = Contacts(np.array([0, 1]), np.array([1, 2]), np.array([-big, big]), np.zeros(2, np.int64))
    starts = Starts(np.array([0]), np.array([0]), np.array([-big - 1]))
    found = spread(index(contacts, np.zeros(3, np.int64)), starts, searches=1)
    assert found.arrival.tolist() == [-big - 1, -big, big]


# -- on cases ---------------------------------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(many)
def test_distances_equal_brute_force(specs: list[Spec]) -> None:
    with judged(*specs) as case:
        found = by_trace(distances(case), *WALKED)
        for n, spec in enumerate(specs):
            expected = brute.distances(spec)
            for (trace, recipient), row in found.items():
                if trace == number(case, n):
                    assert row == expected.get(recipient, (None,) * 6), (spec, recipient)


@settings(max_examples=10, deadline=None)
@given(many)
def test_each_distance_is_at_least_the_one_before(specs: list[Spec]) -> None:
    with judged(*specs) as case:
        frame = distances(case)
        for scope in ("", "_any"):
            for row in frame.select(f"realised{scope}", f"temporal{scope}", f"carrying{scope}").iter_rows():
                endless = [99 if hops is None else hops for hops in row]
                assert 1 <= endless[0] <= endless[1] <= endless[2]
        for kind in WALKED[:3]:
            assert all((a or 99) >= (b or 99) for a, b in frame.select(kind, f"{kind}_any").iter_rows())
        assert frame.equals(distances(case))


@settings(max_examples=8, deadline=None)
@given(many)
def test_carrying_ways_are_temporal_ways_that_hold_the_value(specs: list[Spec]) -> None:
    with judged(*specs) as case:
        frame = distances(case).filter(pl.col("carrying_any").is_not_null())
        for trace, value, recipient, hops in frame.select("trace", "value", "recipient", "carrying_any").iter_rows():
            steps = route(case, trace, value, recipient)
            seqs = [case.one("SELECT seq FROM events WHERE event = ?", [s.event]) for s in steps]
            assert len(steps) == hops
            assert seqs == sorted(set(seqs))
            assert all(a.recipient == b.sender for a, b in pairwise(steps))
            held = "SELECT count(*) FROM verdicts WHERE event = ? AND value = ?"
            assert all(case.one(held, [s.event, value]) for s in steps)


@settings(max_examples=10, deadline=None)
@given(many, st.sampled_from(PLACES))
def test_the_frontier_stops_everything_and_nothing_of_it_is_idle(specs: list[Spec], place: Place) -> None:
    with judged(*specs) as case:
        found = {s.trace: {str(g) for g in s.guards} for s in frontier(case, place)}
        for n, spec in enumerate(specs):
            guards = found.get(number(case, n), set())
            assert not brute.guarded(spec, guards, place, sparing=True)
            assert all(brute.guarded(spec, guards - {g}, place, sparing=True) for g in guards)
            if place == "edge":
                edges = [(a, b) for a, b in (g.split(" -> ") for g in guards)]
                assert what_if(case, edges=edges, traces=[number(case, n)]).after == 0


@settings(max_examples=10, deadline=None)
@given(many, st.sampled_from(PLACES))
def test_cuts_stop_everything_and_none_is_smaller(specs: list[Spec], place: Place) -> None:
    with judged(*specs) as case:
        found = {s.trace: s for s in cuts(case, place)}
        for n, spec in enumerate(specs):
            cut = found.get(number(case, n))
            guards = {str(g) for g in cut.guards} if cut else set()
            assert not brute.guarded(spec, guards, place, sparing=False)
            assert len(guards) == brute.fewest(spec, place)
            assert cut is None or cut.exact


@settings(max_examples=8, deadline=None)
@given(many, st.sampled_from(["a", "b", "c", "t", "m"]))
def test_what_if_recounts_as_brute_force_does(specs: list[Spec], name: str) -> None:
    with judged(*specs) as case:
        answer = what_if(case, actors=[name])
        left = [brute.leaks(spec, lambda hop: name in hop[2:4]) for spec in specs]
        assert answer.before == sum(len(brute.leaks(spec)) for spec in specs)
        assert answer.after == sum(map(len, left))
        assert answer.after == answer.before - answer.outcomes["stopped"]


@settings(max_examples=8, deadline=None)
@given(many, st.sampled_from(PLACES))
def test_the_greedy_curve_ends_at_nothing(specs: list[Spec], place: Place) -> None:
    with judged(*specs) as case:
        curve = greedy(case, place, limit=50)
        assert curve.exposures == sum(len(brute.leaks(spec)) for spec in specs)
        assert sum(s.stopped for s in curve.stages) == curve.exposures
        assert not curve.stages or curve.stages[-1].remaining == 0
        assert len({str(s.guard) for s in curve.stages}) == len(curve.stages)


@settings(max_examples=8, deadline=None)
@given(graphs(), st.integers(0, 7))
def test_an_unrelated_event_changes_nothing(spec: Spec, at: int) -> None:
    spec = {**spec, "topology": "P2P-4"}
    more = {**spec, "events": [*spec["events"]]}
    more["events"].insert(at, {"channel": "C2", "from": "p", "to": "q"})
    answers = []
    for one in (spec, more):
        with judged(one) as case:
            found = by_trace(distances(case), "origin", "nominal", *WALKED)
            ours = {key: row for key, row in found.items() if key[1] not in "pq"}
            guards = [str(g) for s in frontier(case) for g in s.guards]
            ways = find_ways(case)
            shapes = [(p.label, p.exposures) for p in patterns(case, ways, limit=None)]
            answers.append((ours, guards, shapes, what_if(case, channels=["C2"]).outcomes))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("by", ["name", "role", "position"])
@settings(max_examples=5, deadline=None)
@given(many)
def test_patterns_count_every_exposure_once(by: Any, specs: list[Spec]) -> None:
    with judged(*specs) as case:
        ways = find_ways(case)
        found = patterns(case, ways, by=by, unauthorised=False, limit=None)
        assert sum(p.exposures for p in found) == len(ways.table)
        for pattern in found:
            assert len(pattern.stations) == len(pattern.steps)
