"""Charts as hand-written SVG: no script, no inline style, readable in print. The numbers always stand beside them."""

from collections.abc import Sequence

from earwitness.reports.page.markup import NOTHING, Html, css, el, own

WIDTH, HEIGHT, PAD = 240, 20, 8
TICKS = (0, 25, 50, 75, 100)


def percent(share: float) -> Html:
    """A share as a percentage."""
    return own(f"{100 * share:.1f} %")


def count(number: int) -> Html:
    """A number with separators."""
    return own(f"{number:,}")


def interval(figure: dict[str, float]) -> Html:
    """The ends of an interval."""
    return own(f"{100 * figure['low']:.1f}–{100 * figure['high']:.1f}")


def ratio(figure: dict[str, int]) -> Html:
    """Counted and counted over."""
    return own(f"{figure['k']:,} / {figure['n']:,}")


def whisker(figure: dict[str, float], beside: dict[str, float] | None = None) -> Html:
    """Dot and whisker from 0 to 100 %; `beside`, if given, is drawn hollow under it."""
    marks = [_marks(figure, 7.0 if beside else 10.0, "dot")]
    if beside:
        marks.append(_marks(beside, 14.5, "hollow"))
    return _svg(_grid(0, HEIGHT), *marks, height=HEIGHT, hidden=True)


def axis() -> Html:
    """The scale of the whiskers, for the head of their column."""
    labels = [
        el("text", own(f"{t}"), x=_x(t / 100), y=12, text_anchor=css("middle"), class_=css("tick")) for t in TICKS
    ]
    return _svg(*labels, height=16, hidden=True)


def _x(share: float) -> float:
    return PAD + share * (WIDTH - 2 * PAD)


def _svg(*parts: Html, height: int, hidden: bool) -> Html:
    view = css(f"0 0 {WIDTH} {height}")
    return el("svg", *parts, viewBox=view, width=WIDTH, height=height, class_=css("whisker"), aria_hidden=css("true"))


def _grid(top: int, bottom: int) -> Html:
    return Html(
        "".join(el("line", x1=_x(t / 100), x2=_x(t / 100), y1=top, y2=bottom, class_=css("grid")) for t in TICKS)
    )


def _marks(figure: dict[str, float], y: float, kind: str) -> Html:
    low, high, at = _x(figure["low"]), _x(figure["high"]), _x(figure["rate"])
    ends = [el("line", x1=x, x2=x, y1=y - 2.5, y2=y + 2.5, class_=css("bar")) for x in (low, high)]
    line = el("line", x1=low, x2=high, y1=y, y2=y, class_=css("bar"))
    return Html(line + "".join(ends) + el("circle", cx=at, cy=y, r=3, class_=css(kind)))


def stack(parts: Sequence[tuple[str, int]], title: Html, height: int = 28) -> Html:
    """A stacked bar over the whole width: (class, number) each."""
    total = sum(n for _, n in parts) or 1
    drawn, at = [], 0.0
    for kind, n in parts:
        width = 1000 * n / total
        if n:
            drawn.append(el("rect", x=at, y=0, width=max(width, 2.0), height=height, class_=css(f"v-{kind}")))
        at += width
    view = css(f"0 0 1000 {height}")
    return el(
        "svg",
        el("title", title),
        *drawn,
        viewBox=view,
        preserveAspectRatio=css("none"),
        class_=css("stack"),
        role=css("img"),
    )


def key(kind: str) -> Html:
    """The small square of a legend."""
    if kind == "none":
        return NOTHING
    square = el("rect", width=12, height=12, class_=css(f"v-{kind}"))
    return el("svg", square, width=12, height=12, class_=css("key"), aria_hidden=css("true"))
