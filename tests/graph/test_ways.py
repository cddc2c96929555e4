"""Relayers, patterns and paths looked up, the stored distances, positions from a baseline, labels of topologies."""

from itertools import pairwise

import pytest
from worked import Spec, judged, read

from earwitness.audit.measure import measure
from earwitness.audit.pipeline import Request, audit
from earwitness.audit.relays import Rate, executions, exposure_by_route, exposure_curve, exposures_by_route
from earwitness.graph.baseline import introduce_from_baseline
from earwitness.graph.exposures import find_exposures
from earwitness.graph.guards import frontier, greedy, guard_table
from earwitness.graph.hops import distances, find_distances
from earwitness.graph.order import order_quality
from earwitness.graph.paths import find_paths, through
from earwitness.graph.shapes import read_label
from earwitness.graph.topology import topology
from earwitness.graph.ways import find_ways, patterns, relayers
from earwitness.graph.whatif import what_if
from earwitness.schema.case import Case

NAMES = ("chain", "memory_relay", "tool_relay", "upstream_cut", "unknown_sender")


def all_of_them() -> list[Spec]:
    return [read(name) for name in NAMES]


def test_relayers_are_counted_over_all_traces() -> None:
    """By hand: `a`, `b`, `hub` and `worker` may know, the others may not."""
    specs = [{**spec, "allow": ["a", "b", "hub", "worker"]} for spec in all_of_them()]
    with judged(*specs) as case:
        rows = {row["actor"]: row for row in relayers(find_ways(case)).to_dicts()}
    # chain: a -> b -> c -> d. b stands on the ways of c and d, c on that of d; the fifth trace has ? -> b -> c.
    assert (rows["b"]["relayed"], rows["b"]["taught"], rows["b"]["traces"]) == (3, 2, 2)
    assert (rows["c"]["relayed"], rows["c"]["taught"]) == (1, 1)
    assert (rows["worker"]["relayed"], rows["notes"]["relayed"]) == (2, 1)
    assert rows["notes"]["kind"] == "memory"
    assert rows["hub"]["relayed"] == 3
    # a begins the ways of c, d and of x, y, z.
    assert (rows["a"]["relayed"], rows["a"]["sourced"]) == (0, 5)
    assert rows["planner"]["sourced"] == 2
    assert rows["db"]["sourced"] == 2
    assert rows[None]["sourced"] == 1


def test_patterns_leave_the_end_open() -> None:
    with judged(read("upstream_cut")) as case:
        (found,) = patterns(case, find_ways(case))
        assert (found.label, found.exposures, found.traces, found.values) == ("a -> hub -> *", 3, 1, 1)
        assert [(s.sender, s.recipient, s.line) for s in found.steps] == [("a", "hub", 3), ("hub", "x", 4)]
        assert [p.label for p in patterns(case, find_ways(case), by="position")] == ["agent -> agent -> *"]
        assert [p.label for p in patterns(case, find_ways(case), unauthorised=False)] == ["a -> hub -> *", "a -> *"]


def test_a_long_way_is_shortened() -> None:
    names = [f"p{n}" for n in range(12)]
    events = [{"channel": "C2", "from": a, "to": b, "holds": "account"} for a, b in pairwise(names)]
    with judged({"given": {"p0": "account"}, "allow": names[:-1], "events": events}) as case:
        (found,) = patterns(case, find_ways(case))
    assert len(found.stations) == 11
    assert found.label == "p0 -> p1 -> p2 -> p3 -> ... 4 more ... -> p8 -> p9 -> p10 -> *"


