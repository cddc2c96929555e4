"""Figures: every number is told in words, hostile names do nothing, labels do not cover each other."""

import builtins
import importlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.audit.stats import wilson
from earwitness.reports import plots
from earwitness.reports.plots.style import apart, words
from earwitness.schema.errors import MissingExtraError

pytest.importorskip("matplotlib", reason="the extra `notebooks` is not installed")
HOSTILE = "\u6f22 $\\frac{1}{0$ \x1b[31m\n<b>" + "x" * 90
RATES = plots.with_intervals(pl.DataFrame({"name": ["a", HOSTILE, "c"], "k": [0, 3, 9], "n": [10, 10, 9]}))


def drawn(plot: plots.Plot) -> bytes:
    png = plot.png()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 5_000
    return png


def test_intervals_are_those_of_the_measures() -> None:
    frame = plots.with_intervals(pl.DataFrame({"k": [4, 0], "n": [144, 0]}))
    assert frame.rows() == [(4, 144, 4 / 144, *wilson(4, 144))]


def test_every_rate_is_told_in_words() -> None:
    plot = plots.dots(RATES, "name", title="Title")
    lines = plot.text.splitlines()
    assert lines[:2] == ["Title", "a: 0 of 10: 0.0 % [0.0, 27.8]"]
    assert len(lines) == 4
    drawn(plot)


def test_hostile_names_are_shown_plain() -> None:
    assert "\x1b" not in words(HOSTILE)
    assert "\n" not in words(HOSTILE)
    assert len(words(HOSTILE)) <= 34
    events = pl.DataFrame(
        [(1, HOSTILE, "b", "C2", "unauthorised"), (2, "b", None, "C7", None), (3, None, "b", "C2", "authorised")],
        schema=["seq", "sender", "recipient", "channel", "verdict"],
        orient="row",
    )
    holders = pl.DataFrame({"holder": [HOSTILE, "absent"], "seq": [0, 9], "verdict": ["not judged", "unauthorised"]})
    plot = plots.incident(events, holders, title=HOSTILE)
    assert len(plot.text.split(HOSTILE)[1].splitlines()) == 1 + 3 + 2
    drawn(plot)


def test_the_same_numbers_give_the_same_bytes(tmp_path: Path) -> None:
    made = [plots.dots(RATES, "name", title="Title") for _ in range(2)]
    assert drawn(made[0]) == drawn(made[1])
    made[0].save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == made[1].png()


def test_another_number_is_another_figure() -> None:
    moved = plots.with_intervals(RATES.select("name", "n", k=pl.Series([1, 3, 9])))
    one, other = (plots.dots(frame, "name", title="Title") for frame in (RATES, moved))
    assert one.text != other.text
    assert drawn(one) != drawn(other)


def test_panels_and_series() -> None:
    frame = RATES.join(pl.DataFrame({"series": ["A", "B"]}), how="cross").join(
        pl.DataFrame({"panel": ["one", "two", "three"]}), how="cross"
    )
    plot = plots.lines(frame, "name", series="series", panel="panel", title="Title", note="n", across="name")
    assert len(plot.text.splitlines()) == 1 + 18
    drawn(plot)
    drawn(plots.dots(frame.filter(pl.col("panel") == "one"), "name", series="series", mark="high", title="Title"))


def test_shares_guards_thresholds() -> None:
    verdicts = pl.DataFrame({"c": ["C1", "C2"], "leak": [0, 2], "unverifiable": [1, 0], "clean": [2, 1]})
    assert "C1: leak 0, unverifiable 1, clean 2" in plots.coverage(verdicts, "c", title="t").text
    learned = pl.DataFrame(
        {"recipient": ["a"], "attribute": ["ssn"], "group": ["agents"], "runs": [3], "unauthorised": [1]}
    )
    assert "a, ssn: learned in 3, without leave in 1" in plots.knowledge(learned, title="t").text
    guards = pl.DataFrame({"guard": ["a > b"], "stopped": [3], "remaining": [1]})
    assert "1. a > b: stops 3, leaves 1" in plots.remaining(guards, total=4, title="t").text
    rows = {"low": [0.1, 0.3], "high": [0.2, 0.4], "recall": [1.0, 0.0], "precision": [0.5, None]}
    curve = pl.DataFrame(rows | {"F1": [0.7, 0.0], "false positives": [0.2, 0.0]})
    plot = plots.thresholds(curve, chosen=0.2, bound=0.05, title="t")
    assert "0.30 to 0.40: recall 0.0 %, F1 0.0 %, false positives 0.0 %" in plot.text
    drawn(plot)


def test_replay() -> None:
    sides = RATES.join(pl.DataFrame({"measure": ["residual", "correct_allow"]}), how="cross").with_columns(
        corpus=pl.lit(HOSTILE)
    )
    plot = plots.tradeoff(sides, "name", series="corpus", title="t", note="n")
    assert len(plot.text.splitlines()) == 1 + 6
    assert f"residual, a, {words(HOSTILE)}: 0 of 10: 0.0 %" in plot.text
    drawn(plot)
    left = pl.DataFrame({"c": ["a", HOSTILE], "detection_miss": [3, 0], "no_recipient": [1, 0]}).with_columns(
        policy_gap=pl.lit(0), post_transform=pl.lit(0)
    )
    plot = plots.causes(left, "c", title="t", note="n")
    assert "a: detection miss 3, no recipient 1, policy gap 0, post transform 0" in plot.text
    drawn(plot)


@given(st.lists(st.floats(0, 1), max_size=6), st.floats(0.01, 0.2))
def test_labels_stand_apart_and_in_order(places: list[float], gap: float) -> None:
    moved = apart(places, gap)
    assert all(b - a >= gap - 1e-9 for a, b in pairwise(sorted(moved)))
    order = sorted(range(len(places)), key=lambda i: places[i])
    assert sorted(range(len(places)), key=lambda i: moved[i]) == order
    if all(b - a >= gap + 1e-9 for a, b in pairwise(sorted(places))):
        assert moved == pytest.approx(places)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *_: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return builtins.__import__(name)

    monkeypatch.setattr("earwitness.reports.plots.style.import_module", refuse)
    with pytest.raises(MissingExtraError, match=r"earwitness\[notebooks\]"):
        plots.dots(RATES, "name", title="t")
    assert importlib.import_module("matplotlib")
