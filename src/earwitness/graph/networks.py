"""The public graphs, as networkx: one trace at a time, on demand."""

from itertools import pairwise
from typing import TYPE_CHECKING

from earwitness.schema.case import Case

if TYPE_CHECKING:
    import networkx as nx


def execution_graph(case: Case, trace: int) -> "nx.DiGraph":
    """Events of a trace as nodes; `causal` edges from parent to child, `temporal` edges from each event to the next.

    Node attributes: channel, sender, seq, time. Edge attribute: kind.
    """
    import networkx as nx

    graph = nx.DiGraph(trace=trace, kind="execution")
    rows = case.rows(
        "SELECT event, event_id, parent_id, channel, sender, seq, time FROM events WHERE trace = ? ORDER BY seq, event",
        [trace],
    )
    by_id = {row[1]: row[0] for row in rows if row[1] is not None}
    for event, event_id, _, channel, sender, seq, time in rows:
        graph.add_node(event, event_id=event_id, channel=channel, sender=sender, seq=seq, time=time)
    graph.add_edges_from(((a[0], b[0]) for a, b in pairwise(rows)), kind="temporal")
    graph.add_edges_from(((by_id[row[2]], row[0]) for row in rows if row[2] in by_id), kind="causal")
    return graph


def flow_graph(case: Case, trace: int) -> "nx.MultiDiGraph":
    """Actors of a trace as nodes, deliveries as edges.

    Node attributes: kind, position. Edge attributes: event, seq, channel, grade, values (numbers of the
    protected values the content holds), verdict (sanitize, allow, unruled, or None without a value).
    """
    import networkx as nx

    graph = nx.MultiDiGraph(trace=trace, kind="flow")
    for actor, kind, position in case.rows("SELECT actor, kind, position FROM parties WHERE trace = ?", [trace]):
        graph.add_node(actor, kind=kind, position=position)
    rows = case.rows(_FLOW, [trace])
    for sender, recipient, event, seq, channel, grade, values, verdict in rows:
        graph.add_edge(
            sender,
            recipient,
            key=event,
            event=event,
            seq=seq,
            channel=channel,
            grade=grade,
            values=values,
            verdict=verdict,
        )
    return graph


def value_graph(case: Case, trace: int, value: int) -> "nx.MultiDiGraph":
    """The flow graph with nothing but the deliveries that carried one value, and the parties they joined."""
    import networkx as nx

    flow = flow_graph(case, trace)
    graph = nx.MultiDiGraph(trace=trace, kind="value", value=value)
    for sender, recipient, event, data in flow.edges(keys=True, data=True):
        if value in (data["values"] or ()):
            graph.add_node(sender, **flow.nodes[sender])
            graph.add_node(recipient, **flow.nodes[recipient])
            graph.add_edge(sender, recipient, key=event, **data)
    return graph


_FLOW = """
    SELECT f.sender, f.recipient, f.event, f.seq, f.channel, f.grade,
           list(DISTINCT v.value) FILTER (v.value IS NOT NULL) AS found,
           CASE WHEN bool_or(v.dynamic = 'sanitize') THEN 'sanitize' ELSE any_value(v.dynamic) END
    FROM flows f
    LEFT JOIN verdicts v ON v.event = f.event AND v.recipient = f.recipient AND v.standing = 'confirmed'
    WHERE f.trace = ? AND f.sender IS NOT NULL AND f.recipient IS NOT NULL
    GROUP BY ALL ORDER BY f.seq, f.event, f.recipient
"""
