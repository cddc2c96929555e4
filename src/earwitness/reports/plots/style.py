"""One look for all figures: colours, sheet, and the object a notebook shows.

Colours are of Okabe and Ito, told apart by people with any of the common colour-vision deficiencies, and differ in
lightness, so that a grey print keeps them apart. matplotlib is an extra and loaded when something is drawn.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from earwitness.schema.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, FAINT, PAPER = "#1f2328", "#68707a", "#e3e6ea", "#ffffff"
BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE = "#0072b2", "#d55e00", "#00806b", "#c98700", "#56b4e9", "#b05a8c"
SERIES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
# Steps of one thing, from weak to strong.
STEPS = ("#8cb8d9", "#3a7fb5", "#0b3d66")
VERDICTS = {
    "unauthorised": VERMILION,
    "authorised": BLUE,
    "unruled": QUIET,
    "not judged": QUIET,
    "leak": VERMILION,
    "unverifiable": "#c4c9cf",
    "clean": "#8cc5e3",
}
WIDTH, DPI = 8.6, 120
_LONGEST, _TITLE = 34, 80
_RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    # Names come from traces: a dollar sign in one is no formula.
    "text.parse_math": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": QUIET,
    "axes.labelsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "lines.solid_capstyle": "round",
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
}


class Plot:
    """A figure and, in words, every number drawn in it. A notebook shows both; who cannot see it reads the words."""

    def __init__(self, figure: "Figure", title: str, rows: Iterable[str]) -> None:
        self.figure = figure
        self.text = "\n".join((title, *rows))

    def png(self) -> bytes:
        """The figure as PNG; the same numbers give the same bytes."""
        out = BytesIO()
        with _look():
            self.figure.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
        return out.getvalue()

    def save(self, path: Path | str) -> None:
        """Write the PNG."""
        Path(path).write_bytes(self.png())

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"image/png": self.png(), "text/plain": self.text}


@contextmanager
def _look() -> Iterator[None]:
    try:
        matplotlib = import_module("matplotlib")
    except ImportError:
        raise MissingExtraError(
            "figures need matplotlib; install it with: pip install 'earwitness[notebooks]'"
        ) from None
    # A letter the font lacks is drawn as a box; that is no news for who reads the figure.
    with matplotlib.rc_context(_RC), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


@contextmanager
def sheet(
    title: str, note: str = "", *, height: float, columns: int = 1, widths: Sequence[float] | None = None
) -> Iterator[tuple["Figure", list["Axes"]]]:
    """A sheet to draw on: title and note above, `columns` axes side by side that share their y axis.

    Args:
        title: what is to be seen, as a sentence.
        note: what is counted.
        height: of the drawing, in inches, without title and note.
        columns: how many axes.
        widths: their widths in proportion.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    title, note = "\n".join(_balanced(_printable(title))), _printable(note)
    with _look():
        figures, agg = import_module("matplotlib.figure"), import_module("matplotlib.backends.backend_agg")
        head = 0.42 + 0.26 * bool(note) + 0.27 * title.count("\n")
        figure: Figure = figures.Figure(figsize=(WIDTH, height + head), layout="constrained")
        agg.FigureCanvasAgg(figure)
        total = height + head
        figure.get_layout_engine().set(rect=(0, 0, 1, height / total), w_pad=0.06, h_pad=0.04)  # type: ignore[union-attr, call-arg]
        figure.text(0.012, 1 - 0.1 / total, title, size=12.5, weight="bold", va="top", linespacing=1.25)
        if note:
            below = 0.4 + 0.27 * title.count("\n")
            figure.text(0.012, 1 - below / total, note, size=9.5, color=QUIET, va="top", linespacing=1.3)
        grid = {"width_ratios": widths} if widths else None
        axes = figure.subplots(1, columns, sharey=True, squeeze=False, gridspec_kw=grid)
        yield figure, list(axes[0])


def _balanced(title: str) -> list[str]:
    """Lines of about the same length."""
    lines = len(wrap(title, _TITLE))
    return next(found for width in range(len(title) // lines, _TITLE + 1) if len(found := wrap(title, width)) <= lines)


def key(figure: "Figure", items: Iterable[tuple[str, str]]) -> None:
    """What the colours mean: coloured squares and words in a row, at the right end of the line of the note."""
    note = figure.texts[-1]
    y = note.get_position()[1]
    y -= 0.125 / figure.get_figheight()
    width, renderer = figure.bbox.width, figure.canvas.get_renderer()  # type: ignore[attr-defined]
    x = 0.988
    for name, colour in reversed(list(items)):
        for text, shade, size in ((name, INK, 9.5), ("\u25a0 ", colour, 12)):
            at = figure.text(x, y, text, size=size, color=shade, va="baseline", ha="right")
            x -= at.get_window_extent(renderer).width / width
        x -= 0.012


def words(text: object) -> str:
    """A name as a figure may show it: no control characters, not too long."""
    shown = _printable(str(text))
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}\u2026"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def bare(ax: "Axes", *, grid: str = "") -> None:
    """Axes without frame and ticks; `grid` is `x` or `y` where lines help reading."""
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0)
    if grid == "x":
        ax.grid(True, axis="x")
    elif grid == "y":
        ax.grid(True, axis="y")


def percent_axis(axis: Any, top: float = 1.0) -> None:
    """Fractions shown as percent."""
    steps = (0, 0.25, 0.5, 0.75, 1) if top > 0.5 else (0, 0.1, 0.2, 0.3, 0.4, 0.5)
    ticks = [s for s in steps if s <= top + 1e-9]
    axis.set_ticks(ticks, [f"{100 * t:.0f}" + (" %" if t == ticks[-1] else "") for t in ticks])


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Places for labels at least `gap` apart, each as near as may be to where it belongs."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    groups: list[tuple[list[int], float]] = []
    for i in order:
        groups.append(([i], places[i]))
        while len(groups) > 1 and _top(groups[-2], gap) > _bottom(groups[-1], gap) - gap + 1e-12:
            (late, b), (early, a) = groups.pop(), groups.pop()
            both = early + late
            groups.append((both, (a * len(early) + b * len(late)) / len(both)))
    out = [0.0] * len(places)
    for members, middle in groups:
        for n, i in enumerate(members):
            out[i] = middle + (n - (len(members) - 1) / 2) * gap
    return out


def _top(group: tuple[list[int], float], gap: float) -> float:
    return group[1] + (len(group[0]) - 1) / 2 * gap


def _bottom(group: tuple[list[int], float], gap: float) -> float:
    return group[1] - (len(group[0]) - 1) / 2 * gap
