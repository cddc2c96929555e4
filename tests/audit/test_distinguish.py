"""Distinguishability: corpora without an effect, with a planted one, with planted confounds; features by hand."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from earwitness.audit.distinguish import classify
from earwitness.audit.distinguish.confounds import order, repaired
from earwitness.audit.distinguish.features import FEATURES, NAMES, features
from earwitness.audit.distinguish.pairs import CELL, pairs
from earwitness.audit.distinguish.study import Study, StudyOptions, study
from earwitness.audit.pipeline import Request, audit
from earwitness.cli import cli
from earwitness.ingest.loader import Loader
from earwitness.reports.distinguish import distinguish
from earwitness.reports.shown import Shown
from earwitness.schema.case import Case
from earwitness.schema.errors import MissingExtraError

Line = dict[str, Any]
Change = Callable[[random.Random, int, Line], None]
GOLDEN = Path(__file__).parents[1] / "golden" / "studies" / "two_halves.yaml"
SCENARIOS = 40
VALUES = ("zq", "zqzq")


def corpus(effect: Change, *, horizon: int = 5, seed: int = 3) -> list[Line]:
    """Pairs of runs whose structure is drawn from one distribution; `effect` may change a run's recipe."""
    rng = random.Random(seed)
    lines: list[Line] = []
    for n in range(SCENARIOS):
        base = rng.randint(3, 9)
        for side in (0, 1):
            run: Line = {
                "messages": base + rng.randint(0, 3),
                "tools": rng.randint(0, 2),
                "answer": rng.randint(40, 90),
            }
            run |= {"day": 1 + rng.randint(0, 27), "value": VALUES[rng.randint(0, 1)]}
            effect(rng, side, run)
            lines += recipe(f"s{n}-{side}", n, side, horizon, run, rng)
    return lines


def recipe(trace: str, n: int, side: int, horizon: int, run: Line, rng: random.Random) -> Iterator[Line]:
    yield {"type": "trace", "id": trace, "framework": "test", "scenario": f"s{n}", "domain": f"d{n % 2}",
           "pair": "ab"[side], "horizon": horizon,
           "started_at": f"2026-01-{run['day']:02}T00:00:{rng.randint(0, 59):02}Z"}  # fmt: skip
    yield {"type": "value", "trace": trace, "attribute": "code", "value": run["value"]}
    yield {"type": "rule", "trace": trace, "effect": "allow", "attributes": ["code"], "recipients": ["lead"]}
    for seq in range(run["messages"]):
        sender, to = ("lead", "worker") if rng.random() < 0.5 else ("worker", "lead")
        yield {"type": "event", "trace": trace, "seq": seq, "channel": "C2", "sender": sender, "to": [to],
               "content": "m" * rng.randint(10, 60)}  # fmt: skip
    for seq in range(run["tools"]):
        yield {"type": "event", "trace": trace, "seq": 50 + seq, "channel": "C3", "sender": "worker", "to": ["search"],
               "content": "t" * rng.randint(5, 20)}  # fmt: skip
    yield {"type": "event", "trace": trace, "seq": 90, "channel": "C1", "sender": "lead", "to": ["user"],
           "content": "a" * run["answer"]}  # fmt: skip


@contextmanager
def audited(folder: Path, lines: list[Line]) -> Iterator[Case]:
    path = folder / "traces.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Case() as case:
        Loader(case).load([path])
        audit(case, Request())
        yield case


def studied(folder: Path, lines: list[Line]) -> tuple[Study, dict[str, Any]]:
    with audited(folder, lines) as case:
        found = study(case, StudyOptions(permutations=60))
        (report,) = distinguish(Shown(case), found)["horizons"]
    return found, report


def nothing(rng: random.Random, side: int, run: Line) -> None:
    """No effect."""


def more_tools(rng: random.Random, side: int, run: Line) -> None:
    run["tools"] += 3 * side * (rng.random() < 0.8)


def later(rng: random.Random, side: int, run: Line) -> None:
    run["day"] = 1 + 14 * side + rng.randint(0, 13)


def longer(rng: random.Random, side: int, run: Line) -> None:
    run["answer"] = 40 * len(run["value"]) + rng.randint(0, 5)


def test_without_an_effect_nothing_is_found(tmp_path: Path) -> None:
    found, report = studied(tmp_path, corpus(nothing))
    told = found.horizons[0].advantage
    assert told
    assert told.n == SCENARIOS
    assert told.null_low <= told.estimate <= told.null_high
    assert not report["distinguishable"]
    assert not any("confounded" in s.lower() for s in report["says"])


