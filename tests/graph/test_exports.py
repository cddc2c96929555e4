"""Graphs in other formats: every name survives, however hostile, and breaks out of nothing."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest
from worked import Spec, judged, read

from earwitness.graph.exports import FORMATS, to_dot, to_graphml, to_json, to_opengraph, write_graph
from earwitness.graph.networks import execution_graph, flow_graph, value_graph
from earwitness.schema.case import Case

HOSTILE = '</data><x>"];\\\n-->]]>&amp; \u202egnp.exe'
SPEC: Spec = {
    "given": {"a": "account"},
    "allow": ["a"],
    "events": [
        {"channel": "C2", "from": "a", "to": HOSTILE, "holds": "account"},
        {"channel": "C2", "from": "a", "to": HOSTILE},
        {"channel": "C2", "from": HOSTILE, "to": "c", "holds": "account"},
    ],
}
CLEAN = HOSTILE.replace("\u202e", "")


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with judged(SPEC) as case:
        yield case


def test_graphml_is_read_back(case: Case) -> None:
    back = nx.read_graphml(io.BytesIO(to_graphml(flow_graph(case, 0)).encode()), force_multigraph=True)
    assert {data["label"] for _, data in back.nodes(data=True)} == {"a", "c", CLEAN}
    assert sorted(data["seq"] for *_, data in back.edges(data=True)) == [1, 2, 3]
    assert {data.get("verdict") for *_, data in back.edges(data=True)} == {"sanitize", None}


def test_json_can_stand_inside_a_page(case: Case) -> None:
    text = to_json(flow_graph(case, 0))
    assert not set("<>&") & set(text)
    document = json.loads(text)
    names = {node["id"]: node["label"] for node in document["nodes"]}
    edges = [(names[e["source"]], names[e["target"]]) for e in document["edges"]]
    assert sorted(edges) == sorted([("a", CLEAN), ("a", CLEAN), (CLEAN, "c")])


def test_dot_holds_one_statement_a_line(case: Case) -> None:
    for graph in (flow_graph(case, 0), execution_graph(case, 0)):
        lines = to_dot(graph).splitlines()
        quoted = r'"(?:[^"\\]|\\.)*"'
        pairs = rf"\[(?:{quoted}={quoted}(?:, )?)*\];"
        assert lines[0] == "digraph {"
        assert lines[-1] == "}"
        assert all(re.fullmatch(rf"  n\d+(?: -> n\d+)? {pairs}", line) for line in lines[1:-1])


def test_opengraph_has_ids_kinds_and_flat_properties(case: Case) -> None:
    document = json.loads(to_opengraph(flow_graph(case, 0)))["graph"]
    ids = {node["id"] for node in document["nodes"]}
    assert len(ids) == len(document["nodes"])
    for node in document["nodes"]:
        assert 1 <= len(node["kinds"]) <= 3
    for edge in document["edges"]:
        assert re.fullmatch("[A-Za-z0-9_]+", edge["kind"])
        assert {edge["start"]["value"], edge["end"]["value"]} <= ids
        assert edge["start"]["match_by"] == "id"
    for part in (*document["nodes"], *document["edges"]):
        assert all(isinstance(v, str | int | float | bool) for v in part["properties"].values())
    twice = [e for e in document["edges"] if e["properties"]["count"] == 2]
    assert [e["properties"]["verdict"] for e in twice] == ["sanitize"]


@pytest.mark.parametrize("name", FORMATS)
def test_every_string_is_renamed(case: Case, name: str, tmp_path: Path) -> None:
    for graph in (flow_graph(case, 0), execution_graph(case, 0)):
        write_graph(graph, tmp_path / "graph", name, lambda text: text.replace("gnp", "[masked]"))
        written = (tmp_path / "graph").read_text(encoding="utf-8")
        assert "gnp" not in written
        assert "[masked]" in written


def test_value_graph_holds_what_carried_the_value(case: Case) -> None:
    graph = value_graph(case, 0, 0)
    assert sorted((a, b) for a, b in graph.edges()) == sorted([("a", HOSTILE), (HOSTILE, "c")])
    with judged(read("two_values")) as other:
        (amount,) = (v for v, a in other.rows("SELECT value, attribute FROM vault") if a == "amount")
        assert set(value_graph(other, 0, amount).edges()) == {("b", "m"), ("m", "x")}
