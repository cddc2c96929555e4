"""Graphs worked out by hand, against distances, ways, relays, guards, what-if and topology."""

from collections.abc import Iterator

import pytest
from worked import PLACES, Spec, judged, keyed, line_of, names, read

from earwitness.audit.relays import relay_operations
from earwitness.graph.guards import Place, cuts, frontier
from earwitness.graph.hops import COUNTS, distances, route
from earwitness.graph.topology import topology
from earwitness.graph.ways import find_ways
from earwitness.graph.whatif import what_if
from earwitness.schema.case import Case


@pytest.fixture(scope="module", params=names())
def worked(request: pytest.FixtureRequest) -> Iterator[tuple[Case, Spec]]:
    spec = read(request.param)
    with judged(spec) as case:
        yield case, spec


def test_there_are_enough_of_them() -> None:
    assert len(names()) >= 16


def test_distances(worked: tuple[Case, Spec]) -> None:
    case, spec = worked
    frame = distances(case)
    found = keyed(case, spec, frame.select("value", "recipient", *COUNTS).rows())
    expected = {name: tuple(row) for name, row in spec["expected"]["distances"].items()}
    assert found == expected
    for column, key in (("carrying_any_weakest", "weakest"), ("ordering", "ordering")):
        words = keyed(case, spec, frame.select("value", "recipient", column).rows())
        for name, word in spec["expected"].get(key, {}).items():
            assert words[name] == (word,)


def test_routes(worked: tuple[Case, Spec]) -> None:
    case, spec = worked
    for name, line in spec["expected"].get("routes", {}).items():
        steps = route(case, 0, 0, name)
        assert " -> ".join([str(steps[0].sender), *(s.recipient for s in steps)]) == line
        assert all(s.line and s.source.endswith("traces.jsonl") for s in steps)


def test_ways(worked: tuple[Case, Spec]) -> None:
    case, spec = worked
    ways = find_ways(case)
    rows = [(v, r, line_of(ways, x)) for x, v, r in ways.table.select("exposure", "value", "recipient").rows()]
    assert {name: way for name, (way,) in keyed(case, spec, rows).items()} == spec["expected"]["ways"]


def test_exposures(worked: tuple[Case, Spec]) -> None:
    case, spec = worked
    rows = case.rows("SELECT value, recipient FROM exposures WHERE authorised IS FALSE")
    assert sorted(keyed(case, spec, rows)) == spec["expected"]["exposed"]


def test_topology(worked: tuple[Case, Spec]) -> None:
    case, spec = worked
    (row,) = topology(case).to_dicts()
    assert row["class"] == spec["expected"]["class"]
    assert spec["expected"].get("depth", row["depth"]) == row["depth"]
    stated = "edges" if "topology_edges" in spec else "declared" if "topology" in spec else None
    assert row["basis"] == (stated or ("inferred" if row["size"] else None))


def test_relays(worked: tuple[Case, Spec]) -> None:
    case, spec = worked
    rows = relay_operations(case).select("value", "relay", "next", "outcome").rows()
    found = keyed(case, spec, [(v, f"{a} -> {b}", outcome) for v, a, b, outcome in rows])
    assert {name: outcome for name, (outcome,) in found.items()} == spec["expected"].get("relays", {})


@pytest.mark.parametrize("place", PLACES)
def test_guards(worked: tuple[Case, Spec], place: Place) -> None:
    case, spec = worked
    assert [str(g) for s in frontier(case, place) for g in s.guards] == spec["expected"]["guards"][place]


@pytest.mark.parametrize("place", PLACES)
def test_cuts(worked: tuple[Case, Spec], place: Place) -> None:
    case, spec = worked
    found = cuts(case, place)
    assert sum(len(s.guards) for s in found) == spec["expected"]["cuts"][place]
    assert all(s.exact for s in found)


def test_what_if(worked: tuple[Case, Spec]) -> None:
    case, spec = worked
    for asked in spec["expected"].get("what_if", []):
        edges = [(a, b) for a, b in asked.get("edges", [])]
        answer = what_if(case, edges=edges, actors=asked.get("actors", ()), channels=asked.get("channels", ()))
        found = keyed(case, spec, answer.table.select("value", "recipient", "outcome").rows())
        assert {name: outcome for name, (outcome,) in found.items()} == asked["outcome"]
        assert answer.before == len(spec["expected"]["exposed"])
        assert answer.after == answer.before - answer.outcomes["stopped"]