def test_a_planted_effect_is_found(tmp_path: Path) -> None:
    found, report = studied(tmp_path, corpus(more_tools))
    (h,) = found.horizons
    assert h.advantage
    assert h.advantage.estimate > 0.25 > h.advantage.null_high
    assert h.advantage.p <= 0.02
    assert report["distinguishable"]
    assert not any("CONFOUNDED" in s for s in report["says"])
    (tools,) = [d for d in h.directions if d.feature == "events_c3"]
    assert tools.t
    assert tools.t > 4
    assert tools.second > tools.first


def test_a_planted_order_is_said(tmp_path: Path) -> None:
    found, report = studied(tmp_path, corpus(later))
    assert found.horizons[0].order.correlation == 1
    assert found.horizons[0].order.later == SCENARIOS
    assert any("CONFOUNDED: one member was generated later in all 40 pairs" in s for s in report["says"])


def test_without_times_the_place_in_the_file_is_the_order(tmp_path: Path) -> None:
    lines = [{k: v for k, v in line.items() if k != "started_at"} for line in corpus(nothing)]
    found, _ = studied(tmp_path, lines)
    assert found.horizons[0].order == (1.0, SCENARIOS, 0, 0, "position")


def test_a_planted_length_is_said(tmp_path: Path) -> None:
    found, report = studied(tmp_path, corpus(longer))
    lengths = found.horizons[0].lengths
    assert lengths.within
    assert lengths.within > 0.9
    assert lengths.apart is not None
    assert lengths.apart < 6
    assert any("longer values go with longer answers" in s for s in report["says"])


def test_the_control_sees_that_runs_of_a_scenario_are_alike(tmp_path: Path) -> None:
    found, report = studied(tmp_path, corpus(nothing))
    control = found.horizons[0].control
    assert control.advantage
    assert control.ratios["events"] < 0.8
    assert report["control"]["n"] == SCENARIOS


def test_pairs_that_disclose_are_left_out_and_counted(tmp_path: Path) -> None:
    lines = corpus(nothing)
    lines.append({"type": "event", "trace": "s0-0", "seq": 95, "channel": "C2", "sender": "lead", "to": ["worker"],
                  "content": next(x["value"] for x in lines if x["type"] == "value") + " code: zq, zqzq"})  # fmt: skip
    with audited(tmp_path, lines) as case:
        case.execute("UPDATE verdicts SET standing = 'confirmed'")
        assert (len(pairs(case).frame), pairs(case).disclosed) == (SCENARIOS - 1, 1)
        assert len(pairs(case, disclosed=True).frame) == SCENARIOS


def test_the_study_is_the_same_twice_and_kept(tmp_path: Path) -> None:
    with audited(tmp_path, corpus(more_tools)) as case:
        options = StudyOptions(permutations=20)
        first = study(case, options)
        kept = case.rows("SELECT * FROM distinguishability ORDER BY ALL")
        assert study(case, options) == first
        assert case.rows("SELECT * FROM distinguishability ORDER BY ALL") == kept
        assert case.one("SELECT estimate FROM distinguishability WHERE figure = 'advantage'") == pytest.approx(
            first.horizons[0].advantage.estimate if first.horizons[0].advantage else None
        )


def test_horizons_are_studied_apart_and_few_scenarios_not_at_all(tmp_path: Path) -> None:
    lines = corpus(nothing)
    few = [x | {"id": "x" + x["id"], "horizon": 20} if x["type"] == "trace" else x | {"trace": "x" + x["trace"]}
           for x in lines if (x.get("id") or x["trace"]).split("-")[0] in ("s0", "s1")]  # fmt: skip
    with audited(tmp_path, lines + few) as case:
        found = study(case, StudyOptions(permutations=20))
        said = distinguish(Shown(case), found)["horizons"][1]["says"]
    assert [(h.horizon, h.pairs) for h in found.horizons] == [(5, SCENARIOS), (20, 2)]
    assert found.horizons[1].advantage is None
    assert said == ["2 scenarios with pairs: too few to learn from"]


