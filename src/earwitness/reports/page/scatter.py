"""Two shares against each other, each with its interval: conditions as numbered points, hand-written SVG.

Points that lie on each other share a label; a label stands where it covers no other label and no point.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from earwitness.reports.page.markup import Html, css, el, join, own

Box = tuple[float, float, float, float]
SIZE, LEFT, TOP, RIGHT, BOTTOM = 260, 46, 14, 30, 40
TICKS = (0, 25, 50, 75, 100)
# Dots nearer than this are one to the eye.
_NEAR = 6.0
_LETTER, _LINE = 6.4, 12.0
_FAR = (7, 13, 20, 28)


class Point(NamedTuple):
    """A condition: its number and name, and its two figures (`rate`, `low`, `high`)."""

    number: int
    name: Html
    x: dict[str, Any]
    y: dict[str, Any]
    chosen: bool = False


def scatter(points: Sequence[Point], title: Html, across: str, up: str) -> Html:
    """The drawing; `across` and `up` name the axes."""
    width, height = LEFT + SIZE + RIGHT, TOP + SIZE + BOTTOM
    drawn = [
        _axes(across, up),
        *(_whiskers(p) for p in points),
        *(_dot(p) for p in sorted(points, key=lambda p: p.chosen)),
        _labels(points),
    ]
    view = css(f"0 0 {width} {height}")
    return el("svg", el("title", title), *drawn, viewBox=view, class_=css("scatter"), role=css("img"))


def _x(share: float) -> float:
    return LEFT + SIZE * share


def _y(share: float) -> float:
    return TOP + SIZE * (1 - share)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    return el("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=css(kind))


def _text(text: Html, x: float, y: float, kind: str, anchor: str = "middle", **more: Html) -> Html:
    return el("text", text, x=x, y=y, text_anchor=css(anchor), class_=css(kind), **more)


def _axes(across: str, up: str) -> Html:
    end, middle = SIZE + TOP, TOP + SIZE / 2
    parts = [_line(_x(t / 100), TOP, _x(t / 100), end, "grid") for t in TICKS]
    parts += [_line(LEFT, _y(t / 100), LEFT + SIZE, _y(t / 100), "grid") for t in TICKS]
    parts += [_text(own(t), _x(t / 100), end + 14, "tick") for t in TICKS]
    parts += [_text(own(t), LEFT - 7, _y(t / 100) + 3.5, "tick", "end") for t in TICKS]
    parts.append(_text(own(across), LEFT + SIZE / 2, end + 31, "axis"))
    parts.append(_text(own(up), 12, middle, "axis", transform=css(f"rotate(-90 12 {middle})")))
    return join(parts)


def _whiskers(point: Point) -> Html:
    x, y = _x(point.x["rate"]), _y(point.y["rate"])
    across = _line(_x(point.x["low"]), y, _x(point.x["high"]), y, "thin")
    return join([across, _line(x, _y(point.y["low"]), x, _y(point.y["high"]), "thin")])


def _dot(point: Point) -> Html:
    kind, told = "dot chosen" if point.chosen else "dot", el("title", point.name)
    return el("circle", told, cx=_x(point.x["rate"]), cy=_y(point.y["rate"]), r=4.0, class_=css(kind))


# -- labels


def _labels(points: Sequence[Point]) -> Html:
    """Greedy: each takes the nearest place that is free."""
    heaps = _heaps(points)
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y, _ in (_at(p) for p in points)]
    drawn = []
    for heap in heaps:
        x, y, chosen = _at(heap[0])[0], _at(heap[0])[1], any(p.chosen for p in heap)
        text = spans(p.number for p in heap)
        box = _free(x, y, len(text) * _LETTER, taken)
        taken.append(box)
        if abs((box[0] + box[2]) / 2 - x) > 30 or abs((box[1] + box[3]) / 2 - y) > 20:
            drawn.append(_line(x, y, min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3]), "lead"))
        kind = "mark chosen" if chosen else "mark"
        drawn.append(_text(own(text), (box[0] + box[2]) / 2, box[3] - 3, kind))
    return join(drawn)


def _at(point: Point) -> tuple[float, float, bool]:
    return _x(point.x["rate"]), _y(point.y["rate"]), point.chosen


def _heaps(points: Sequence[Point]) -> list[list[Point]]:
    """Points that cannot be told apart, each with the first of its heap."""
    heaps: list[list[Point]] = []
    for point in points:
        x, y, _ = _at(point)
        near = (h for h in heaps if abs(_at(h[0])[0] - x) < _NEAR and abs(_at(h[0])[1] - y) < _NEAR)
        heap = next(near, None)
        if heap is None:
            heaps.append([point])
        else:
            heap.append(point)
    return heaps


def _free(x: float, y: float, width: float, taken: Sequence[Box]) -> Box:
    """The first box beside a point that crosses none that is taken and stays inside the drawing."""
    for far in _FAR:
        for box in _beside(x, y, width, far):
            within = box[0] >= LEFT - 2 and box[2] <= LEFT + SIZE + RIGHT and box[1] >= 0 and box[3] <= TOP + SIZE
            if within and not any(_cross(box, other) for other in taken):
                return box
    return x + 7, y - _LINE / 2, x + 7 + width, y + _LINE / 2


def _beside(x: float, y: float, width: float, far: float) -> Iterable[Box]:
    """At the corners first, where no interval is drawn, then to the right, to the left, above, below."""
    for dx, dy in ((1, -1), (1, 1), (-1, -1), (-1, 1), (1, 0), (-1, 0), (0, -1), (0, 1)):
        # A corner clears the point by its side alone, so it may stand higher.
        cx, cy = x + dx * (far - 1 + width / 2), y + dy * (far + (2 if dx else _LINE / 2 - 1))
        yield cx - width / 2, cy - _LINE / 2, cx + width / 2, cy + _LINE / 2


def _cross(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def spans(numbers: Iterable[int]) -> str:
    """`1, 4–6`: numbers in order, three or more in a row as a span."""
    told: list[list[int]] = []
    for number in numbers:
        if told and told[-1][-1] == number - 1:
            told[-1].append(number)
        else:
            told.append([number])
    return ", ".join(f"{r[0]}–{r[-1]}" if len(r) > 2 else ", ".join(map(str, r)) for r in told)
