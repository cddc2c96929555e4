"""Predicted effects of single changes against real replays under the changed conditions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import Setting, find
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.replay.search import search, variants
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.keys import Keys
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.words import CHANNELS

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "topologies": ROOT / "src" / "earwitness" / "sample_traces" / "topologies",
    "ten-events": ROOT / "tests" / "golden" / "replay" / "ten-events",
}
KEYS = Keys(bytes(range(32)))
BASE = find("dynamic")
SETTINGS: tuple[Setting, ...] = ("paper", "extended")


@pytest.fixture(params=FOLDERS)
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    folder = FOLDERS[request.param]
    with Case() as case:
        Loader(case).load([folder / "traces.jsonl"])
        audit(case, read_request(folder / "policy.yaml", None, DEFAULT))
        replay(case, Request([BASE], KEYS))
        yield case


def remaining(case: Case, name: str, setting: str) -> tuple[int, int]:
    return case.rows(
        "SELECT count(*) FILTER (truth = 'sanitize' AND remains), count(*) FILTER (truth = 'allow' AND remains) "
        "FROM replays WHERE condition = ? AND setting = ?",
        [name, setting],
    )[0]


def predicted(found: dict[str, Any], change: str, by: str | None = None, cell: str | None = None) -> tuple[int, int]:
    """What would remain; a change that is not told changes no residual, so that its cost is unknown."""
    for c in found["changes"]:
        if (c["change"], c["by"], c["cell"]) == (change, by, cell):
            return c["residual"]["k"], found["correct_allow"]["k"] - c["net_lost"]
    return found["residual"]["k"], -1


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_change_is_what_a_replay_gives(case: Case, setting: Setting) -> None:
    found = search(case, BASE, setting)
    tried = variants(BASE, setting)
    told = 0
    for n, v in enumerate(tried):
        replay(case, Request([replace(v.condition, name=f"v{n}")], KEYS, (v.setting,)))
        residual, allowed = predicted(found, v.change)
        real = remaining(case, f"v{n}", v.setting)
        assert residual == real[0], v
        assert allowed in (-1, real[1]), v
        told += allowed >= 0
    assert told >= 2


def test_closing_one_channel_is_what_a_replay_gives(case: Case) -> None:
    found = search(case, BASE, "paper")
    cells = {c["cell"] for c in found["changes"] if c["family"] == "fallback" and c["by"] == "channel"}
    assert cells
    for channel in CHANNELS:
        # The channels that the policy closes stay closed.
        given = {"C6": "closed"} if case.one("SELECT max(channel = 'C6') FROM flows") else {}
        one = replace(BASE, name="one", fallback=given | {channel: "closed"})
        replay(case, Request([one], KEYS, ("paper",)))
        residual, allowed = predicted(found, "sanitize where no recipient is known", "channel", channel)
        assert residual == remaining(case, "one", "paper")[0]
        assert allowed in (-1, remaining(case, "one", "paper")[1])


def test_nothing_is_scanned_and_the_case_stays(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [t for (t,) in case.rows("SELECT table_name FROM duckdb_tables() ORDER BY ALL")]
    before = {t: case.rows(f"SELECT hash(list(x ORDER BY hash(x))) FROM {t} x") for t in names}

    def scanned(*_: object, **__: object) -> None:
        raise AssertionError("a text was scanned")

    monkeypatch.setattr("earwitness.audit.replayed.detector._state", lambda *_: case.meta("replayed"))
    monkeypatch.setattr("earwitness.audit.replay.replay.measure_again", scanned)
    monkeypatch.setattr("earwitness.audit.replay.replay.find_places", scanned)
    search(case, BASE, "paper")
    assert names == [t for (t,) in case.rows("SELECT table_name FROM duckdb_tables() ORDER BY ALL")]
    assert before == {t: case.rows(f"SELECT hash(list(x ORDER BY hash(x))) FROM {t} x") for t in names}


def test_what_was_not_replayed_is_told(case: Case) -> None:
    with pytest.raises(InputError, match="not replayed"):
        search(case, find("static"), "paper")


def test_a_condition_that_changed_since_is_told(case: Case) -> None:
    with pytest.raises(InputError, match="changed since"):
        search(case, replace(find("blanket"), name="dynamic"), "paper")