def test_without_pairs_there_is_nothing(tmp_path: Path) -> None:
    with audited(tmp_path, [x for x in corpus(nothing) if "-0" in (x.get("id") or x["trace"])]) as case:
        assert study(case) == ([], 0, SCENARIOS)


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "find_spec", lambda name: None)
    with (
        audited(tmp_path, corpus(nothing)[:20]) as case,
        pytest.raises(MissingExtraError, match=r"earwitness\[study\]"),
    ):
        study(case)


def test_the_command_tells_keys_that_are_documented(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in corpus(more_tools)))
    place = str(tmp_path / "case.duckdb")
    with Case(tmp_path / "case.duckdb") as case:
        Loader(case).load([path])
        audit(case, Request())
    done = CliRunner().invoke(cli, ["distinguish", "--case", place, "--permutations", "60", "--json"])
    assert done.exit_code == 1, done.output
    told = json.loads(done.output)
    (horizon,) = told["horizons"]
    parts = [horizon[k] for k in ("advantage", "order", "lengths")]
    page = (Path(__file__).parents[2] / "docs" / "distinguishability.md").read_text()
    keys = [*told, *told["left_out"], *horizon, *(k for p in parts for k in p), *horizon["directions"][0]]
    assert [k for k in keys if f"`{k}`" not in page] == []
    shown = CliRunner().invoke(cli, ["distinguish", "--case", place, "--permutations", "60"]).output
    assert "horizon T5: the members of a pair can be told apart" in shown


# Features.


def test_features_are_many_named_once_and_documented() -> None:
    assert len(NAMES) == len(set(NAMES)) >= 33
    assert all(f.doc for f in FEATURES)
    page = (Path(__file__).parents[2] / "docs" / "distinguishability.md").read_text()
    assert [n for n in NAMES if f"| `{n}` |" not in page] == []


def test_features_by_hand(tmp_path: Path) -> None:
    golden = yaml.safe_load(GOLDEN.read_text())
    with audited(tmp_path, golden["lines"]) as case:
        (row,) = features(case).to_dicts()
    assert {n: row[n] for n in golden["features"]} == pytest.approx(golden["features"], abs=1e-6)


def test_features_read_no_word(tmp_path: Path) -> None:
    lines = corpus(more_tools)[:60]
    other = [x | ({"content": "".join(reversed(x["content"])).upper().replace("M", "k")} if "content" in x else {})
             for x in lines]  # fmt: skip
    other = [x | ({"value": "other"} if x["type"] == "value" else {}) for x in other]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with audited(tmp_path / "a", lines) as one, audited(tmp_path / "b", other) as two:
        assert features(one).equals(features(two))


# Parts.

PAIR = st.fixed_dictionaries({"scenario": st.sampled_from("pqrs"), "domain": st.sampled_from(["x", None]),
                              "topology": st.sampled_from(["CW-2", "CW-7"])})  # fmt: skip


@given(st.lists(PAIR, min_size=1, max_size=12), st.integers(0, 99))
def test_synthetic_pairs_keep_the_cell_and_change_the_scenario(rows: list[dict[str, Any]], seed: int) -> None:
    frame = pl.DataFrame(rows, {"scenario": pl.String, "domain": pl.String, "topology": pl.String})
    frame = frame.with_columns(pl.lit(None, pl.String).alias(c) for c in CELL if c not in frame.columns)
    first, second = repaired(frame, seed)
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        one, two = frame.row(a, named=True), frame.row(b, named=True)
        assert one["scenario"] != two["scenario"]
        assert (one["domain"], one["topology"]) == (two["domain"], two["topology"])
    scenarios = frame.group_by("domain", "topology").agg(pl.col("scenario").n_unique().alias("n"), pl.len())
    assert len(first) == scenarios.filter(pl.col("n") > 1)["len"].sum()


@pytest.mark.parametrize(("later_pairs", "correlation"), [(4, 1.0), (0, -1.0), (3, 0.5), (2, 0.0)])
def test_the_order_is_a_correlation(later_pairs: int, correlation: float) -> None:
    rows = [{"started_at_a": 5, "started_at_b": 5 + (1 if n < later_pairs else -1)} for n in range(4)]
    rows.append({"started_at_a": 5, "started_at_b": 5})
    frame = pl.DataFrame(rows).with_columns(
        pl.lit(0).alias("source_a"), pl.lit(1).alias("source_b"), pl.lit(1).alias("line_a"), pl.lit(2).alias("line_b")
    )
    assert order(frame) == (correlation, later_pairs, 4 - later_pairs, 1, "started_at")
