"""The public graphs of a trace, and the set-wise distances and ways held against them."""

from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.rulesets import DEFAULT
from earwitness.graph.exposures import walk
from earwitness.graph.networks import execution_graph, flow_graph
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case

FOLDER = Path(__file__).parents[2] / "sample_traces" / "topologies"


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with Case() as case:
        Loader(case).load([FOLDER / "traces.jsonl"])
        audit(case, read_request(FOLDER / "policy.yaml", None, DEFAULT))
        yield case


def number(case: Case, trace_id: str) -> int:
    return int(case.one("SELECT trace FROM traces WHERE trace_id = ?", [trace_id]))


def test_execution_graph_holds_every_event_in_order(case: Case) -> None:
    for (trace,) in case.rows("SELECT trace FROM traces"):
        graph = execution_graph(case, trace)
        assert graph.number_of_nodes() == case.one("SELECT count(*) FROM events WHERE trace = ?", [trace])
        temporal = [(a, b) for a, b, kind in graph.edges(data="kind") if kind == "temporal"]
        assert all(graph.nodes[a]["seq"] < graph.nodes[b]["seq"] for a, b in temporal)
        assert nx.is_directed_acyclic_graph(graph)


def test_execution_graph_knows_causes(tmp_path: Path) -> None:
    lines = ['{"type":"event","trace":"t","id":"a","channel":"C2","content":"x","seq":0}']
    lines += ['{"type":"event","trace":"t","id":"b","channel":"C2","content":"y","seq":1,"parent":"a"}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    with Case() as case:
        Loader(case).load([tmp_path / "t.jsonl"])
        graph = execution_graph(case, 0)
    ids = nx.get_node_attributes(graph, "event_id")
    assert {(ids[a], ids[b], kind) for a, b, kind in graph.edges(data="kind")} == {("a", "b", "causal")}


def test_realised_distances_equal_those_of_networkx(case: Case) -> None:
    checked = 0
    rows = case.rows(
        "SELECT trace, origin, recipient, distance FROM exposures WHERE route IS NOT NULL AND origin IS NOT NULL"
    )
    for trace, origin, recipient, distance in rows:
        flow = flow_graph(case, trace)
        talk = nx.DiGraph([(a, b) for a, b, channel in flow.edges(data="channel") if channel == "C2"])
        reached = origin in talk and recipient in talk and nx.has_path(talk, origin, recipient)
        expected = nx.shortest_path_length(talk, origin, recipient) if reached else 0 if origin == recipient else None
        assert distance == expected, (trace, origin, recipient)
        checked += 1
    assert checked > 40


def test_ways_are_walks_of_the_flow_graph_that_carry_the_value(case: Case) -> None:
    for exposure, trace, value, carried in case.rows("SELECT exposure, trace, value, carried FROM exposures"):
        flow, steps = flow_graph(case, trace), walk(case, exposure)
        assert steps
        assert carried is None or carried == len(steps)
        for step in steps:
            if step.sender is not None:
                assert value in flow.edges[step.sender, step.recipient, step.event]["values"]
        order = [case.one("SELECT seq FROM events WHERE event = ?", [s.event]) for s in steps]
        assert order == sorted(order)


def test_flow_graph_tells_parties_and_verdicts(case: Case) -> None:
    graph = flow_graph(case, number(case, "hier7-1"))
    assert graph.nodes["payments"] == {"kind": "agent", "position": "introduced"}
    assert {v for *_, v in graph.edges(data="verdict")} >= {"sanitize", "allow", None}
