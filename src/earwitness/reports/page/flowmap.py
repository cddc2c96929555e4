"""A flow as static SVG: actors as boxes, deliveries as arrows, what should not have happened in red and numbered."""

from collections.abc import Iterable
from typing import NamedTuple

from earwitness.reports.page.flowdata import Edge, Flow, Node
from earwitness.reports.page.layout import BOX_H, BOX_W, PAGE, Curve, Point, frame, inside, place, room
from earwitness.reports.page.markup import NOTHING, Html, View, css, el, join, own
from earwitness.reports.page.words import KINDS

BULGES = (0.1, -0.1, 0.2, -0.2, 0.32, -0.32, 0.45)
ALONG = (0.5, 0.4, 0.6, 0.32, 0.68, 0.25, 0.75, 0.2, 0.8)
LABEL_H, CHAR_W = 15, 6.4
# Beyond these only arrows that carry a value are labelled; names longer than the box lose their middle.
MOST_LABELS, LONGEST_NAME = 16, 16

Box = tuple[float, float, float, float]


class Label(NamedTuple):
    """A text beside an arrow: centre and width."""

    text: str
    x: float
    y: float
    width: float


def draw(view: View, flow: Flow, title: Html, numbers: dict[Edge, int]) -> Html:
    """The drawing of a flow; `numbers` are those of the table under it."""
    spots = place(flow)
    curves = _curves(flow, spots)
    labels = _labels(view, flow, spots, curves, numbers)
    arrows = [_arrow(edge, curves[edge]) for edge in sorted(flow.edges, key=lambda e: e.crossing)]
    boxes = [_box(view, node, spots[name], name == flow.origin) for name, node in flow.nodes.items()]
    texts = [_label(edge, label) for edge, label in labels.items()]
    left, top, width, height = frame(spots.values(), [p for curve in curves.values() for p in curve.points()])
    size = css(f"{left:.0f} {top:.0f} {width:.0f} {height:.0f}")
    drawn = el(
        "svg", el("title", title), *arrows, *boxes, *texts, viewBox=size, width=min(width, PAGE), role=css("img")
    )
    return el("div", drawn, class_=css("scroll map"), tabindex=0)


def _curves(flow: Flow, spots: dict[str, Point]) -> dict[Edge, Curve]:
    """Each arrow takes the gentlest bend that stays clear of other actors and of the arrows drawn before."""
    out: dict[Edge, Curve] = {}
    used: list[Point] = []
    for edge in flow.edges:
        ends = (edge.sender, edge.recipient)
        others = [p for name, p in spots.items() if name not in ends]
        tried = [Curve(spots[edge.sender], spots[edge.recipient], bulge) for bulge in BULGES]
        best = min(enumerate(tried), key=lambda it: _cost(it[1], others, used) + it[0])[1]
        out[edge] = best
        used += best.points()[3:-3]
    return out


def _cost(curve: Curve, others: Iterable[Point], used: list[Point]) -> float:
    points = curve.points()
    through = sum(inside(p, other, 4) for p in points for other in others)
    near = sum(abs(p[0] - q[0]) + abs(p[1] - q[1]) < 14 for p in points[3:-3] for q in used)
    return 40 * through + 3 * near


def _arrow(edge: Edge, curve: Curve) -> Html:
    kind = "crossing" if edge.crossing else "carries" if edge.carries else "plain"
    way = "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in curve.points(24))
    head = " ".join(f"{x:.1f},{y:.1f}" for x, y in curve.head())
    line = el("path", d=css(way), class_=css(f"edge {kind} {edge.channel}"))
    return join([line, el("polygon", points=css(head), class_=css(f"head {kind}"))])


def _labels(
    view: View, flow: Flow, spots: dict[str, Point], curves: dict[Edge, Curve], numbers: dict[Edge, int]
) -> dict[Edge, Label]:
    """Greedy: the labels that matter most choose their place first."""
    placed: dict[Edge, Label] = {}
    points = {edge: curve.points(40) for edge, curve in curves.items()}
    busy = len(flow.edges) > MOST_LABELS
    for edge in sorted((e for e in flow.edges if e.carries or not busy), key=lambda e: not e.crossing):
        text = _words(view, edge, numbers.get(edge), int((room(flow) - 48) / CHAR_W))
        tried = [label for share in ALONG for label in _beside(text, curves[edge], share)]
        lines = [p for other, along in points.items() if other != edge for p in along]
        boxes: list[Box] = [(x, y, BOX_W, BOX_H) for x, y in spots.values()]
        boxes += [(p.x, p.y, p.width, LABEL_H) for p in placed.values()]
        placed[edge] = min(tried, key=lambda label: _crowded(label, boxes, lines))
    return placed


