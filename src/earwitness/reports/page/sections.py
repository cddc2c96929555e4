"""The sections of numbers: summary, channels, recipients, coverage."""

from collections.abc import Iterable
from typing import Any

from earwitness.reports.evidence import Evidence
from earwitness.reports.page.charts import axis, count, interval, key, percent, ratio, stack, whisker
from earwitness.reports.page.markup import DASH, NOTHING, Html, View, css, el, fill, join, own, table
from earwitness.reports.page.words import (
    CELL_FIGURES,
    CELL_MEANINGS,
    HEADLINES,
    KEY_FIGURES,
    ROUTE_MEANINGS,
    ROUTES,
    VERDICT_MEANINGS,
)
from earwitness.reports.summary import VERDICTS
from earwitness.schema.words import CHANNEL_TITLES, CHANNELS

Figure = dict[str, Any]
UNRECORDED = "not recorded by this format"


def figures(view: View, name: str) -> list[Figure]:
    """The figures of a measure, one for every cell."""
    return [m for m in view.report["measures"] if m["name"] == name]


def has_policy(view: View) -> bool:
    """Whether some trace was judged at all."""
    return bool(figures(view, "any_leakage"))


# -- summary


def headline(view: View) -> Html:
    """The result in words."""
    said = _judged(view) if has_policy(view) else _unjudged(view)
    first, *rest = said
    return join([el("p", first, class_=css("headline")), *(el("p", s, class_=css("after")) for s in rest)])


def _judged(view: View) -> list[Html]:
    covered, gap = view.report["coverage"], sum(f["k"] for f in figures(view, "audit_gap"))
    leaks, judged = (sum(f[x] for f in figures(view, "any_leakage")) for x in ("k", "n"))
    said = [_say("leak" if leaks else "clean", k=leaks, n=judged)]
    if leaks:
        said.append(_say("gap" if gap else "no_gap", gap=gap))
    hidden, unruled = covered["unverifiable"], view.report["exposure_totals"]["unruled"]
    if hidden or not leaks or leaks < judged:  # else there are no others to speak of
        looked = sum(covered[status] for status in ("leak", "clean", "unverifiable"))
        said.append(_say("unverifiable" if hidden else "all_seen" if leaks else "all_clean", u=hidden, n=looked))
    return said + ([_say("some_unruled", x=unruled)] if unruled else [])


def _unjudged(view: View) -> list[Html]:
    unruled = view.report["exposure_totals"]["unruled"]
    if unruled:
        return [_say("unruled", x=unruled)]
    return [_say("quiet" if view.case.count("vault") else "nothing")]


def _say(sentence: str, **numbers: int) -> Html:
    return fill(HEADLINES[sentence], **{name: count(n) for name, n in numbers.items()})


def key_figures(view: View) -> Html:
    """The first table: one row a figure and arm."""
    rows = [
        _figure_row(own(title), view, figure, name) for name, title in KEY_FIGURES for figure in figures(view, name)
    ]
    if not rows:
        return NOTHING
    arms = any("arm" in f["group"] for f in figures(view, "any_leakage"))
    head = [own("Figure"), *([own("Arm")] if arms else []), own("Share"), axis(), own("95 %"), own("Counted")]
    return table(
        own("Key figures, with 95 % Wilson intervals"), head, (r if arms else [r[0], *r[2:]] for r in rows), "figures"
    )


def _figure_row(title: Html, view: View, figure: Figure, name: str) -> list[Html]:
    quiet = name.endswith("_verifiable")
    named = el("span", title, class_=css("quiet")) if quiet else title
    return [
        named,
        view.name(figure["group"].get("arm")),
        percent(figure["rate"]),
        whisker(figure),
        interval(figure),
        ratio(figure),
    ]


def coverage_bar(view: View) -> Html:
    """Traces by verdict as one bar, with a legend that carries the numbers."""
    covered = view.report["coverage"]
    parts = [(v, covered[v]) for v in VERDICTS]
    told = ", ".join(f"{n:,} {v}" for v, n in parts)
    legend = [
        el(
            "li",
            key(v),
            own(" "),
            el("b", count(n)),
            own(f" {v}: "),
            el("span", own(VERDICT_MEANINGS[v]), class_=css("quiet")),
        )
        for v, n in parts
    ]
    bar = stack(parts, own(f"Traces by verdict: {told}"))
    caption = el("figcaption", own(f"{sum(n for _, n in parts):,} traces by verdict"))
    return el("figure", caption, bar, el("ul", *legend, class_=css("legend")), class_=css("coverage"))


def notes(view: View) -> Html:
    """What could not be assessed."""
    told = view.report["notes"]
    if not told:
        return NOTHING
    items = el("ul", *(el("li", _ticked(view, note)) for note in told))
    return el("aside", el("h3", own("What could not be assessed")), items, class_=css("notes"))


def _ticked(view: View, note: str) -> Html:
    """Words between backticks are code."""
    parts = (view.text(part, 400) for part in note.split("`"))
    return join(el("code", part) if i % 2 else part for i, part in enumerate(parts))


# -- channels


def channels(view: View) -> Html:
    """C1 to C7: rate, interval, counts, and beside them the rate over what could be verified."""
    rows = [row for channel in CHANNELS for row in _channel_rows(view, channel)]
    arms = any("arm" in f["group"] for f in figures(view, "channel_leakage"))
    head = [
        own("Channel"),
        own("Arm"),
        own("Share"),
        axis(),
        own("95 %"),
        own("Counted"),
        own("Of verifiable"),
        own("Counted"),
    ]
    made = table(
        own("Traces with an unauthorised disclosure, by channel"),
        *((head, rows) if arms else ([head[0], *head[2:]], [[r[0], *r[2:]] for r in rows])),
        "figures",
    )
    told = "Filled dot: of all traces whose format records the channel. Hollow dot: of those that could be verified."
    return join([made, el("p", own(told), class_=css("quiet"))])


