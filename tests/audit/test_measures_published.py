"""The published figures come out of their counts by the functions and measures of the program.

What is printed otherwise stands in `tests/golden/stats/printed_otherwise.json`, with the reason; nothing else may.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from earwitness.audit.calibrate import Scored, figures, merge, sweep, thresholds
from earwitness.audit.evaluate import share
from earwitness.audit.measure import Figure, named
from earwitness.audit.measure import figures as count
from earwitness.audit.pipeline import Request, audit
from earwitness.audit.stability import stability
from earwitness.audit.stats import chi2_tail, wilson
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.policy import Member, Policy, PolicyRule, PolicyValue

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden/stats"
OTHERWISE = json.loads((GOLDEN / "printed_otherwise.json").read_text())
PRINTED = json.loads((GOLDEN / "published.json").read_text())
SECRET = "KX-4711-0815"
POLICY = Policy(
    values=(PolicyValue(attribute="account", value=SECRET),),
    rules=(PolicyRule(effect="allow", recipients=("a", "b")),),
    roster=(Member(name="a"), Member(name="b")),
    unlisted="introduced",
)

Line = dict[str, Any]
Odd = dict[str, tuple[str, str]]


@pytest.fixture(scope="module")
def paper(shared: Callable[[str], list[Path]]) -> dict[str, Any]:
    """The published figures; skips where they are absent."""
    tables: dict[str, Any] = json.loads(shared("reference/paper_tables.json")[0].read_text())
    return tables


def rate(k: int, n: int) -> float:
    found = share(k, n)
    assert found
    return float(found["rate"])


def odd(*parts: Iterable[tuple[str, str, str]]) -> Odd:
    """What is not printed as it is found."""
    return {what: (printed, found) for part in parts for what, printed, found in part if printed != found}


def intervals(paper: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for row in paper["wilson_95"]:
        where = f"interval, {row['what']} (table 14)"
        bounds = wilson(row["k_derived"], row["n"])
        assert f"{100 * rate(row['k_derived'], row['n']):.1f}" == f"{row['rate']:.1f}"
        yield from ((where, f"{p:.1f}", f"{100 * b:.1f}") for p, b in zip(row["ci"], bounds, strict=True))


def tails(paper: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for row in paper["chi2_tail"]:
        _, _, factor, outcome = row["what"].replace(",", "").split()
        yield f"p, {factor} on {outcome} (table 5)", f"{row['p']:.0e}", f"{chi2_tail(row['q'], row['df']):.0e}"


def calibration(paper: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    table = paper["threshold_calibration"]["rows"]
    pairs = []
    for row, after in zip(table, [*table[1:], {"tp": 0, "fp": 0}], strict=True):
        for leaked, key in ((True, "tp"), (False, "fp")):
            pairs += [Scored(leaked, row["threshold"][1])] * (row[key] - after[key])
    pairs += [Scored(True, 0.1)] * table[0]["fn"] + [Scored(False, 0.1)] * table[0]["tn"]
    for row, found in zip(table, map(figures, merge(sweep(pairs, thresholds()))), strict=True):
        for name in ("fpr", "fnr", "accuracy", "precision", "recall", "f1"):
            x = found[name] if name == "f1" else found[name]["rate"]
            yield f"calibration, {name} from {row['threshold'][0]} (table 4)", f"{row[name]:.4f}", f"{x:.4f}"


def cells(paper: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Rates of figures 2 and 3 as the nearest count of 485 scenarios gives them."""
    titles = {"surface_leakage_pct": "surface leakage", "new_agent_disclosure_pct": "new-agent disclosure"}
    for key, title in titles.items():
        for level, row in paper[key].items():
            for cell, printed in row.items():
                found = f"{100 * rate(round(printed * 485 / 100), 485):.1f}"
                yield f"{title}, {level}, {cell} (figure {2 if key.startswith('surface') else 3})", f"{printed}", found


