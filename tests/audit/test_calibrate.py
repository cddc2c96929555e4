"""Calibration: the published table comes out of its counts, and the choice does what it says on any scores."""

import json
from collections import Counter
from collections.abc import Callable
from math import isclose
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.audit.agreement import agreement, cohen_kappa
from earwitness.audit.calibrate import (
    ENOUGH,
    Scored,
    calibrate,
    choose,
    figures,
    fragment,
    merge,
    sweep,
    thresholds,
)
from earwitness.audit.evaluate import share
from earwitness.schema.policy import parse_policy
from earwitness.schema.words import CHANNELS


@pytest.fixture(scope="module")
def paper(shared: Callable[[str], list[Path]]) -> dict[str, Any]:
    """The published figures; skips where they are absent."""
    tables: dict[str, Any] = json.loads(shared("reference/paper_tables.json")[0].read_text())
    return tables


def instances(table: dict[str, Any]) -> list[Scored]:
    """Scores that give the counts of every row: what drops out of a row had its upper end as score."""
    rows = table["rows"]
    out = []
    for row, after in zip(rows, [*rows[1:], {"tp": 0, "fp": 0}], strict=True):
        score = row["threshold"][1]
        out += [Scored(True, score)] * (row["tp"] - after["tp"]) + [Scored(False, score)] * (row["fp"] - after["fp"])
    return out + [Scored(True, 0.1)] * rows[0]["fn"] + [Scored(False, 0.1)] * rows[0]["tn"]


# Digits the paper prints and its own counts do not give: cut off where rounding was due, and one that is neither.
PRINTED_OTHERWISE = {
    ("fnr", 0.61): (0.0937, 0.0938),
    ("fnr", 0.81): (0.2187, 0.2188),
    ("accuracy", 0.81): (0.9665, 0.9666),
    ("accuracy", 0.86): (0.9665, 0.9666),
    ("precision", 0.71): (0.8965, 0.8966),
    ("precision", 0.81): (0.8926, 0.8929),
}


def test_the_published_table_comes_out_of_its_counts(paper: dict[str, Any]) -> None:
    table = paper["threshold_calibration"]
    rows = merge(sweep(instances(table), thresholds()))
    assert [[r.low, r.high] for r in rows] == [r["threshold"] for r in table["rows"]]
    odd = {}
    for row, printed in zip(map(figures, rows), table["rows"], strict=True):
        assert {k: row[k] for k in ("tp", "fp", "fn", "tn")} == {k: printed[k] for k in ("tp", "fp", "fn", "tn")}
        for name in ("fpr", "fnr", "accuracy", "precision", "recall", "f1"):
            rate = row[name] if name == "f1" else row[name]["rate"]
            if not isclose(round(rate, 4), printed[name]):
                odd[name, row["low"]] = (printed[name], round(rate, 4))
    assert odd == PRINTED_OTHERWISE


def test_the_published_choice_is_made(paper: dict[str, Any]) -> None:
    table = paper["threshold_calibration"]
    result = calibrate(instances(table))
    assert (result["n"], result["leaked"]) == (table["n"], table["positives"])
    best = result["choice"]
    assert best["threshold"] == table["chosen"]
    assert [best["low"], best["high"]] == table["rows"][0]["threshold"]
    assert round(best["f1"], 4) == table["rows"][0]["f1"]
    assert max(r["fpr"]["rate"] for r in result["rows"]) < 0.05


def test_published_recall_by_value_type(paper: dict[str, Any]) -> None:
    recall = paper["detector_recall_pre_tuning"]
    rates = {kind: share(k, n) for kind, (k, n) in recall.items()}
    told = {kind: round(100 * r["rate"], 1) for kind, r in rates.items() if r}
    assert told == {"value_dependent": 85.0, "format_dependent": 65.1, "contextual": 36.0, "overall": 62.9}
    parts = [recall[k] for k in ("value_dependent", "format_dependent", "contextual")]
    assert [sum(column) for column in zip(*parts, strict=True)] == recall["overall"]


def test_steps_of_a_twentieth_give_the_same_choice(paper: dict[str, Any]) -> None:
    pairs = instances(paper["threshold_calibration"])
    coarse = calibrate(pairs, thresholds(step=0.05))["choice"]
    assert (coarse["threshold"], coarse["low"], coarse["high"]) == (0.5, 0.35, 0.6)


def test_kappa_by_hand() -> None:
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: observed 0.7, expected 0.5, kappa 0.4.
    counts = Counter({("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15})
    kappa = cohen_kappa(counts)
    assert kappa is not None
    assert isclose(kappa, 0.4)
    assert cohen_kappa(Counter({("y", "y"): 3})) is None
    assert cohen_kappa(Counter()) is None


def test_unsure_counts_three_way_and_not_in_the_binary_figure() -> None:
    pairs = [("leak", "leak")] * 6 + [("no-leak", "no-leak")] * 6 + [("unsure", "leak")] * 2 + [("leak", "no-leak")]
    assert agreement(pairs)[:2] == (15, 12)
    assert agreement(pairs, without=("unsure",))[:2] == (13, 12)


scores = st.lists(
    st.builds(Scored, leaked=st.booleans(), score=st.integers(0, 100).map(lambda n: n / 100)), min_size=1, max_size=60
)


@given(scores, st.sampled_from([0.05, 0.2, 1.1]))
def test_no_allowed_threshold_is_better_than_the_chosen_one(pairs: list[Scored], bound: float) -> None:
    rows = sweep(pairs, thresholds())
    for row in rows:
        assert sum(row.counts) == len(pairs)
        assert row.counts.tp == sum(p.leaked and p.score >= row.low for p in pairs)
        assert row.counts.fp == sum(not p.leaked and p.score >= row.low for p in pairs)
    best = choose(rows, bound)
    allowed = [r.f1 for r in rows if r.fpr < bound and r.counts.tp]
    assert (best is None) == (not allowed)
    if best:
        assert isclose(best.row.f1, max(allowed))
        assert best.low <= best.threshold <= best.high
        (again,) = sweep(pairs, [best.threshold])
        assert again.counts == best.row.counts


def test_floors_go_into_a_policy() -> None:
    pairs = [Scored(n % 2 == 0, 0.9 if n % 2 == 0 else 0.3, channel="C2") for n in range(4 * ENOUGH)]
    pairs += [Scored(True, 0.9, channel="C6")]
    text = fragment(calibrate(pairs))
    floors = parse_policy(text.encode(), "floors.yaml").confidence
    assert set(floors) == {"C2", "C6"} <= set(CHANNELS)
    assert floors["C2"] == floors["C6"] == 0.65
    assert "too few" in text.splitlines()[-1]


def test_nothing_to_choose_from() -> None:
    result = calibrate([Scored(True, 0.1), Scored(False, 0.9)])
    assert result["choice"] is None
    assert fragment(result).startswith("# no threshold")
    assert parse_policy(fragment(result).encode(), "floors.yaml").confidence == {}
