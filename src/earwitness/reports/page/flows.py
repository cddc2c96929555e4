"""The section of flow maps: the most telling traces, each with the numbered disclosures as a table."""

from earwitness.reports.page.flowdata import Edge, Flow, telling_traces
from earwitness.reports.page.flowmap import draw
from earwitness.reports.page.markup import NOTHING, Html, View, css, el, fill, join, own, table


def flows(view: View, *, unruled: bool) -> Html:
    """The section, without its heading. Needs `crossing` of `evidence.Evidence`."""
    found = telling_traces(view.case, "unruled" if unruled else "sanitize")
    if not found:
        return el("p", own("No trace has a disclosure to draw."), class_=css("none"))
    told = (
        "One trace of every topology and arm, the one with the most recipients who {who}. Actors stand in columns by "
        "hops from the disclosing agent, or in a ring where most agents talk to each other. Red arrows are numbered "
        "as in the table below; blue ones carry a protected value to someone who may know it, grey ones carry none. "
        "A double outline marks an agent added by the topology."
    )
    who = own("learned something nobody ruled on" if unruled else "may not know what they learned")
    return join([el("p", fill(told, who=who)), *(_figure(view, flow, unruled) for flow in found)])


def _figure(view: View, flow: Flow, unruled: bool) -> Html:
    crossing = [e for e in flow.edges if e.crossing]
    numbers = {edge: i for i, edge in enumerate(crossing, 1)}
    title = join([own("Flow of "), view.text(flow.trace_id, 120)])
    caption = el("figcaption", el("h3", title), _about(view, flow))
    return el("figure", caption, draw(view, flow, title, numbers), _table(view, numbers, unruled), class_=css("flow"))


def _about(view: View, flow: Flow) -> Html:
    parts = [view.name(x, 60) for x in (flow.topology, flow.arm, flow.framework, flow.model) if x]
    parts.append(own(f"{len(flow.nodes)} actors" + (f", {flow.left_out} more left out" if flow.left_out else "")))
    return el("p", join(parts, " · "), class_=css("quiet"))


def _table(view: View, numbers: dict[Edge, int], unruled: bool) -> Html:
    rows = [
        [own(i), view.name(e.sender), view.name(e.recipient), own(e.channel), _attributes(view, e), own(e.first or "–")]
        for e, i in numbers.items()
    ]
    head = [own(t) for t in ("No.", "From", "To", "On", "Values", "First at event no.")]
    caption = "Deliveries nobody has ruled on, in order" if unruled else "Unauthorised deliveries, in order"
    return table(own(caption), head, rows, "deliveries") if rows else NOTHING


def _attributes(view: View, edge: Edge) -> Html:
    shown = join((view.text(a, 40) for a in edge.attributes[:8]), ", ")
    more = len(edge.attributes) - 8
    return join([shown, own(f" and {more} more")]) if more > 0 else shown