def test_paths_are_found_by_every_condition() -> None:
    with judged(*all_of_them()) as case:
        ways = find_ways(case)
        traces = dict(case.rows("SELECT trace_id, trace FROM traces"))
        number = {name: traces[f"t{n}"] for n, name in enumerate(NAMES)}
        bad = case.one("SELECT count(*) FROM exposures WHERE authorised IS FALSE")
        assert len(find_paths(case, ways, limit=None)) == bad
        assert len(find_paths(case, ways, unauthorised=False, limit=None)) == case.count("exposures")
        (longest, *_) = find_paths(case, ways)
        assert (longest.recipient, longest.hops, longest.source, longest.held) == ("d", 3, "a", "initial")
        memory = find_paths(case, ways, trace=number["memory_relay"])
        assert {p.recipient for p in memory} == {"notes", "reader", "worker"}
        (reader,) = find_paths(case, ways, recipient="reader")
        assert (reader.source, reader.held, reader.weakest) == ("db", "tool", "declared")
        assert {p.recipient for p in find_paths(case, ways, source="hub")} == {"x", "y", "z"}
        assert not find_paths(case, ways, values=[99])
        (writer,) = find_paths(case, ways, recipient="writer")
        assert writer.weakest == "consumed"
        (unnamed,) = find_paths(case, ways, trace=number["unknown_sender"], recipient="c")
        assert (unnamed.source, unnamed.held) == (None, "unknown")
        (pattern,) = (p for p in patterns(case, ways) if p.label == "a -> hub -> *")
        assert {p.recipient for p in find_paths(case, ways, pattern=pattern)} == {"hub", "x", "y", "z"} - {"hub"}
        assert through(ways, "notes").sum() == 1


def test_distances_are_stored_until_the_next_audit() -> None:
    with judged(*all_of_them()) as case:
        assert case.count("distances") == 0
        n = find_distances(case)
        assert case.frame("SELECT * FROM distances ORDER BY trace, value, recipient").equals(distances(case))
        case.clear("distances")
        assert find_distances(case) == 0
        audit(case, Request())
        assert find_distances(case) == 0
        assert n > 10
        stages = [s for (s,) in case.rows("SELECT stage FROM runs ORDER BY run")]
        assert stages.count("distances") == 2


def test_distances_of_some_traces_are_those_of_all() -> None:
    with judged(*all_of_them()) as case:
        whole = distances(case)
        parts = [distances(case, [trace]) for (trace,) in case.rows("SELECT trace FROM traces ORDER BY trace")]
        assert sum(map(len, parts)) == len(whole)
        for part in parts:
            assert part.equals(whole.filter(whole["trace"].is_in(part["trace"].to_list())))


def test_a_case_without_anything_has_empty_answers() -> None:
    spec: Spec = {"allow": [], "events": [{"channel": "C6", "from": "a", "to": []}]}
    with judged(spec) as case:
        assert distances(case).is_empty()
        assert find_ways(case).table.is_empty()
        assert not patterns(case, find_ways(case))
        assert relayers(find_ways(case)).is_empty()
        assert not frontier(case)
        assert guard_table(frontier(case)).is_empty()
        assert greedy(case).exposures == 0
        assert what_if(case).before == 0
        assert topology(case)["class"].to_list() == ["none"]


def test_order_says_what_contradicts_it() -> None:
    specs = [read(name) for name in ("clock_skew", "missing_times", "out_of_order")]
    same = {"allow": [], "events": [{"channel": "C2", "from": "a", "to": "b", "seq": 1} for _ in range(2)]}
    with judged(*specs, same) as case:
        rows = {row["trace_id"]: row for row in order_quality(case).to_dicts()}
    assert (rows["t0"]["backwards"], rows["t0"]["skew"], rows["t0"]["untimed"]) == (1, 600, 0)
    assert (rows["t1"]["backwards"], rows["t1"]["untimed"], rows["t1"]["events"]) == (0, 1, 2)
    assert (rows["t2"]["backwards"], rows["t2"]["untimed"], rows["t2"]["beside"]) == (0, 0, 0)
    assert rows["t3"]["beside"] == 2


# -- relays -----------------------------------------------------------------------------------------------------------


def test_rates_have_denominators() -> None:
    with judged(*all_of_them(), read("in_time_without_the_value")) as case:
        # Distances 1: b, hub of chain and upstream_cut, boss, search is no agent; b of the last.
        near, far, *rest = exposure_curve(case, distances(case))
        assert (near.hops, far.hops) == (1, 2)
        assert (near.learned.k, near.learned.n) == (3, 4)
        assert (far.learned.k, far.learned.n) == (5, 6)
        assert [(d.hops, d.state) for d in rest] == [(3, "reached"), (None, "unreachable"), (None, "undefined")]
        assert rest[-1].learned == Rate(2, 2)
        assert "5 of 6: 83.3 % [" in str(far.learned)
        assert Rate(0, 0).rate is None
        assert str(Rate(0, 0)) == "0 of 0"


