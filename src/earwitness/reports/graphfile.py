"""A graph of one trace made ready to be written: values by name, and the place of every event."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from earwitness.graph.networks import execution_graph, flow_graph, value_graph
from earwitness.reports.printing import value
from earwitness.reports.shown import Shown

if TYPE_CHECKING:
    import networkx as nx

Kind = Literal["flow", "value", "execution"]


def graph_of(shown: Shown, trace: int, kind: Kind = "flow", values: Sequence[int] = ()) -> "nx.Graph":
    """A graph of a trace, its values named and its events cited.

    Actors are called as recorded: whoever writes the graph gives `shown.mask` to the writer.

    Args:
        shown: an audited case and what may be shown of it.
        trace: number of the trace.
        kind: `flow` (who sent to whom), `value` (only what carried one value), `execution` (events).
        values: numbers of the value, for `value`.
    """
    graph = _graph(shown, trace, kind, values)
    if kind == "execution":
        _cite(shown, list(graph.nodes(data=True)))
    else:
        _cite(shown, [(data["event"], data) for _, _, data in graph.edges(data=True)])
    graph.graph |= {"trace_id": shown.traces([trace])[trace]} | shown.stamp("graph")
    return graph


def _graph(shown: Shown, trace: int, kind: Kind, values: Sequence[int]) -> "nx.Graph":
    if kind == "execution":
        return execution_graph(shown.case, trace)
    if kind == "flow":
        return flow_graph(shown.case, trace)
    # The same text may be in a vault more than once: the one that was looked for in this trace.
    graphs = [value_graph(shown.case, trace, number) for number in values]
    return max(graphs, key=lambda graph: graph.number_of_edges())


def _cite(shown: Shown, rows: Sequence[tuple[int, dict[str, Any]]]) -> None:
    """Add places to events, and write values by their names."""
    places = shown.places((event, None) for event, _ in rows)
    names = shown.values(number for _, data in rows for number in data.get("values") or ())
    for event, data in rows:
        place = places[event, None]
        data |= {key: place[key] for key in ("time", "sha256", "line", "offset", "pointer")}
        # In JSON `source` is the node an edge begins at.
        data |= {"file": place["source"], "event_id": place["event"]}
        if "values" in data:
            data["values"] = [value(names[number]) for number in data["values"] or ()] or None
