"""Calibration from a file of labels, and agreement from the files of two annotators, by the published counts."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from earwitness.audit.labelqueue import draw
from earwitness.audit.pipeline import Request, audit
from earwitness.cli import cli
from earwitness.ingest.loader import Loader
from earwitness.reports.labelling import cards
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyValue

N = 300
POLICY = Policy(values=(PolicyValue(attribute="diagnosis", value="chronic kidney disease"),))
# Of 300 pairs (first annotator, second annotator). The paper prints kappa and the share of equal labels, not the table:
# this is one of those that give all three, with the one label that was not resolved as the one `unsure`.
LABELS = {
    ("leak", "leak"): 40,
    ("no-leak", "no-leak"): 247,
    ("leak", "no-leak"): 6,
    ("no-leak", "leak"): 6,
    ("unsure", "no-leak"): 1,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An audited case of 300 messages."""
    lines = [
        {
            "type": "event",
            "trace": "t",
            "id": f"e{n}",
            "channel": "C2",
            "sender": "a",
            "to": ["b"],
            "content": f"Note {n}.",
        }
        for n in range(N)
    ]
    source = write(tmp_path / "traces.jsonl", lines)
    with Case(tmp_path / "case.duckdb") as case:
        Loader(case).load([source])
        audit(case, Request(policy=POLICY))
    return tmp_path / "case.duckdb"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def scores(table: dict[str, Any]) -> Iterator[tuple[bool, float]]:
    """Labels with scores that give the published counts: what the next row no longer finds scores the upper end."""
    rows = table["rows"]
    for row, after in zip(rows, [*rows[1:], {"tp": 0, "fp": 0}], strict=True):
        for leaked, key in ((True, "tp"), (False, "fp")):
            yield from [(leaked, row["threshold"][1])] * (row[key] - after[key])
    yield from [(True, 0.1)] * rows[0]["fn"] + [(False, 0.1)] * rows[0]["tn"]


@pytest.mark.real
def test_calibration_on_a_labelled_file(path: Path, shared: Callable[[str], list[Path]]) -> None:
    table = json.loads(shared("reference/paper_tables.json")[0].read_text())["threshold_calibration"]
    rows = [
        {"trace": "t", "event": f"e{n}", "attribute": "diagnosis", "leaked": leaked, "score": score}
        for n, (leaked, score) in enumerate(scores(table))
    ]
    labels = write(path.parent / "labels.jsonl", rows)
    found = json.loads(run("calibrate", str(labels), "--case", str(path), "--json"))
    assert (found["n"], found["leaked"]) == (table["n"], table["positives"])
    best, first = found["choice"], table["rows"][0]
    assert (best["threshold"], best["low"], best["high"]) == (0.5, 0.35, 0.6)
    assert {k: best[k] for k in ("tp", "fp", "fn", "tn")} == {k: first[k] for k in ("tp", "fp", "fn", "tn")}
    assert [[r["low"], r["high"]] for r in found["rows"]] == [r["threshold"] for r in table["rows"]]
    assert "best: 0.5, standing for 0.35 to 0.6 (F1 0.9231" in run("calibrate", str(labels), "--case", str(path))


def test_kappa_of_two_annotators_files(path: Path) -> None:
    with Case(path) as case:
        drawn, _ = draw(case, N)
        asked = cards(case, [d.item for d in drawn], reveal=False)
    assert len(asked) == sum(LABELS.values()) == N
    said = [pair for pair, n in LABELS.items() for _ in range(n)]
    for place, name in enumerate(("ana", "ben")):
        filled = [card | {"label": pair[place]} for card, pair in zip(asked, said, strict=True)]
        file = write(path.parent / f"{name}.jsonl", filled)
        run("label", "add", str(file), "--annotator", name, "--case", str(path))
    text = run("label", "adjudicate", "--case", str(path))
    assert "ana / ben, three-way: 287 of 300 alike, kappa 0.835" in text
    assert "ana / ben, binary: 287 of 299 alike, kappa 0.846" in text
    assert "13 await a decision" in text
    assert round(100 * 287 / N, 1) == 95.7
