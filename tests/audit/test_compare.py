"""Comparing: intervals against references, sums against the measures, laws by property, public runs."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm
from statsmodels.regression.linear_model import OLS  # type: ignore[import-untyped]
from statsmodels.stats.proportion import confint_proportions_2indep  # type: ignore[import-untyped]

from earwitness.audit.compare import baselines
from earwitness.audit.compare.differences import differences, spread, totals
from earwitness.audit.compare.exposures import compare_exposures, counts
from earwitness.audit.compare.intervals import newcombe, tango
from earwitness.audit.compare.pairing import pair
from earwitness.audit.compare.sides import CELLS, Side, read_side, split
from earwitness.audit.compare.verdicts import changed, same_recordings
from earwitness.audit.detect import NO_TIERS
from earwitness.audit.measure import MEASURES
from earwitness.audit.pipeline import Request, audit
from earwitness.audit.rulesets import DEFAULT, LITERAL
from earwitness.ingest.loader import Loader
from earwitness.reports.compare import Asked, Told, compare
from earwitness.reports.shown import Shown
from earwitness.schema.case import Case
from earwitness.schema.policy import Member, Policy, PolicyRule

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "topologies"
Z = float(norm.ppf(0.975))

# Intervals.


def test_tango_against_published_figures() -> None:
    # Airway hyper-responsiveness before and after a transplant, as published by Fagerland, Lydersen and Laake 2014.
    low, high, _ = tango(left_only=1, right_only=7, pairs=21)
    assert (round(low, 3), round(high, 3)) == (0.026, 0.517)


def test_tango_without_differing_pairs_has_a_closed_form() -> None:
    low, high, _ = tango(0, 0, 10)
    assert high == pytest.approx(Z**2 / (10 + Z**2))
    assert low == -high
    assert tango(0, 10, 10).high == 1


@settings(max_examples=30)
@given(st.integers(2, 60), st.data())
def test_tango_is_where_the_score_test_turns(n: int, data: Any) -> None:
    y = data.draw(st.integers(1, n - 1))
    x = data.draw(st.integers(1, n - y))
    interval = tango(y, x, n)

    def score(delta: float) -> float:
        """With the likeliest nuisance found by search, not by formula."""

        def surprise(q: float) -> float:
            rest = 1 - 2 * q - delta
            rests = (n - x - y) * np.log(rest) if n > x + y else 0.0
            return -float(x * np.log(q + delta) + y * np.log(q) + rests)

        bounds = (max(0.0, -delta) + 1e-12, (1 - delta) / 2 - 1e-12)
        q = minimize_scalar(surprise, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
        return float((x - y - n * delta) / np.sqrt(n * (2 * q + delta - delta**2)))

    middle = (x - y) / n
    if middle < 0.99:
        assert interval.high == pytest.approx(brentq(lambda d: score(d) + Z, middle, 1 - 1e-9), abs=1e-4)
    if middle > -0.99:
        assert interval.low == pytest.approx(brentq(lambda d: score(d) - Z, -1 + 1e-9, middle), abs=1e-4)


@given(st.integers(1, 80), st.integers(1, 80), st.data())
def test_newcombe_against_statsmodels(n: int, m: int, data: Any) -> None:
    k, j = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    expected = confint_proportions_2indep(j, m, k, n, method="newcomb", compare="diff")
    assert newcombe(k, n, j, m)[:2] == pytest.approx(expected, abs=1e-9)


def side(name: str, rows: list[tuple[str, int, int]]) -> Side:
    """A side whose one measure counts k of n events in the run of each scenario."""
    empty = pl.DataFrame({"trace": []}, schema={"trace": pl.Int32})
    runs = pl.DataFrame(
        {"trace": range(len(rows)), "scenario": [r[0] for r in rows]}, schema_overrides={"trace": pl.Int32}
    )
    runs = runs.with_columns(*(pl.lit(None, pl.String).alias(c) for c in (*CELLS, "id", "grp")))
    units = pl.DataFrame(
        {"trace": range(len(rows)), "k": [r[1] for r in rows], "n": [r[2] for r in rows]},
        schema={"trace": pl.Int32, "k": pl.Int64, "n": pl.Int64},
    ).with_columns(measure=pl.lit("event_leakage"), cells=pl.lit(""), cell=pl.lit("{}"), part=pl.lit(False))
    units = units.select("trace", "measure", "cells", "cell", "k", "n", "part")
    return Side(name, runs, units, empty, empty, frozenset())


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=9
    )
)
def test_clustered_against_the_sandwich_of_statsmodels(drawn: list[tuple[int, int, int, int]]) -> None:
    left = side("l", [(str(s), k, k + f + 1) for s, (k, f, _, _) in enumerate(drawn)])
    right = side("r", [(str(s), k, k + f + 1) for s, (_, _, k, f) in enumerate(drawn)])
    (row,) = differences(left, right, pair((left, right)))
    if row["method"] != "clustered":
        assert row["method"] in ("newcombe", "tango")
        return
    y, group, cluster = [], [], []
    for at, one in enumerate((left, right)):
        for scenario, k, n in one.units.select("trace", "k", "n").iter_rows():
            y += [1] * k + [0] * (n - k)
            group += [at] * n
            cluster += [scenario] * n
    design = np.column_stack([np.ones(len(y)), group])
    options = {"groups": np.array(cluster), "use_correction": False}
    fit = OLS(np.array(y, float), design).fit(cov_type="cluster", cov_kwds=options)
    m = len(drawn)
    reach = Z * np.sqrt(fit.cov_params()[1, 1] * m / (m - 1))
    assert row["difference"] == pytest.approx(fit.params[1])
    assert row["low"] == pytest.approx(max(fit.params[1] - reach, -1), abs=1e-9)
    assert row["high"] == pytest.approx(min(fit.params[1] + reach, 1), abs=1e-9)


def test_repeated_runs_are_one_unit_and_sides_without_pairs_are_independent() -> None:
    left = side("l", [("a", 1, 1), ("a", 0, 1), ("b", 1, 1), ("c", 0, 1)])
    right = side("r", [("a", 1, 1), ("b", 0, 1), ("x", 1, 1)])
    (row,) = differences(left, right, pair((left, right)))
    assert (row["left"], row["right"]) == (
        {"k": 2, "n": 3, "rate": 2 / 3, "alone": 1},
        {"k": 1, "n": 2, "rate": 1 / 2, "alone": 1},
    )
    assert (row["method"], row["pairs"], row["p"]) == ("clustered", 2, None)
    (row,) = differences(side("l", [("a", 1, 1), ("b", 0, 1)]), other := side("r", [("x", 1, 1)]), pair((left, other)))
    assert row["method"] == "newcombe"
    assert row["pairs"] == 0


def test_a_side_that_does_not_vary_makes_no_interval_narrow() -> None:
    left, right = side("l", [(s, 0, 2) for s in "abc"]), side("r", [("a", 1, 2), ("b", 0, 2), ("c", 2, 2)])
    (row,) = differences(left, right, pair((left, right)))
    assert (row["method"], row["low"], row["high"]) == ("newcombe", *newcombe(0, 6, 3, 6)[:2])


# Cases.

POLICY = Policy(
    roster=(Member(name="lead", roles=("boss",)), Member(name="worker")),
    unlisted="introduced",
    rules=(PolicyRule(effect="allow", id="boss-may", roles=("boss",)),),
)
SECRETS = {"s1": ("ssn", "219-09-9999"), "s2": ("account", "DE-4711-0815"), "s3": ("salary", "98,517")}
ACTORS = ("lead", "worker", "mailer")
Step = tuple[str, int, int, bool]
steps = st.lists(
    st.tuples(st.sampled_from(["C1", "C2"]), st.integers(0, 2), st.integers(1, 2), st.booleans()), max_size=4
)
corpora = st.dictionaries(st.tuples(st.sampled_from(sorted(SECRETS)), st.sampled_from(["A0", "A1"])), steps, max_size=5)
Corpus = dict[tuple[str, str], list[Step]]


def lines(corpus: Corpus, order: random.Random | None = None) -> list[dict[str, Any]]:
    """Canonical lines; with `order` in another order and under other ids."""
    runs = list(corpus.items())
    if order:
        order.shuffle(runs)
    out = []
    for n, ((scenario, adversary), told) in enumerate(runs):
        name = f"{order.random()}-{n}" if order else f"t{n}"
        attribute, value = SECRETS[scenario]
        block = [{"type": "trace", "id": name, "scenario": scenario, "adversary": adversary, "framework": "x"}]
        block.append({"type": "value", "scenario": scenario, "attribute": attribute, "value": value})
        block.append(event(name, 0, "C4", "db", "lead", value))
        for seq, (channel, sender, further, telling) in enumerate(told, start=1):
            receiver = "user" if channel == "C1" else ACTORS[(sender + further) % 3]
            block.append(event(name, seq, channel, ACTORS[sender], receiver, value if telling else f"step {seq}"))
        rest = block[1:]
        if order:
            order.shuffle(rest)
        out += [block[0], *rest]
    return out


def event(trace: str, seq: int, channel: str, sender: str, to: str, text: str) -> dict[str, Any]:
    return {
        "type": "event",
        "trace": trace,
        "seq": seq,
        "channel": channel,
        "sender": sender,
        "to": [to],
        "content": text,
    }


@contextmanager
def judged(rows: list[dict[str, Any]], folder: Path) -> Iterator[Case]:
    file = folder / "traces.jsonl"
    # A trace of its own stands in every corpus, so that none is empty.
    first = [{"type": "trace", "id": "anchor", "scenario": "s0", "adversary": "A0", "framework": "x"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in [*first, *rows]), encoding="utf-8")
    with Case() as case:
        Loader(case).load([file])
        audit(case, Request(policy=POLICY, tiers=NO_TIERS))
        yield case


def held(left: Case, right: Case) -> dict[str, Any]:
    """What a comparison says, without numbers of a case and places."""
    report = compare([Told(read_side(c, n, "k"), Shown(c)) for c, n in ((left, "l"), (right, "r"))], Asked())
    one: dict[str, Any] = report["comparisons"][0]
    for row in one["exposures"]["rows"]:
        for key in ("fingerprint", "trace_id", "at"):
            row.pop(key)
    for row in one["measures"]:
        row.pop("sentence")
    return one


unhurried = settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])


@unhurried
@given(corpora, st.randoms(use_true_random=False))
def test_a_corpus_is_like_itself_whatever_its_ids_and_order(
    tmp_path: Path, corpus: Corpus, order: random.Random
) -> None:
    with judged(lines(corpus), tmp_path) as one, judged(lines(corpus, order), tmp_path) as other:
        found = held(one, other)
    assert found["exposures"]["rows"] == []
    assert {m["difference"] for m in found["measures"]} <= {0}
    assert all(m["low"] <= 0 <= m["high"] for m in found["measures"])
    assert [found["alone"][s]["runs"] for s in ("left", "right")] == [0, 0]


@unhurried
@given(corpora, corpora, st.randoms(use_true_random=False))
def test_swapping_the_sides_mirrors_and_order_changes_nothing(
    tmp_path: Path, left: Corpus, right: Corpus, order: random.Random
) -> None:
    with (
        judged(lines(left), tmp_path) as a,
        judged(lines(right), tmp_path) as b,
        judged(lines(right, order), tmp_path) as c,
    ):
        there, back, again = held(a, b), held(b, a), held(a, c)
    assert steady(there) == steady(again)
    number, mirror = there["exposures"]["counts"], back["exposures"]["counts"]
    assert mirror == number | {"new": number["gone"], "gone": number["new"]}
    assert [mirrored(m) for m in there["measures"]] == [flat(m) for m in back["measures"]]


def steady(found: dict[str, Any]) -> dict[str, Any]:
    return found | {"measures": [flat(m) for m in found["measures"]], "verdicts": None}


def flat(row: dict[str, Any]) -> dict[str, Any]:
    return {k: round(v, 9) + 0.0 if isinstance(v, float) else v for k, v in row.items() if k != "worse"}


def mirrored(row: dict[str, Any]) -> dict[str, Any]:
    turned = {"left": row["right"], "right": row["left"], "difference": -row["difference"]}
    turned |= {"low": -row["high"], "high": -row["low"]}
    return flat(row | turned | {"left_only": row["right_only"], "right_only": row["left_only"]})


@unhurried
@given(corpora)
def test_a_further_disclosure_is_new_and_one_less_is_gone(tmp_path: Path, corpus: Corpus) -> None:
    corpus = {("s1", "A0"): [("C2", 0, 1, False)], **corpus}
    more = corpus | {("s1", "A0"): [*corpus["s1", "A0"], ("C1", 0, 1, True)]}
    with judged(lines(corpus), tmp_path) as a, judged(lines(more), tmp_path) as b:
        found = held(a, b)
    known = any(channel == "C1" and telling for channel, _, _, telling in corpus["s1", "A0"])
    # Whom a party is told by may change where it knew already; who learns something new is the user alone.
    assert found["exposures"]["counts"]["new"] == (0 if known else 1)
    assert found["exposures"]["counts"]["gone"] == 0


def test_units_by_run_add_up_to_the_measures() -> None:
    with Case() as case:
        Loader(case).load([SAMPLE / "traces.jsonl"])
        from earwitness.audit.pipeline import read_request

        audit(case, read_request(SAMPLE / "policy.yaml", None, DEFAULT))
        told = read_side(case, "x", "k")
        rows = totals([told], pair((told,)))
        figures = case.rows("SELECT name, grp, k, n FROM measures")
    found = {(r["measure"], json.dumps(r["group"], sort_keys=True)): r["sides"][0] for r in rows}
    means = {m.name for m in MEASURES if m.kind == "mean"}
    expected = {(n, json.dumps(json.loads(g), sort_keys=True)): (k, of) for n, g, k, of in figures if n not in means}
    assert {key: (s["k"], s["n"]) for key, s in found.items() if s["k"] or key in expected} == expected


def test_baseline_entries_by_day_and_channel() -> None:
    entry = baselines.Entry(id="i", attribute="a", channel="C2", expires=date(2026, 1, 31))
    told = [("i", frozenset({"C2"})), ("i", frozenset({"C1", "C2"})), ("j", frozenset({"C2"}))]
    on, after = (baselines.apply([entry], told, date(2026, m, d)) for m, d in ((1, 31), (2, 1)))
    assert (set(on.known), set(on.lapsed), on.stale, on.expired) == ({0}, set(), (), ())
    assert (set(after.known), set(after.lapsed), after.stale, after.expired) == (set(), {0}, (), (entry,))
    assert baselines.apply([entry], told[2:], date(2026, 1, 1)).stale == (entry,)


# Public runs.


@pytest.fixture(scope="module")
def leaks(tmp_path_factory: pytest.TempPathFactory, shared: Callable[[str], list[Path]]) -> Iterator[list[Case]]:
    """The AgentLeak runs by the published rule and by the default ones."""
    corpus, folder = shared("data/agentleak_traces/traces_3214.tar.xz")[0], tmp_path_factory.mktemp("leaks")
    made = []
    for rules in (LITERAL, DEFAULT):
        case = Case(folder / f"{rules.name}.duckdb")
        Loader(case).load([corpus])
        audit(case, Request(rules=rules))
        made.append(case)
    yield made
    for case in made:
        case.close()


@pytest.mark.real
def test_literal_against_default_rules(leaks: list[Case]) -> None:
    left, right = (read_side(case, name, "k") for case, name in zip(leaks, ("literal", "default"), strict=True))
    pairing = pair((left, right))
    assert (pairing.pairs, pairing.alone) == (6428, (0, 0))
    found = {(r["measure"], *r["group"].values()): r for r in differences(left, right, pairing)}
    figures = [{(n, *json.loads(g).values()): (k, of) for n, g, k, of in c.rows(_FIGURES)} for c in leaks]
    for name, row in found.items():
        if row["left"]["alone"] == row["right"]["alone"] == 0:
            assert [(row[s]["k"], row[s]["n"]) for s in ("left", "right")] == [f[name] for f in figures]
    exposures = compare_exposures(left, right, pairing)
    number = counts(exposures.table)
    # One row a run, attribute, text and recipient; a text may stand in the vault of a run twice.
    assert number["gone"] + number["moved"] + number["same"] == _distinct(left)
    assert number["new"] + number["moved"] + number["same"] == _distinct(right)
    assert number["new"] > number["gone"] > 0
    assert same_recordings(left, right)
    # The same policy: no verdict changes, values are found or not.
    assert changed(left, right, pairing)["changed"] == 0


_FIGURES = "SELECT name, grp, k, n FROM measures"


def _distinct(told: Side) -> int:
    bad = told.exposures.filter(pl.col("authorised").eq_missing(False))
    return bad.select("trace", "attribute", "mark", "recipient").unique().height


@pytest.mark.real
def test_models_against_each_other(leaks: list[Case]) -> None:
    from statsmodels.stats.contingency_tables import cochrans_q, mcnemar  # type: ignore[import-untyped]

    models, silent = split(read_side(leaks[1], "x", "k", "model"), "model")
    assert (len(models), silent) == (5, 0)
    pairing = pair(models, ("model",))
    hits = dict(leaks[1].rows("SELECT (scenario, model), any_value(verdict) FROM traces JOIN (SELECT trace, "
                              "max(verdict = 'leak') AS verdict FROM coverage GROUP BY trace) USING (trace) "
                              "WHERE arm = 'multi' GROUP BY ALL"))  # fmt: skip
    names = [m.name for m in models]
    scenarios = sorted({s for s, _ in hits if all((s, n) in hits for n in names)})
    table = np.array([[bool(hits[s, n]) for n in names] for s in scenarios])
    (test,) = (t for t in spread(models, pairing) if (t["measure"], t["group"]) == ("any_leakage", {"arm": "multi"}))
    assert test["n"] == len(scenarios)
    assert test["q"] == pytest.approx(cochrans_q(table).statistic)
    (row,) = (r for r in differences(models[2], models[4], pair((models[2], models[4]), ("model",)))
              if (r["measure"], r["group"]) == ("any_leakage", {"arm": "multi"}))  # fmt: skip
    both = [(hits[s, names[2]], hits[s, names[4]]) for s, n in hits if n == names[2] and (s, names[4]) in hits]
    cells = [[sum((bool(a), bool(b)) == (x, y) for a, b in both) for y in (True, False)] for x in (True, False)]
    assert row["p"] == pytest.approx(mcnemar(cells, exact=True).pvalue)
    assert (row["left_only"], row["right_only"]) == (cells[0][1], cells[1][0])