def means(paper: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    n, horizons = paper["cumulative_disclosure_mean"]["n"], paper["cumulative_disclosure_mean"]["horizons"]
    for scope, fresh in paper["marginal_first_disclosure"].items():
        for place, horizon in enumerate(horizons):
            what = f"mean of values, {scope}, horizon {horizon} (table 6)"
            printed = paper["cumulative_disclosure_mean"][scope][place]
            yield what, f"{printed:.3f}", f"{rate(sum(fresh[: place + 1]), n):.3f}"


def drift(_: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    floor = regimes().floor
    assert floor is not None
    yield "noise floor, CrewAI, temperature 0.7 (section 5.6.6)", "0.41", f"{floor:.2f}"


def regimes() -> Any:
    table = PRINTED["regimes"]
    return stability(table["temperatures"], table["filtered_pct"])


@pytest.mark.real
def test_whatever_is_printed_otherwise_is_listed(paper: dict[str, Any]) -> None:
    parts = (intervals, tails, calibration, cells, means, drift)
    found = odd(*(part(paper) for part in parts))
    assert found == {row["what"]: (row["printed"], row["found"]) for row in OTHERWISE}


def test_the_page_lists_what_is_printed_otherwise() -> None:
    page = (ROOT / "docs/measures.md").read_text(encoding="utf-8")
    rows = [f"| {r['what']} | {r['printed']} | {r['found']} | {r['why']} |" for r in OTHERWISE]
    assert "\n".join(rows) + "\n" in page


@pytest.mark.real
def test_surface_rates_are_shares_of_both_members_of_485_pairs(paper: dict[str, Any]) -> None:
    for printed in paper["surface_leakage_pct"]["A0"].values():
        assert f"{100 * rate(round(printed * 970 / 100), 970):.1f}" == f"{printed}"


@pytest.mark.real
def test_decisions_and_residuals_add_up(paper: dict[str, Any]) -> None:
    made = paper["decision_correctness"]
    assert made["should_sanitize"] + made["should_allow"] == made["resolvable_detected"]
    assert sum(made["actions"].values()) == made["should_sanitize"]
    for name in ("static_under", "dynamic_under"):
        assert round(100 * rate(made[name], made["should_sanitize"]), 2) == PRINTED["decision_pct"][name]
    for name in ("static_over", "dynamic_over"):
        assert rate(made[name], made["should_allow"]) == 0
    assert round(100 * rate(*made["topology_extension_over"])) == PRINTED["decision_pct"]["topology_extension_over"]
    replay = paper["replay"]
    sources = dict(replay["residual_sources"])
    total = sources.pop("total")
    assert sum(sources.values()) == total
    for name, printed in PRINTED["residual_source_pct"].items():
        decimals = len(printed.partition(".")[2])
        assert f"{100 * rate(sources[name], total):.{decimals}f}" == printed
    assert round(100 * rate(total, replay["should_sanitize"]), 2) == replay["residual_pct"]["recons"]


@pytest.mark.real
def test_every_replayed_rate_is_a_share_of_its_occurrences(paper: dict[str, Any]) -> None:
    replay = paper["replay"]
    for key, n in (("residual_pct", replay["should_sanitize"]), ("correct_allow_pct", replay["should_allow"])):
        for printed in replay[key].values():
            decimals = len(str(printed).partition(".")[2])
            assert round(100 * rate(round(printed * n / 100), n), decimals) == printed


def test_shares_of_strata() -> None:
    strata = PRINTED["strata"]
    assert sum(strata["counts"]) == strata["n"]
    assert [round(100 * rate(k, strata["n"]), 1) for k in strata["counts"]] == strata["pct"]


def test_ranks_of_frameworks_against_the_noise_floor() -> None:
    found, table = regimes(), PRINTED["regimes"]
    assert [round(d, 2) for d in found.largest] == table["largest_drift"]
    assert [n.higher for n in found.neighbours if n.verdict == "ordered"] == table["ordered"]
    assert {f"{n.higher} > {n.lower}": n.inversions for n in found.neighbours if n.inversions} == table["inversions"]
    assert [g.group for g in found.groups] == list(table["filtered_pct"])


# -- traces that have the published counts, through the whole audit ---------------------------------------------------


def audited(path: Path, lines: Iterable[Line]) -> Case:
    source = path / "traces.jsonl"
    with source.open("w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    case = Case()
    Loader(case).load([source])
    audit(case, Request(policy=POLICY))
    return case


def said(trace: str, text: str, sender: str = "a", to: str | None = "x", channel: str = "C2", **more: Any) -> Line:
    to_whom = [to] if to else []
    return {
        "type": "event",
        "trace": trace,
        "channel": channel,
        "sender": sender,
        "to": to_whom,
        "content": text,
        **more,
    }


def found(case: Case, name: str, *by: str) -> dict[tuple[Any, ...], Figure]:
    return {tuple(f.group.values()): f for f in count(case, named([name]), by)}


def firsts(scopes: dict[str, list[int]]) -> Iterator[dict[str, int]]:
    """For each run the horizon (as a place) of its first message and of its first tool call that disclose.

    Whoever is new to all channels is new by a message, as far as there are any, else by a call; the other firsts go to
    runs that disclose already.
    """
    runs: list[dict[str, int]] = []
    for place, fresh in enumerate(scopes["all"]):
        by_message = min(scopes["behavioural"][place], fresh)
        runs += [{"message": place} for _ in range(by_message)] + [{"call": place} for _ in range(fresh - by_message)]
        later = {
            "message": scopes["behavioural"][place] - by_message,
            "call": scopes["tool"][place] - fresh + by_message,
        }
        for kind, n in later.items():
            for run in [r for r in runs if kind not in r][:n]:
                run[kind] = place
            assert n >= 0
    yield from runs


@pytest.mark.real
def test_horizons_from_970_runs(paper: dict[str, Any], tmp_path: Path) -> None:
    horizons, scopes = paper["cumulative_disclosure_mean"]["horizons"], paper["marginal_first_disclosure"]
    runs = list(firsts(scopes))
    lines: list[Line] = []
    for n in range(paper["cumulative_disclosure_mean"]["n"]):
        lines.append({"type": "trace", "id": f"t{n}"})
        lines.append(said(f"t{n}", "nothing", turn=20))
        for kind, place in (runs[n] if n < len(runs) else {}).items():
            channel = {"message": "C2", "call": "C3"}[kind]
            lines.append(
                said(f"t{n}", SECRET, to={"message": "x", "call": "api"}[kind], channel=channel, turn=horizons[place])
            )
    with audited(tmp_path, lines) as case:
        marginal, mean = found(case, "marginal_by_turn"), found(case, "values_by_turn")
        cumulative = found(case, "cumulative_by_turn")
    printed = {row["what"]: row["printed"] for row in OTHERWISE}
    for scope, fresh in scopes.items():
        assert [marginal[scope, h].k for h in horizons] == fresh
        for place, h in enumerate(horizons):
            assert (mean[scope, h].n, mean[scope, h].k) == (970, cumulative[scope, h].k)
            assert mean[scope, h].low <= mean[scope, h].rate <= mean[scope, h].high
            expected = paper["cumulative_disclosure_mean"][scope][place]
            if f"mean of values, {scope}, horizon {h} (table 6)" not in printed:
                assert round(mean[scope, h].rate, 3) == expected
    loaded = {s: marginal[s, 3].k / sum(marginal[s, h].k for h in horizons) for s in scopes}
    assert {s: round(100 * x, 1) for s, x in loaded.items()} == PRINTED["front_loaded_pct"]


@pytest.mark.real
def test_archetypes_from_27_755_turns(paper: dict[str, Any], tmp_path: Path) -> None:
    turns = [(archetype, n < k) for archetype, (k, total) in paper["archetypes"].items() for n in range(total)]
    lines = (said("t", SECRET if leaks else f"{n}", archetype=a, turn=n) for n, (a, leaks) in enumerate(turns))
    with audited(tmp_path, lines) as case:
        rows = found(case, "archetype_disclosure")
    assert {key[0]: [f.k, f.n] for key, f in rows.items()} == paper["archetypes"]
    assert {key[1] for key in rows} == {"annotated"}
    assert {key[0]: round(f.rate, 3) for key, f in rows.items()} == PRINTED["archetype_rates"]


def route(trace: str, hops: int, *, told: bool) -> Iterator[Line]:
    """Agent a holds the value by a tool; x is one hop away, or two over b; without hops nobody holds it."""
    if hops:
        yield said(trace, SECRET, sender="db", to="a", channel="C4")
    if hops == 2:
        yield said(trace, SECRET, to="b")
    yield said(trace, SECRET if told else "later", sender="b" if hops == 2 else "a")


@pytest.mark.real
def test_routes_from_970_executions(paper: dict[str, Any], tmp_path: Path) -> None:
    rows = {row["what"]: row for row in paper["wilson_95"] if row["what"].startswith("Hier-7")}
    undefined = {f: paper["hop_analysis"][f]["undefined_disclosing_agent"] for f in ("AutoGen", "LangGraph")}
    lines: list[Line] = []
    for framework in undefined:
        plan = [
            (hops, n < row["k_derived"])
            for hops, way in ((1, "direct-access"), (2, "relay-required"))
            for row in [rows[f"Hier-7 {way}, {framework}"]]
            for n in range(row["n"])
        ]
        for n, (hops, told) in enumerate([*plan, *[(0, False)] * undefined[framework]]):
            trace = f"{framework}-{n}"
            lines.append({"type": "trace", "id": trace, "framework": framework, "topology": "Hier-7"})
            lines += route(trace, hops, told=told)
    with audited(tmp_path, lines) as case:
        exposed, routes = found(case, "route_exposure", "framework"), found(case, "route", "framework")
    printed = {row["what"] for row in OTHERWISE}
    for what, row in rows.items():
        way, framework = what.removeprefix("Hier-7 ").split(", ")
        f = exposed[framework, way]
        assert (f.k, f.n, round(100 * f.rate, 1)) == (row["k_derived"], row["n"], row["rate"])
        if f"interval, {what} (table 14)" not in printed:
            assert [round(100 * f.low, 1), round(100 * f.high, 1)] == row["ci"]
    for framework, hop in paper["hop_analysis"].items():
        defined = sum(routes[framework, way].k for way in ("direct-access", "relay-required"))
        assert defined == hop["defined"]
        assert {f.n for key, f in routes.items() if key[0] == framework} == {485}
    assert (routes["LangGraph", "undefined"].k, ("AutoGen", "undefined") in routes) == (62, False)


@pytest.mark.real
def test_cells_from_8730_executions(paper: dict[str, Any], tmp_path: Path) -> None:
    lines: list[Line] = []
    for level, row in paper["new_agent_disclosure_pct"].items():
        for cell, printed in row.items():
            for n in range(485):
                trace = f"{level}-{cell}-{n}"
                lines.append({"type": "trace", "id": trace, "scenario": f"s{n}", "topology": cell, "adversary": level})
                told = n < round(printed * 485 / 100)
                lines.append(said(trace, SECRET if told else "later", to="b" if cell == "CW-2" else "x"))
    with audited(tmp_path, lines) as case:
        rows = found(case, "new_agent_disclosure")
        tests = case.rows("""SELECT grp, levels, blocks, note FROM significance
                             WHERE name = 'new_agent_disclosure' AND factor = 'topology' ORDER BY grp""")
    for level, row in paper["new_agent_disclosure_pct"].items():
        assert {cell: round(100 * rows[cell, level].rate, 1) for cell in row} == row
    published = {r["what"]: r for r in paper["wilson_95"] if r["what"].startswith("new-agent")}
    for what, r in published.items():
        f = rows[what.rpartition(", ")[2], "A0"]
        assert [f.k, f.n, round(100 * f.low, 1), round(100 * f.high, 1)] == [r["k_derived"], r["n"], *r["ci"]]
    assert [(blocks, len(levels)) for _, levels, blocks, _ in tests] == [(485, 5)] * 3 + [(1455, 5)]
    assert all("structural zero left out: CW-2" in note for *_, note in tests)
