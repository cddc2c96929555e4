"""Places for the actors of a flow: columns by hops from the disclosing agent, or a ring where all talk to all."""

import math
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from earwitness.reports.page.flowdata import Flow

BOX_W, BOX_H = 146, 40
GAP_Y = 34
NARROW, WIDE = 90, 180
PAGE = 960
MARGIN = 26
MESH_SHARE = 0.6

Point = tuple[float, float]


def place(flow: Flow) -> dict[str, Point]:
    """Centre of every actor."""
    return _ring(flow) if is_mesh(flow) else _columns(flow)


def frame(spots: Iterable[Point], around: Iterable[Point]) -> tuple[float, float, float, float]:
    """The box that holds all actors and all arrows: left, top, width, height."""
    edges = [(x + dx * BOX_W / 2, y + dy * BOX_H / 2) for x, y in spots for dx, dy in ((-1, -1), (1, 1))]
    xs, ys = zip(*edges, *around, strict=True)
    left, top = min(xs) - MARGIN, min(ys) - MARGIN
    return left, top, max(xs) + MARGIN - left, max(ys) + MARGIN - top


def room(flow: Flow) -> float:
    """Width between two columns: as much as the page gives."""
    columns = len(_layers(flow))
    if columns < 2 or is_mesh(flow):
        return WIDE
    return min(WIDE, max(NARROW, (PAGE - 2 * MARGIN - BOX_W) / (columns - 1) - BOX_W))


def is_mesh(flow: Flow) -> bool:
    """Whether most pairs of agents talk to each other."""
    agents = {name for name, node in flow.nodes.items() if node.kind == "agent"}
    pairs = {frozenset((e.sender, e.recipient)) for e in flow.edges if {e.sender, e.recipient} <= agents}
    possible = len(agents) * (len(agents) - 1) / 2
    return len(agents) >= 4 and len(pairs) >= MESH_SHARE * possible


def _neighbours(flow: Flow) -> dict[str, set[str]]:
    near: dict[str, set[str]] = defaultdict(set)
    for edge in flow.edges:
        near[edge.sender].add(edge.recipient)
        near[edge.recipient].add(edge.sender)
    return near


def _layers(flow: Flow) -> list[list[str]]:
    """Actors by undirected hops from the disclosing agent; parts without a connection to it stand last."""
    near, left = _neighbours(flow), dict.fromkeys(flow.nodes)
    start = flow.origin if flow.origin in flow.nodes else next(iter(flow.nodes))
    layers: list[list[str]] = []
    level: list[str] = [start]
    while left:
        layers.append(level)
        for name in level:
            left.pop(name, None)
        reached = dict.fromkeys(n for name in level for n in sorted(near[name]) if n in left)
        level = list(reached) or list(left)[:1]
    return layers


def _columns(flow: Flow) -> dict[str, Point]:
    near, spots, gap = _neighbours(flow), dict[str, Point](), room(flow)
    for depth, level in enumerate(_layers(flow)):
        order = sorted(level, key=lambda name: _wish(name, near, spots))
        for row, name in enumerate(order):
            y = (row - (len(order) - 1) / 2) * (BOX_H + GAP_Y)
            spots[name] = (depth * (BOX_W + gap), y)
    return spots


def _wish(name: str, near: dict[str, set[str]], spots: dict[str, Point]) -> float:
    """Beside whom it talks to, as far as they have a place."""
    placed = [spots[n][1] for n in near[name] if n in spots]
    return sum(placed) / len(placed) if placed else 0.0


def _ring(flow: Flow) -> dict[str, Point]:
    """Agents on an ellipse, the others beside it, each on the side of the agent it talks to."""
    agents = [n for level in _layers(flow) for n in level if flow.nodes[n].kind == "agent"]
    reach, near = 110.0 + 26 * len(agents), _neighbours(flow)
    turns = [2 * math.pi * i / len(agents) - math.pi / 2 for i in range(len(agents))]
    spots = {n: (reach * math.cos(a), 0.8 * reach * math.sin(a)) for n, a in zip(agents, turns, strict=True)}
    others = [n for n in flow.nodes if n not in spots]
    wished = {n: next((spots[a] for a in agents if a in near[n]), (0.0, 0.0)) for n in others}
    right = sorted(others, key=lambda n: (-wished[n][0], n))[: (len(others) + 1) // 2]
    outside = reach + BOX_W + 60
    for x, side in ((outside, right), (-outside, [n for n in others if n not in right])):
        for row, name in enumerate(sorted(side, key=lambda n: (wished[n][1], n))):
            spots[name] = (x, (row - (len(side) - 1) / 2) * (BOX_H + 2 * GAP_Y))
    return spots


class Curve:
    """A quadratic curve from one box to another, cut at their borders."""

    def __init__(self, start: Point, stop: Point, bulge: float) -> None:
        (x1, y1), (x2, y2) = start, stop
        span = math.hypot(x2 - x1, y2 - y1) or 1.0
        away = bulge * span
        self._p = (start, ((x1 + x2) / 2 - (y2 - y1) / span * away, (y1 + y2) / 2 + (x2 - x1) / span * away), stop)
        self._cut(start, stop)

    def _cut(self, start: Point, stop: Point) -> None:
        steps = [i / 100 for i in range(101)]
        self.first = next((t for t in steps if not inside(self._raw(t), start, 2)), 0.0)
        self.last = next((t for t in reversed(steps) if not inside(self._raw(t), stop, 7)), 1.0)

    def _raw(self, t: float) -> Point:
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
        (x0, y0), (x1, y1), (x2, y2) = self._p
        return a * x0 + b * x1 + c * x2, a * y0 + b * y1 + c * y2

    def at(self, share: float) -> Point:
        """The point a share of the visible way along."""
        return self._raw(self.first + share * (self.last - self.first))

    def points(self, n: int = 16) -> list[Point]:
        """The visible way as points."""
        return [self.at(i / n) for i in range(n + 1)]

    def head(self, size: float = 8.0) -> list[Point]:
        """The corners of the arrow head."""
        (x0, y0), (x1, y1) = list(pairwise(self.points()))[-1]
        angle = math.atan2(y1 - y0, x1 - x0)
        tip = (x1 + size * 0.7 * math.cos(angle), y1 + size * 0.7 * math.sin(angle))
        wings = [(x1 - size * math.cos(angle + s), y1 - size * math.sin(angle + s)) for s in (0.42, -0.42)]
        return [tip, *wings]


def inside(point: Point, centre: Point, room: float = 0.0) -> bool:
    """Whether a point lies in the box of an actor, or nearer than `room` to it."""
    return abs(point[0] - centre[0]) <= BOX_W / 2 + room and abs(point[1] - centre[1]) <= BOX_H / 2 + room