def channels_unruled(evidence: Evidence) -> Html:
    """Without a policy there is no rate, only what was seen to move."""
    if not evidence.total:
        return el("p", own("No policy rules these traces, and nothing was seen to move."), class_=css("none"))
    told = el("p", own("No policy rules these traces, so no channel has a rate of leakage. What moved on them:"))
    rows = [
        [_channel_title(channel), count(findings), count(traces)] for channel, findings, traces in evidence.by_channel()
    ]
    head = [own("Channel"), own("Exposures"), own("Traces")]
    return join([told, table(own("Exposures nobody has ruled on, by channel"), head, rows, "numbers from-2")])


def _channel_title(channel: str) -> Html:
    return join([el("b", own(channel)), own(f" {CHANNEL_TITLES[channel]}")])  # type: ignore[index]


def _channel_rows(view: View, channel: str) -> list[list[Html]]:
    title = _channel_title(channel)
    seen = [f for f in figures(view, "channel_leakage") if f["group"]["channel"] == channel]
    if not seen:
        return [[title, DASH, el("span", own(_unseen(view, channel)), class_=css("quiet")), *[DASH] * 5]]
    sure = {_arm(f): f for f in figures(view, "channel_leakage_verifiable") if f["group"]["channel"] == channel}
    return [
        [title, view.name(_arm(f)), percent(f["rate"]), whisker(f, sure.get(_arm(f))), interval(f), ratio(f),
         *_verifiable(sure.get(_arm(f)))]
        for f in seen
    ]  # fmt: skip


def _arm(figure: Figure) -> str | None:
    arm: str | None = figure["group"].get("arm")
    return arm


def _verifiable(figure: Figure | None) -> list[Html]:
    return [percent(figure["rate"]), ratio(figure)] if figure else [own("none"), DASH]


def _unseen(view: View, channel: str) -> str:
    reasons = [r["reason"] for r in view.report["coverage"]["reasons"] if r["channel"] == channel]
    return "not recorded" if set(reasons) == {UNRECORDED} else "not judged"


# -- recipients and topology


def cells(view: View) -> Html:
    """Surface leakage, new-agent disclosure and propagation by cell of the experiment."""
    rows = [
        [_cell(view, f), own(title), percent(f["rate"]), whisker(f), interval(f), ratio(f)]
        for cell in _distinct(f["group"] for f in figures(view, "surface_leakage"))
        for name, title in CELL_FIGURES
        for f in figures(view, name)
        if f["group"] == cell
    ]
    if not rows:
        return NOTHING
    head = [own("Cell"), own("Figure"), own("Share"), axis(), own("95 %"), own("Counted")]
    made = table(own("Recipients, by topology, arm and adversary"), head, rows, "figures")
    return join([made, el("p", own(CELL_MEANINGS), class_=css("quiet"))])


def _distinct(groups: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    return [dict(items) for items in dict.fromkeys(tuple(g.items()) for g in groups)]


def _cell(view: View, figure: Figure) -> Html:
    group = figure["group"]
    parts = [view.name(group[part], 40) for part in ("topology", "arm", "adversary") if part in group]
    return join(parts, " · ") if parts else own("all traces")


def routes(view: View) -> Html:
    """How far the recipients that the topology added are from the values, and what came of it."""
    exposed = {f["group"]["route"]: f for f in figures(view, "route_exposure")}
    rows = [_route_row(f, exposed.get(f["group"]["route"])) for f in figures(view, "route")]
    titles = ("Route", "Of all traces", "Counted", "Disclosing to an added agent")
    head = [*(own(t) for t in titles), axis(), own("95 %"), own("Counted")]
    if not exposed:
        head, rows = head[:3], [row[:3] for row in rows]
    return table(own("Executions by the route their added agents need"), head, rows, "figures") if rows else NOTHING


def _route_row(figure: Figure, exposed: Figure | None) -> list[Html]:
    route = figure["group"]["route"]
    meaning = el("span", own(ROUTE_MEANINGS.get(route, "")), class_=css("meaning"))
    title = join([own(ROUTES.get(route, route)), meaning])
    told = [percent(exposed["rate"]), whisker(exposed), interval(exposed), ratio(exposed)] if exposed else [DASH] * 4
    return [title, percent(figure["rate"]), ratio(figure), *told]


def distances(view: View) -> Html:
    """Exposures of agents by realised distance."""
    counted: dict[int | None, list[int]] = {}
    for group in view.report["exposures"]:
        if group["recipient_kind"] == "agent" and group["route"] not in (None, "undefined"):
            cell = counted.setdefault(group["distance"], [0, 0])
            cell[0] += group["n"]
            cell[1] += group["n"] if group["authorised"] is False else 0
    rows = [[_distance(d), count(counted[d][0]), count(counted[d][1])] for d in sorted(counted, key=_far)]
    head = [own("Distance from the disclosing agent"), own("Exposures"), own("Unauthorised")]
    if not has_policy(view):
        head, rows = head[:2], [r[:2] for r in rows]
    return table(own("Exposures of agents by realised distance"), head, rows, "numbers from-2") if rows else NOTHING


def _far(distance: int | None) -> float:
    return float("inf") if distance is None else distance


def _distance(distance: int | None) -> Html:
    if distance is None:
        return own("out of reach by inter-agent messages")
    return own({0: "0 (the disclosing agent itself)", 1: "1 hop"}.get(distance, f"{distance} hops"))