def _beside(text: str, curve: Curve, share: float) -> list[Label]:
    """A label stands on or beside a steep arrow, and above or below a flat one, which would else be hidden by it."""
    x, y = curve.at(share)
    width = len(text) * CHAR_W + 8
    near = [p for p in curve.points(40) if abs(p[0] - x) <= width / 2]
    across, under = [p[0] for p in near], [p[1] for p in near]
    high = max(under, default=y) - min(under, default=y)
    if not near or high > min(2 * LABEL_H, max(across) - min(across)):
        aside = width / 2 + 4  # alone where the arrow is so short that a label on it would hide it
        beside = [Label(text, x - aside, y, width), Label(text, x + aside, y, width)]
        return beside if near and high <= 2 * LABEL_H else [Label(text, x, y, width), *beside]
    return [Label(text, x, min(under) - 10, width), Label(text, x, max(under) + 10, width)]


def _words(view: View, edge: Edge, number: int | None, longest: int) -> str:
    """`3 · C2 ssn +1` on a red arrow if there is room, the channel alone on the others."""
    if number is None:
        return edge.channel if edge.n == 1 else f"{edge.channel} ×{edge.n}"
    named = view.plain(edge.attributes[0])
    if len(named) > longest and longest < 12:
        return f"{number} · {edge.channel}"
    named = named if len(named) <= longest else named[: longest - 1] + "…"
    more = f" +{len(edge.attributes) - 1}" if len(edge.attributes) > 1 else ""
    return f"{number} · {edge.channel} {named}{more}"


def _crowded(label: Label, boxes: list[Box], lines: list[Point]) -> float:
    crossed = sum(abs(x - label.x) < label.width / 2 and abs(y - label.y) < LABEL_H / 2 for x, y in lines)
    return sum(_overlap(label, *box) for box in boxes) + 12 * crossed


def _overlap(label: Label, x: float, y: float, width: float, height: float) -> float:
    wide = (label.width + width) / 2 - abs(label.x - x)
    high = (LABEL_H + height) / 2 - abs(label.y - y)
    return wide * high if wide > 0 and high > 0 else 0.0


def _label(edge: Edge, label: Label) -> Html:
    kind = css("label crossing" if edge.crossing else "label")
    return el("text", own(label.text), x=label.x, y=label.y + 4, text_anchor=css("middle"), class_=kind)


def _box(view: View, node: Node, at: Point, holder: bool) -> Html:
    x, y = at[0] - BOX_W / 2, at[1] - BOX_H / 2
    below = f"{KINDS.get(node.kind, node.kind)}{_note(node, holder)}"
    name = el("text", own(_short(view, node.name)), x=at[0], y=at[1] - 2, text_anchor=css("middle"), class_=css("name"))
    kind = el("text", own(below), x=at[0], y=at[1] + 13, text_anchor=css("middle"), class_=css("kind"))
    shape = css(f"box {node.kind} {node.position}{' holder' if holder else ''}")
    corner = {"agent": 8, "user": 20}.get(node.kind, 1)
    box = el("rect", x=x, y=y, width=BOX_W, height=BOX_H, rx=corner, class_=shape)
    ring = _ring(x, y, corner) if node.position == "introduced" else NOTHING
    return el("g", el("title", view.text(node.name)), ring, box, _mark(node, x, y), name, kind)


def _short(view: View, name: str) -> str:
    shown = view.plain(name)
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 8]}…{shown[-7:]}"


def _note(node: Node, holder: bool) -> str:
    if holder:
        return " · disclosing"
    return " · added" if node.position == "introduced" else ""


def _ring(x: float, y: float, corner: int) -> Html:
    """A second outline: there only because the topology grew."""
    return el("rect", x=x - 4, y=y - 4, width=BOX_W + 8, height=BOX_H + 8, rx=corner + 4, class_=css("ring"))


def _mark(node: Node, x: float, y: float) -> Html:
    """Stores have a double edge, tools a notch, so that kinds differ without colour."""
    inset = {"memory": (6, BOX_W - 6), "artifact_store": (6,), "log": (6,), "tool": (BOX_W - 6,)}.get(node.kind, ())
    lines = [el("line", x1=x + at, x2=x + at, y1=y, y2=y + BOX_H, class_=css("inset")) for at in inset]
    return join(lines)