@pytest.mark.parametrize("by", [(), ("topology",)])
def test_executions_by_route_agree_with_the_measures(by: tuple[str, ...]) -> None:
    specs = [{**read(name), "topology": "Hier-4"} for name in ("chain", "star", "hierarchy", "unknown_sender")]
    with judged(*specs) as case:
        case.execute("UPDATE parties SET position = 'introduced' WHERE kind = 'agent' AND actor <> 'b'")
        find_exposures(case)
        measure(case)
        found = {cell[-1]: (rate.k, rate.n) for cell, rate in exposure_by_route(case, by).items()}
        assert found == measured(case, "route_exposure")
        assert len(found) == 3
        exposures = {route: (rate.k, rate.n) for route, rate in exposures_by_route(case).items()}
        assert exposures == measured(case, "exposure_route")
        routes = executions(case).group_by("route").len().rows()
        assert {route: (n, 4) for route, n in routes} == measured(case, "route")


def measured(case: Case, name: str) -> dict[str, tuple[int, int]]:
    rows = case.rows("SELECT json_extract_string(grp, '$.route'), k, n FROM measures WHERE name = ?", [name])
    return {route: (k, n) for route, k, n in rows}


# -- positions and labels ---------------------------------------------------------------------------------------------


def test_a_baseline_says_who_was_introduced() -> None:
    small = {**read("in_time_without_the_value"), "scenario": "s1"}
    grown = {**read("chain"), "scenario": "s1"}
    other = {**read("star"), "scenario": "s2"}
    with judged(small, grown, other) as case, judged(small) as base:
        first = [int(case.one("SELECT trace FROM traces WHERE trace_id = 't0'"))]
        placed = introduce_from_baseline(case, first)
        assert (placed.original, placed.introduced, placed.unknown_traces) == (6, 1, 1)
        query = "SELECT actor, position FROM actors JOIN traces USING (trace) WHERE trace_id = 't1'"
        positions = dict(case.rows(query))
        assert positions == {"a": "original", "b": "original", "c": "original", "d": "introduced"}
        case.execute("UPDATE actors SET position = 'unknown'")
        assert introduce_from_baseline(case, base) == placed
        case.execute("UPDATE actors SET position = 'unknown'")
        case.execute("UPDATE actors SET position = 'original' WHERE actor = 'd'")
        assert introduce_from_baseline(case, base).introduced == 0


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("CW-7", ("star", 7)),
        ("P2P-10", ("mesh", 10)),
        ("Hier-7", ("hierarchy", 7)),
        ("hub_and_spoke", ("star", None)),
        ("group", ("mesh", None)),
        ("Full Mesh 4", ("mesh", 4)),
        ("sequential", ("pipeline", None)),
        ("my own thing 3", (None, None)),
        ("CW-99999999", ("star", None)),
        ("", (None, None)),
        (None, (None, None)),
        ("\n-7", (None, None)),
    ],
)
def test_labels(label: str | None, expected: tuple[str | None, int | None]) -> None:
    assert read_label(label) == expected


def test_nominal_edges_beside_those_used() -> None:
    with judged(read("declared_edges"), read("declared_mesh"), {**read("star"), "topology": "CW-4"}) as case:
        listed, mesh, star = topology(case).sort("trace").to_dicts()
    assert (listed["nominal"], listed["used"], listed["extra"]) == (2, 0.5, 1)
    assert (mesh["nominal"], round(mesh["used"], 3), mesh["extra"], mesh["agrees"]) == (12, 0.167, 0, False)
    assert (star["hub"], star["nominal"], round(star["used"], 3), star["agrees"]) == ("hub", 6, 0.667, True)
    assert listed["declared_class"] == "pipeline"
