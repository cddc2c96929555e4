"""Graphs written for other programs: GraphML, DOT, JSON and BloodHound OpenGraph.

Names come from traces and are hostile until proven otherwise: nodes get ids of our own, names go into labels, control
characters are dropped, everything is quoted by the rules of its format, and a `rename` (such as a mask of protected
values) is applied to every string before it is written.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx as nx

Rename = Callable[[str], str]

# Forbidden in XML 1.0, and of no use anywhere.
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_EDGE_KINDS = {
    "C1": "Answered",
    "C2": "Messaged",
    "C3": "Called",
    "C4": "Returned",
    "C5": "Shared",
    "C6": "Logged",
    "C7": "Stored",
    "causal": "Caused",
    "temporal": "Preceded",
}


def _same(text: str) -> str:
    return text


def plain(graph: "nx.Graph", rename: Rename = _same) -> "nx.MultiDiGraph":
    """A copy that any format can hold: nodes `n0`, `n1`, ... with a `label`, attributes text, number or truth value."""
    import networkx as nx

    out = nx.MultiDiGraph(**_attributes(graph.graph, rename))
    names = {node: f"n{number}" for number, node in enumerate(graph.nodes)}
    for node, data in graph.nodes(data=True):
        out.add_node(names[node], **_attributes({"label": str(node), **data}, rename))
    for tail, head, data in graph.edges(data=True):
        out.add_edge(names[tail], names[head], **_attributes(data, rename))
    return out


def _attributes(data: dict[str, Any], rename: Rename) -> dict[str, Any]:
    return {key: _value(value, rename) for key, value in data.items() if value is not None}


def _value(value: Any, rename: Rename) -> Any:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return ", ".join(str(_value(item, rename)) for item in value)
    return _CONTROL.sub("", rename(value if isinstance(value, str) else str(value)))


def to_graphml(graph: "nx.Graph", rename: Rename = _same) -> str:
    """GraphML, for Gephi, yEd, Cytoscape or networkx."""
    import networkx as nx

    return "\n".join(nx.generate_graphml(plain(graph, rename))) + "\n"


def to_json(graph: "nx.Graph", rename: Rename = _same) -> str:
    """JSON: `graph`, `nodes` with `id`, `edges` with `source` and `target`. It can stand inside HTML as it is."""
    flat = plain(graph, rename)
    document = {
        "directed": True,
        "multigraph": True,
        "graph": flat.graph,
        "nodes": [{"id": node, **data} for node, data in flat.nodes(data=True)],
        "edges": [{"source": tail, "target": head, **data} for tail, head, data in flat.edges(data=True)],
    }
    return _json(document)


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026") + "\n"


def to_dot(graph: "nx.Graph", rename: Rename = _same) -> str:
    """DOT, for Graphviz."""
    flat = plain(graph, rename)
    lines = ["digraph {"]
    lines += [f"  {node} [{_pairs(data)}];" for node, data in flat.nodes(data=True)]
    for tail, head, data in flat.edges(data=True):
        lines.append(f"  {tail} -> {head} [{_pairs({'label': data.get('channel', data.get('kind', '')), **data})}];")
    return "\n".join([*lines, "}"]) + "\n"


def _pairs(data: dict[str, Any]) -> str:
    return ", ".join(f"{_quoted(key)}={_quoted(value)}" for key, value in data.items())


def _quoted(value: Any) -> str:
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\r", "").replace("\n", "\\n")
    return f'"{text}"'


def to_opengraph(graph: "nx.Graph", rename: Rename = _same) -> str:
    """BloodHound OpenGraph. It keeps one edge of a kind between two nodes, so those become one with a `count`."""
    flat = plain(graph, rename)
    prefix = f"earwitness-{flat.graph.get('trace', 0)}-"
    nodes = [_node(prefix + node, data) for node, data in flat.nodes(data=True)]
    bundles: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for tail, head, data in flat.edges(data=True):
        kind = _EDGE_KINDS.get(str(data.get("channel", data.get("kind"))), "Told")
        bundles.setdefault((tail, head, kind), []).append(data)
    edges = [_edge(prefix, *ends, bundle) for ends, bundle in bundles.items()]
    return _json({"metadata": {"source_kind": "Earwitness"}, "graph": {"nodes": nodes, "edges": edges}})


def _node(identifier: str, data: dict[str, Any]) -> dict[str, Any]:
    kind = str(data.get("kind", data.get("channel", "event"))).title().replace("_", "")
    name = re.sub("[^A-Za-z0-9]", "", kind) or "Party"
    properties = {"name": data["label"], **{k: v for k, v in data.items() if k != "label"}}
    return {"id": identifier, "kinds": [f"Earwitness{name}", "Earwitness"], "properties": properties}


def _edge(prefix: str, tail: str, head: str, kind: str, bundle: list[dict[str, Any]]) -> dict[str, Any]:
    properties = {**bundle[0], "count": len(bundle)}
    if any(data.get("verdict") == "sanitize" for data in bundle):
        properties["verdict"] = "sanitize"
    ends = {name: {"value": prefix + node, "match_by": "id"} for name, node in (("start", tail), ("end", head))}
    return {"kind": f"Earwitness{kind}", **ends, "properties": properties}


FORMATS: dict[str, Callable[["nx.Graph", Rename], str]] = {
    "graphml": to_graphml,
    "dot": to_dot,
    "json": to_json,
    "opengraph": to_opengraph,
}


def write_graph(graph: "nx.Graph", path: Path, name: str, rename: Rename = _same) -> None:
    """Write a graph in the format called `name`, one of FORMATS."""
    path.write_text(FORMATS[name](graph, rename), encoding="utf-8")
