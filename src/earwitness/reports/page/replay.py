"""What a sanitizer would have changed: the last replay of the case, where there was one."""

from collections.abc import Sequence
from typing import Any

from earwitness.reports.page.charts import axis, count, interval, key, percent, ratio, stack, whisker
from earwitness.reports.page.markup import DASH, NOTHING, Html, View, css, el, fill, join, own, table
from earwitness.reports.page.scatter import Point, scatter
from earwitness.reports.page.significance import chance
from earwitness.reports.page.words import CAUSE_MEANINGS, CAUSES, MODES, REPLAY, SETTINGS, TYPES
from earwitness.reports.replayed import Figures
from earwitness.schema.words import CHANNEL_TITLES

Row = dict[str, Any]


def replay(view: View) -> Html:
    """The section, without its heading."""
    told = view.report["replay"]
    parts = [_stale(view, told), el("p", own(REPLAY["what"])), _facts(view, told), _left_out(view, told)]
    if not told["figures"]:
        return join([*parts, el("p", own(REPLAY["nothing"]), class_=css("none"))])
    figures = Figures(told)
    parts += [_reading(), *(_setting(view, told, figures, s) for s in _settings(told))]
    return join(parts)


def _settings(told: Row) -> list[str]:
    seen = {f["setting"] for f in told["figures"]}
    return [s for s in SETTINGS if s in seen]


# -- what was replayed


def _stale(view: View, told: Row) -> Html:
    if not told["stale"]:
        return NOTHING
    reasons = el("ul", *(el("li", view.text(reason)) for reason in told["stale"]))
    head = el("h3", own(REPLAY["stale"]), class_=css("alarm"))
    return el("aside", head, reasons, el("p", own(REPLAY["again"])), class_=css("notes stale"))


def _facts(view: View, told: Row) -> Html:
    policy = told["policy_sha256"]
    terms = (
        ("Replayed", own(told["finished_at"].replace("T", ", ")[:17] + " UTC")),
        ("Under policy", el("code", own(policy), class_=css("hash")) if policy else own("no policy file")),
        ("Key of the transforms", _key(view, told["key"])),
        ("Counted over", _counted(told["occurrences"])),
        ("Made by", view.text(f"earwitness {told['version']}")),
    )
    return el("dl", *(el("div", el("dt", own(t)), el("dd", d)) for t, d in terms), class_=css("facts replayed"))


def _key(view: View, key: Row | None) -> Html:
    if key is None:
        return own(REPLAY["no_key"])
    if key["ephemeral"]:
        return own(REPLAY["ephemeral"])
    return fill("a key that was given, mark {mark}", mark=el("code", view.text(key["mark"])))


def _counted(n: Row) -> Html:
    told = f"{n['should_sanitize']:,} occurrences that should be sanitized, {n['should_allow']:,} allowed"
    return own(f"{told}; {n['unruled']:,} without a policy are left out" if n["unruled"] else told)


def _left_out(view: View, told: Row) -> Html:
    missing = [c for c in told["conditions"] if not c["replayed"]]
    if not missing:
        return NOTHING
    named = [
        fill("{name}: {why}", name=el("b", view.text(c["condition"], 60)), why=view.text(c["reason"])) for c in missing
    ]
    return el("p", own("Left out: "), join(named, "; "), own("."))


def _reading() -> Html:
    """How the tables are to be read, and what the colours of the causes mean."""
    causes = [
        el("li", key(f"cause-{name}"), own(" "), el("b", own(title)), own(f": {CAUSE_MEANINGS[name]}"))
        for name, title in CAUSES.items()
    ]
    legend = el("ul", *causes, class_=css("legend causes"))
    return join([el("p", own(REPLAY["rates"])), el("p", own(REPLAY["causes"])), legend])


# -- one setting


def _setting(view: View, told: Row, figures: Figures, setting: str) -> Html:
    named = [c["condition"] for c in told["conditions"]]
    rows = [(n, name) for n, name in enumerate(named, start=1) if figures.one(name, setting, "independent", "residual")
            or figures.one(name, setting, "independent", "correct_allow")]  # fmt: skip
    title, meaning = SETTINGS[setting]
    plots = [_plot(view, told, figures, setting, mode, rows) for mode in MODES]
    parts = [el("h3", own(title)), el("p", own(meaning), class_=css("quiet")), el("div", *plots, class_=css("pair"))]
    parts += [_headlines(view, told, figures, setting, mode, rows) for mode in MODES]
    parts += [_causes(view, figures, setting, rows), _splits(view, told, figures, setting), _pairs(view, told, setting)]
    return el("div", *parts, class_=css("setting"))


def _plot(view: View, told: Row, figures: Figures, setting: str, mode: str, rows: Sequence[tuple[int, str]]) -> Html:
    points = []
    for number, name in rows:
        x, y = (figures.one(name, setting, mode, m) for m in ("residual", "correct_allow"))
        if x and y:
            points.append(Point(number, view.text(name, 60), x, y, name == told["default"]))
    if not points:
        return NOTHING
    title = own(f"Residual against correct-allow, {MODES[mode]}: {len(points)} conditions")
    drawn = scatter(points, title, "residual %: lower is better", "correct-allow %: higher is better")
    return el("figure", el("figcaption", own(MODES[mode].capitalize())), drawn)


