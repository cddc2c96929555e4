"""The closed loop: sanitized traces audited again hold exactly what the replay says remains."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import find
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.keys import Keys
from earwitness.cli import cli
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case

SAMPLE = Path(__file__).parents[2] / "src" / "earwitness" / "sample_traces" / "topologies"
POLICY = SAMPLE / "policy.yaml"
CONDITIONS = ("none", "blanket", "static", "dynamic", "topology-forwarded", "redact-only", "fail-closed", "oracle")
VALUES = ("219-09-9999", "ulcerative colitis", "2417.50", "2,417.50")
# Events that were split have ids of their own: an occurrence is known by its run, order, parties and value.
LEFT = """
    SELECT t.trace_id, e.time, e.channel, e.sender, {o}.recipient, p.attribute, {o}.{truth}
    FROM {table} {o} JOIN events e USING (event) JOIN traces t ON t.trace = {o}.trace JOIN vault p USING (value)
    WHERE {wanted}
"""


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "case.duckdb"
    with Case(path) as case:
        Loader(case).load([SAMPLE / "traces.jsonl"])
        audit(case, read_request(POLICY, None, DEFAULT))
        replay(case, Request([find(name) for name in CONDITIONS], Keys(bytes(32))))
    return path


def left(path: Path, query: str) -> Counter[tuple[Any, ...]]:
    with Case(path, create=False) as case:
        return Counter(case.rows(query))


def export(path: Path, out: Path, *more: str) -> str:
    done = CliRunner().invoke(cli, ["replay", "export", str(path), "-o", str(out), "--replace", *more])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("mode", ["independent", "propagate"])
@pytest.mark.parametrize("setting", ["paper", "extended"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_loop_is_closed(replayed: Path, tmp_path: Path, condition: str, setting: str, mode: str) -> None:
    out, again = tmp_path / "sanitized.jsonl", tmp_path / "again.duckdb"
    export(replayed, out, "--condition", condition, "--recipients", setting, "--mode", mode, "--with-values")
    with Case(again) as case:
        Loader(case).load([out])
        audit(case, read_request(POLICY, None, DEFAULT))
    flag = "remains" if mode == "independent" else "downstream"
    wanted = f"r.condition = '{condition}' AND r.setting = '{setting}' AND r.{flag}"
    said = left(replayed, LEFT.format(o="r", truth="truth", table="replays", wanted=wanted))
    found = left(again, LEFT.format(o="v", truth="dynamic", table="verdicts", wanted="v.standing = 'confirmed'"))
    assert found == said


def test_values_are_left_out_unless_asked_for(replayed: Path, tmp_path: Path) -> None:
    out = tmp_path / "sanitized.jsonl"
    told = export(replayed, out, "--condition", "oracle", "--recipients", "extended")
    assert '"type":"value"' not in out.read_text().replace(" ", "")
    assert not any(value in told for value in VALUES)


def test_what_was_not_replayed_cannot_be_written(replayed: Path, tmp_path: Path) -> None:
    out = tmp_path / "sanitized.jsonl"
    done = CliRunner().invoke(cli, ["replay", "export", str(replayed), "--condition", "presidio", "-o", str(out)])
    assert done.exit_code != 0
    assert not out.exists()
