"""Replays worked out by hand: `tests/golden/replay`."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from earwitness.audit import ner
from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import find
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.keys import Keys
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case

FOLDERS = sorted((Path(__file__).parents[1] / "golden" / "replay").glob("*/"), key=lambda f: f.name)
LETTERS = {"detection_miss": "M", "no_recipient": "N", "policy_gap": "P", "post_transform": "T"}


def expected(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / "expected.yaml").read_text())
    return found


def replayed(folder: Path, conditions: list[str]) -> tuple[list[str], dict[str, dict[str, str]]]:
    """The occurrences in order, and the words of `expected.yaml`."""
    with Case() as case:
        Loader(case).load([folder / "traces.jsonl"])
        audit(case, read_request(folder / "policy.yaml", None, DEFAULT))
        assert replay(case, Request([find(c) for c in conditions], Keys(bytes(32)))) == {}
        rows = case.rows("""
            SELECT r.condition, r.setting, concat_ws(' ', e.event_id, v.attribute, coalesce(r.recipient, '-')), r.truth,
                   r.remains, r.downstream, r.cause
            FROM replays r JOIN events e USING (event) JOIN vault v USING (value)
            ORDER BY r.condition, r.setting, e.seq, v.attribute, r.recipient
        """)
    words: dict[str, dict[str, str]] = {}
    for condition, setting, _, *fate in rows:
        told = words.setdefault(condition, {})
        told[setting] = told.get(setting, "") + letter(*fate)
    return list(dict.fromkeys(r[2] for r in rows)), words


def letter(truth: str, remains: bool, downstream: bool, cause: str | None) -> str:
    if not remains:
        return "x" if truth == "allow" else "."
    found = "A" if truth == "allow" else LETTERS[cause or ""]
    return found if downstream else found.lower()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_every_condition_as_worked_out_by_hand(folder: Path) -> None:
    table = expected(folder)
    occurrences, words = replayed(folder, list(table["remains"]))
    assert occurrences == table["occurrences"]
    assert words == table["remains"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_presidio_as_worked_out_by_hand(folder: Path) -> None:
    if not (ner.available() and find_spec("presidio_analyzer")):
        pytest.skip("the extra [presidio] is not installed")
    _, words = replayed(folder, ["presidio"])
    assert words == expected(folder)["with_presidio"]
