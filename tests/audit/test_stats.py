"""Intervals and tests against published figures, and against scipy and statsmodels on any counts."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2
from statsmodels.stats.contingency_tables import cochrans_q, mcnemar  # type: ignore[import-untyped]

from earwitness.audit.significance import Comparison, compared
from earwitness.audit.stats import bootstrap, chi2_tail, cochran_q, mcnemar_corrected, mcnemar_exact, wilson

ROWS = json.loads((Path(__file__).parent.parent / "golden/stats/wilson.json").read_text())["rows"]


def percent(k: int, n: int) -> tuple[float, float]:
    low, high = wilson(k, n)
    return round(100 * low, 1), round(100 * high, 1)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['k']}of{r['n']}")
def test_published_intervals(row: dict[str, float]) -> None:
    assert percent(int(row["k"]), int(row["n"])) == (row["low"], row["high"])


@pytest.mark.real
def test_reference_tables(shared: Callable[[str], list[Path]]) -> None:
    rows = json.loads(shared("reference/paper_tables.json")[0].read_text())["wilson_95"]
    assert len(rows) == 10
    for row in rows:
        low, high = percent(row["k_derived"], row["n"])
        assert round(100 * row["k_derived"] / row["n"], 1) == row["rate"]
        # The one interval whose print is off says so in its note: the exact upper bound is 6.9.
        printed = [6.9 if "note" in row and bound == 7.0 else bound for bound in row["ci"]]
        assert [low, high] == printed


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_interval_holds_the_rate(counts: tuple[int, int]) -> None:
    k, n = counts
    low, high = wilson(k, n)
    assert 0 <= low <= k / n + 1e-12
    assert k / n - 1e-12 <= high <= 1


@given(
    st.integers(1, 5_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.9, 0.95, 0.99]),
)
def test_scipy_agrees(counts: tuple[int, int], level: float) -> None:
    expected = binomtest(*counts).proportion_ci(level, method="wilson")
    assert wilson(*counts, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_impossible_counts(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="0 <= k <= n"):
        wilson(k, n)


# Tails and tests.


@given(st.integers(1, 120), st.floats(0, 900))
def test_tails_as_scipy_has_them(df: int, x: float) -> None:
    assert chi2_tail(x, df) == pytest.approx(chi2.sf(x, df), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("x", "df"), [(1.0, 0), (-0.1, 2)])
def test_impossible_tails(x: float, df: int) -> None:
    with pytest.raises(ValueError, match="df >= 1"):
        chi2_tail(x, df)


tables = st.integers(2, 6).flatmap(
    lambda k: st.lists(st.lists(st.booleans(), min_size=k, max_size=k), min_size=1, max_size=40)
)


@given(tables)
def test_q_as_statsmodels_has_it(rows: list[list[bool]]) -> None:
    hits = np.array(rows)
    found = cochran_q(hits)
    if all(len(set(row)) == 1 for row in rows):
        assert (found.statistic, found.p) == (None, None)
        return
    expected = cochrans_q(hits.astype(int))
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert found.df == expected.df
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_as_statsmodels_has_it(first: int, second: int) -> None:
    exact, corrected = mcnemar_exact(first, second), mcnemar_corrected(first, second)
    if first + second == 0:
        assert (exact.p, corrected.p) == (None, None)
        return
    table = [[5, first], [second, 7]]
    assert exact.p == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-9)
    if first != second:
        expected = mcnemar(table, exact=False, correction=True)
        assert (corrected.statistic, corrected.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)
    else:
        # Half a pair cannot be taken off no difference.
        assert (corrected.statistic, corrected.p) == (0.0, 1.0)


def test_q_of_two_conditions_is_mcnemar_without_correction() -> None:
    hits = np.array([[1, 0]] * 9 + [[0, 1]] * 4 + [[1, 1]] * 3 + [[0, 0]] * 2, dtype=bool)
    assert cochran_q(hits).statistic == pytest.approx((9 - 4) ** 2 / 13)


@given(st.dictionaries(st.integers(0, 30), st.integers(1, 50), min_size=1, max_size=6))
def test_bootstrap_holds_the_mean_and_stays_inside(spread: dict[int, int]) -> None:
    low, high = bootstrap(spread)
    mean = sum(c * n for c, n in spread.items()) / sum(spread.values())
    assert min(spread) - 1e-9 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= max(spread) + 1e-9
    assert bootstrap(spread) == (low, high)


def test_bootstrap_is_near_the_normal_interval_of_many_units() -> None:
    low, high = bootstrap({0: 600, 1: 300, 2: 100})
    mean, deviation = 0.5, (0.3 + 0.4 - 0.25) ** 0.5
    assert (low, high) == pytest.approx(
        (mean - 1.96 * deviation / 1000**0.5, mean + 1.96 * deviation / 1000**0.5), abs=4e-3
    )
    with pytest.raises(ValueError, match="needs a unit"):
        bootstrap({})


# Which runs are compared.

CELLS = ("scenario", "horizon", "pair", "topology", "adversary", "framework", "model", "arm")


def runs(*rows: dict[str, object]) -> pl.DataFrame:
    """Judged runs: what a row does not say is the same for all."""
    usual = dict.fromkeys(CELLS) | {"positioned": True, "grown": True, "judged": True}
    usual |= {"leaked": False, "introduced": False, "propagated": False}
    kinds = dict.fromkeys(CELLS, pl.String) | {"trace": pl.Int32, "horizon": pl.Int32}
    return pl.DataFrame([{"trace": n, **usual, **row} for n, row in enumerate(rows)], schema_overrides=kinds)


def of(found: list[Comparison], name: str, **group: str) -> list[Comparison]:
    return [t for t in found if t.name == name and t.grp == group]


def test_blocks_zeros_and_what_is_left_out() -> None:
    rows: list[dict[str, object]] = []
    for n in range(6):
        for topology in ("CW-2", "CW-7", "P2P-4", "Hier-7"):
            if (n, topology) != (5, "P2P-4"):
                hit = topology == "Hier-7" or (topology == "P2P-4" and n % 2 == 0)
                rows.append({"scenario": f"s{n}", "topology": topology, "introduced": hit, "grown": topology != "CW-2"})
    rows.append({**rows[1], "introduced": True})
    (new,) = of(list(compared(runs(*rows))), "new_agent_disclosure")
    assert (new.test, new.factor, new.levels) == ("cochran-q", "topology", ["CW-7", "Hier-7", "P2P-4"])
    assert (new.blocks, new.excluded) == (5, 1)
    assert new.note == (
        "structural zero left out: CW-2 (no introduced agent); repeated runs left out: 1 (the first of each counts)"
    )
    expected = cochrans_q(np.array([[0, 1, 1], [0, 1, 0], [0, 1, 1], [0, 1, 0], [0, 1, 1]]))
    assert new.outcome.statistic == pytest.approx(expected.statistic)
    (surface,) = of(list(compared(runs(*rows))), "surface_leakage")
    assert surface.levels == ["CW-2", "CW-7", "Hier-7", "P2P-4"]
    assert surface.outcome.p is None
    assert surface.note is not None
    assert surface.note.endswith("undefined: no block differs between the levels")


def test_two_levels_and_the_cells_of_other_factors() -> None:
    rows: list[dict[str, object]] = [
        {"scenario": f"s{n}", "framework": f, "adversary": a, "leaked": f == "x" and (n < 7 or a == "A1")}
        for n in range(8)
        for f in ("x", "y")
        for a in ("A0", "A1")
    ]
    found = list(compared(runs(*rows)))
    pooled = [t for t in of(found, "surface_leakage") if t.factor == "framework"]
    assert [t.test for t in pooled] == ["mcnemar-exact", "mcnemar-corrected"]
    assert (pooled[0].blocks, pooled[0].outcome) == (16, mcnemar_exact(15, 0))
    assert pooled[0].note == "blocks of one scenario are taken as independent"
    cell = [t for t in of(found, "surface_leakage", adversary="A0") if t.factor == "framework"]
    assert (cell[0].blocks, cell[1].outcome, cell[0].note) == (8, mcnemar_corrected(7, 0), None)
    assert {t.factor for t in found} == {"framework", "adversary"}


def test_runs_without_anything_varied_give_no_test() -> None:
    assert list(compared(runs({"scenario": "s", "topology": "CW-2"}))) == []
    assert list(compared(runs({"scenario": "s", "topology": "CW-2"}).clear())) == []


def test_levels_that_differ_in_another_factor_are_compared_and_it_is_said() -> None:
    rows: list[dict[str, object]] = [
        {"scenario": f"s{n}", "arm": arm, "topology": topology, "model": model, "leaked": arm == "multi" and n < 4}
        for n in range(5)
        for arm, topology in (("multi", "CW-2"), ("single", "none"))
        for model in ("m1", "m2")
    ]
    found = [t for t in compared(runs(*rows)) if t.factor == "arm" and not t.grp and t.name == "surface_leakage"]
    assert [(t.blocks, t.excluded, t.note) for t in found] == [
        (10, 0, "the levels differ in topology, too; blocks of one scenario are taken as independent")
    ] * 2
    assert found[0].outcome == mcnemar_exact(8, 0)
