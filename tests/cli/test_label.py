"""Labelling and calibration as a user runs them: two annotators, adjudication, and the next audit."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "topologies"
TRACES, POLICY = SAMPLE / "traces.jsonl", SAMPLE / "policy.yaml"


def run(*words: str | Path, code: int = 0, typed: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "earwitness", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        input=typed,
        env=dict(os.environ),
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code < 2 else done.stderr


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    case = tmp_path_factory.mktemp("label") / "case.duckdb"
    run("audit", TRACES, "--policy", POLICY, "--case", case, code=1)
    return case


@pytest.fixture
def case(audited: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "case.duckdb"
    copy.write_bytes(audited.read_bytes())
    return copy


def secrets() -> list[str]:
    return [str(v["value"]).lower() for v in yaml.safe_load(POLICY.read_text())["values"]]


def fill(path: Path, labels: list[str]) -> list[dict[str, Any]]:
    cards = [json.loads(line) | {"label": w} for line, w in zip(path.read_text().splitlines(), labels, strict=True)]
    path.write_text("".join(json.dumps(c) + "\n" for c in cards))
    return cards


def test_two_annotators_and_a_decision(case: Path, tmp_path: Path) -> None:
    queue = tmp_path / "queue.jsonl"
    assert "6 pairs, drawn from" in run("label", "queue", "--case", case, "--n", "6", "--out", queue)
    assert not [s for s in secrets() if s in queue.read_text().lower()]
    fill(queue, ["leak", "leak", "no-leak", "no-leak", "unsure", "leak"])
    assert "6 labels on record; 0 of the queue" in run("label", "add", queue, "--annotator", "ana", "--case", case)
    shown = run("label", "next", "--annotator", "ben", "--case", case, typed="l\nn\nn\nq\n")
    assert not [s for s in secrets() if s in shown.lower()]
    assert "3 of the queue are still to label" in shown
    open_ones = tmp_path / "open.jsonl"
    told = run("label", "adjudicate", "--case", case, "--out", open_ones)
    assert "2 settled by agreement" in told
    assert "ana / ben, three-way: 2 of 3 alike" in told
    assert "1 await a decision" in told
    (card,) = fill(open_ones, ["leak"])
    assert card["said"] == {"ana": "leak", "ben": "no-leak"}
    assert "0 await a decision" in run("label", "adjudicate", "--case", case, "--decisions", open_ones)
    result = json.loads(run("evaluate", "adjudicated", "--case", case, "--json"))
    assert result["pairs"] == 3


def test_revealed_queues_are_stamped(case: Path, tmp_path: Path) -> None:
    queue = tmp_path / "queue.jsonl"
    assert "(REVEALED)" in run("label", "queue", "--case", case, "--n", "5", "--out", queue, "--reveal")
    assert all(json.loads(line)["revealed"] for line in queue.read_text().splitlines())


def test_calibration_writes_floors_for_a_policy(case: Path, tmp_path: Path) -> None:
    queue, floors = tmp_path / "queue.jsonl", tmp_path / "floors.yaml"
    run("label", "queue", "--case", case, "--n", "40", "--out", queue, "--reveal")
    cards = [json.loads(line) for line in queue.read_text().splitlines()]
    fill(queue, ["leak" if c["value"].lower() in c["excerpt"].lower() else "no-leak" for c in cards])
    run("label", "add", queue, "--annotator", "ana", "--case", case)
    shown = run("calibrate", queue, "--case", case, "--yaml", floors)
    assert "best: " in shown
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.read_text() + "\n" + floors.read_text())
    assert "good" in run("policy", "check", policy)
    result = json.loads(run("calibrate", queue, "--case", case, "--json", "--step", "0.05"))
    assert result["policy"].startswith("# from 40 labels")
    assert "Detection against labels" in run("evaluate", queue, "--case", case)


def test_mistakes_are_one_line_each(case: Path, tmp_path: Path) -> None:
    missing = run("evaluate", tmp_path / "no.jsonl", "--case", case, code=2)
    assert "no.jsonl: cannot be read" in missing
    assert "no label for an event of this case" in run("evaluate", "inside", "--case", case, code=2)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"item": "x", "label": "perhaps"}\n')
    assert "bad.jsonl:1: `label` must be" in run("label", "add", bad, "--annotator", "ana", "--case", case, code=2)
    assert "adjudicate" in run("label", "add", bad, "--annotator", "adjudicated", "--case", case, code=2)
    assert "--from must not be above" in run("calibrate", bad, "--case", case, "--from", "0.9", "--to", "0.5", code=2)