def _headlines(
    view: View, told: Row, figures: Figures, setting: str, mode: str, rows: Sequence[tuple[int, str]]
) -> Html:
    made = [
        [
            own(number),
            _name(view, told, name),
            *_rate(figures.one(name, setting, mode, "residual")),
            *_rate(figures.one(name, setting, mode, "correct_allow")),
        ]
        for number, name in rows
    ]
    once = ("95 %", "over scenarios", "Counted")
    head = [own(t) for t in ("No.", "Condition", "Residual", *once, "Correct-allow", *once)]
    if not any(f["boot_low"] is not None for f in told["figures"]):
        head, made = _without(head, 4, 8), [_without(row, 4, 8) for row in made]
    title, _ = SETTINGS[setting]
    return table(own(f"{title}, {MODES[mode]}"), head, made, "numbers from-3 replay")


def _without(cells: Sequence[Html], *places: int) -> list[Html]:
    return [cell for n, cell in enumerate(cells) if n not in places]


def _name(view: View, told: Row, name: str) -> Html:
    shown = view.name(name, 60)
    return el("b", shown) if name == told["default"] else shown


def _rate(figure: Row | None) -> list[Html]:
    if figure is None:
        return [DASH] * 4
    boot = {"low": figure["boot_low"], "high": figure["boot_high"]}
    return [percent(figure["rate"]), interval(figure), DASH if boot["low"] is None else interval(boot), ratio(figure)]


def _causes(view: View, figures: Figures, setting: str, rows: Sequence[tuple[int, str]]) -> Html:
    made = []
    for number, name in rows:
        told = figures.one(name, setting, "independent", "residual")
        found = {c: figures.one(name, setting, "independent", f"cause_{c}") for c in CAUSES}
        if told:
            counts = {c: f["k"] if f else 0 for c, f in found.items()}
            cells = [own(number), view.name(name, 60), count(told["k"]), _bar(counts)]
            made.append(cells + [count(n) for n in counts.values()])
    head = [own("No."), own("Condition"), own("Remain"), own("Why"), *map(own, CAUSES.values())]
    return table(own("Sources of what remains, each event by itself"), head, made, "numbers replay sources-of")


def _bar(counts: dict[str, int]) -> Html:
    if not any(counts.values()):
        return el("span", own("nothing remains"), class_=css("quiet"))
    told = ", ".join(f"{n:,} {CAUSES[c]}" for c, n in counts.items() if n)
    return stack([(f"cause-{c}", n) for c, n in counts.items()], own(told), 12)


def _labelled(counts: dict[str, int]) -> Html:
    """The bar with its numbers in words."""
    told = ", ".join(f"{n:,} {CAUSES[c]}" for c, n in counts.items() if n)
    return join([_bar(counts), el("span", own(told), class_=css("meaning"))]) if told else _bar(counts)


_BY = (("channel", "residual_by_channel", "channel"), ("value_type", "residual_by_type", "value_type"))


def _splits(view: View, told: Row, figures: Figures, setting: str) -> Html:
    """The default condition by channel and by type of value."""
    made = []
    for split, measure, column in _BY:
        for figure in figures.split(setting, "independent", measure):
            cell = figure["group"][column]
            made.append(
                [_cell(view, split, cell), percent(figure["rate"]), whisker(figure), interval(figure), ratio(figure),
                 _labelled(_counts(told, setting, split, cell))]
            )  # fmt: skip
    head = [own("By channel, by type of value"), own("Residual"), axis(), own("95 %"), own("Counted"), own("Why")]
    name = view.plain(told["default"])
    caption = own(f"Where {name} leaves something, each event by itself")
    return table(caption, head, made, "figures replay sources-of") if made else NOTHING


def _counts(told: Row, setting: str, split: str, cell: str | None) -> dict[str, int]:
    found = {
        c["cause"]: c["k"] for c in told["causes"] if (c["setting"], c["split"], c["cell"]) == (setting, split, cell)
    }
    return {cause: found.get(cause, 0) for cause in CAUSES}


def _cell(view: View, split: str, cell: str | None) -> Html:
    if split == "value_type":
        return view.text(TYPES.get(cell or "", cell))
    title = CHANNEL_TITLES.get(cell, "")  # type: ignore[call-overload]
    return join([el("b", view.text(cell)), own(f" {title}")])


def _pairs(view: View, told: Row, setting: str) -> Html:
    """The default against each other condition on the same occurrences."""
    cells: dict[str, dict[str, Row]] = {}
    for pair in told["pairs"]:
        if (pair["setting"], pair["mode"]) == (setting, "independent"):
            cells.setdefault(pair["other"], {})[pair["truth"]] = pair
    made = [
        [view.name(other, 60), *_pair(truths.get("sanitize")), *_pair(truths.get("allow"))]
        for other, truths in cells.items()
    ]
    name = view.plain(told["default"])
    once = (f"under {name} alone", "under the other alone", "p")
    head = [own("Against"), *(own(f"{truth}, {t}") for truth in ("Residual", "Correct-allow") for t in once)]
    caption = own(f"{name} against the others by McNemar’s test, each event by itself")
    if not made:
        return NOTHING
    note = el("p", own(REPLAY["pairs"]), class_=css("quiet"))
    return join([table(caption, head, made, "numbers from-2 replay"), note])


def _pair(pair: Row | None) -> list[Html]:
    return [count(pair["only_condition"]), count(pair["only_other"]), chance(pair["p"])] if pair else [DASH] * 3
