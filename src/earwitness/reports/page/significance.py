"""The tests of significance: whether runs of one scenario differ by topology, adversary, framework, model or arm."""

from typing import Any

from earwitness.reports.page.charts import count
from earwitness.reports.page.markup import DASH, NOTHING, Html, View, css, el, fill, join, own, table
from earwitness.reports.page.words import CELL_FIGURES, SIGNIFICANCE, TESTS

Row = dict[str, Any]
MOST_TESTS = 20


def significance(view: View) -> Html:
    """The section, without its heading: what was tested over everything, then single cells."""
    rows = view.report["significance"]
    over = [r for r in rows if not r["group"]]
    cells = [r for r in rows if r["group"]]
    parts = [el("p", own(SIGNIFICANCE["what"])), _table(view, own("Over all runs"), over, over)]
    parts.append(_table(view, own("Within single cells"), cells[:MOST_TESTS], cells, group=True))
    return join(parts)


def chance(p: float | None) -> Html:
    """A probability; small ones as powers of ten, and what a float cannot hold as less than it can."""
    if p is None:
        return DASH
    if p < 1e-300:
        return own("< 1e-300")
    return own(f"{p:.1e}" if p < 0.001 else f"{p:.3f}")


def _table(view: View, caption: Html, shown: list[Row], every: list[Row], *, group: bool = False) -> Html:
    if not shown:
        return NOTHING
    titles = ["Outcome", "Factor", "Levels", "Test", "Statistic", "df", "p", "Blocks", "Left out", "Remarks"]
    head = [own(t) for t in ([titles[0], "Cell", *titles[1:]] if group else titles)]
    if len(shown) < len(every):
        caption = fill("{what}: showing {n} of {all}", what=caption, n=count(len(shown)), all=count(len(every)))
    return table(caption, head, (_row(view, row, group=group) for row in shown), "tests")


def _row(view: View, row: Row, *, group: bool) -> list[Html]:
    levels = join([view.name(level, 40) for level in row["levels"]], ", ")
    cell = [join([view.name(v, 40) for v in row["group"].values()], " · ")] if group else []
    statistic = DASH if row["statistic"] is None else own(f"{row['statistic']:.1f}")
    return [
        view.text(dict(CELL_FIGURES).get(row["name"], row["name"])),
        *cell,
        view.text(row["factor"]),
        levels,
        view.text(TESTS.get(row["test"], row["test"])),
        statistic,
        DASH if row["df"] is None else count(row["df"]),
        chance(row["p"]),
        count(row["blocks"]),
        count(row["excluded"]),
        el("span", view.text(row["note"]), class_=css("quiet")),
    ]
