"""What a replay verifies of its transforms, what its texts newly hold, and how the terminal splits figures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import find, shipped
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.replay.verified import JUDGED, note_introduced
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.keys import Keys
from earwitness.cli import cli
from earwitness.ingest.loader import Loader
from earwitness.reports.replay import SPLITS
from earwitness.schema.case import Case

GOLDEN = Path(__file__).parents[1] / "golden" / "replay" / "ten-events"
KEYS = Keys(b"k" * 32)
OFFLINE = [c for c in shipped().values() if c.detector != "presidio"]


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with Case(tmp_path / "case.duckdb") as opened:
        Loader(opened).load([GOLDEN / "traces.jsonl"])
        audit(opened, read_request(GOLDEN / "policy.yaml", None, DEFAULT))
        yield opened


def checks(case: Case) -> dict[str, tuple[int, int]]:
    rows = case.rows("SELECT name, k, n FROM replay_checks WHERE backstop")
    return {name: (k, n) for name, k, n in rows}


def test_what_was_made_is_verified(case: Case) -> None:
    replay(case, Request([find("static"), find("dynamic")], KEYS))
    told = checks(case)
    assert {"fpe_round_trip", "fpe_wrong_key", "determinism", "dp_inequality_amount"} <= set(told)
    assert told["fpe_round_trip"][1] > 0
    judged = case.rows("SELECT name FROM replay_checks WHERE judged AND k < n")
    assert judged == []


def test_kept_texts_are_not_verified_again(case: Case) -> None:
    request = Request([find("dynamic")], KEYS)
    replay(case, request)
    made, total = checks(case)["texts_made"]
    assert made == total > 0
    replay(case, request)
    assert checks(case) == {"texts_made": (0, total)}


def test_a_wrong_ciphertext_fails_a_check(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("earwitness.audit.transform.toolkit.Toolkit.recover", lambda *_: "something else")
    replay(case, Request([find("dynamic")], KEYS))
    k, n = checks(case)["fpe_round_trip"]
    assert k == 0 < n
    assert "fpe_round_trip" in JUDGED


def test_a_case_from_before_the_table(case: Case) -> None:
    case.execute("DROP TABLE replay_checks")
    replay(case, Request([find("dynamic")], KEYS))
    assert case.count("replay_checks") > 0


def introduced(case: Case) -> dict[str, Any]:
    rows = case.rows("SELECT condition, k, n FROM replay_figures WHERE measure = 'introduced'")
    return {condition: (k, n) for condition, k, n in rows}


def test_values_that_a_text_did_not_hold_before(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    replay(case, Request(OFFLINE, KEYS, ("extended",)))
    assert {k for k, _ in introduced(case).values()} == {0}

    def spoil(case: Case) -> None:
        """As if one changed text, and the one it was made from not, held a value of its trace."""
        case.execute("""
            INSERT INTO replay_matches
            SELECT t.changed, v.value, 0, 1, 'exact', 1.0, 'confirmed', NULL, NULL FROM replay_texts t, vault v
            WHERE t.text IS NOT NULL AND NOT EXISTS (FROM matches m WHERE m.content = t.content AND m.value = v.value)
        """)
        note_introduced(case)

    monkeypatch.setattr("earwitness.audit.replay.replay.note_introduced", spoil)
    replay(case, Request(OFFLINE, KEYS, ("extended",)))
    k, n = introduced(case)["blanket"]
    assert 0 < k <= n


def test_every_split_is_printed_when_asked_for(case: Case) -> None:
    case.close()
    asked = [word for name in SPLITS for word in ("--by", name)]
    plain = CliRunner().invoke(cli, ["replay", str(case.path), "--condition", "dynamic", "--condition", "blanket"])
    done = CliRunner().invoke(
        cli, ["replay", str(case.path), "--condition", "dynamic", "--condition", "blanket", *asked]
    )
    assert done.exit_code == 1
    for _, title in SPLITS.values():
        assert all(f"Residual % by {title}, {setting} setting" in done.output for setting in ("paper", "extended"))
        assert f"Residual % by {title}" not in plain.output
    assert max(map(len, done.output.splitlines())) <= 100
    assert len(plain.output.splitlines()) <= 60


def test_dynamic_is_held_against_blanket_in_words(case: Case) -> None:
    case.close()
    done = CliRunner().invoke(cli, ["replay", str(case.path), "--condition", "dynamic", "--condition", "blanket",
                                    "--json"])  # fmt: skip
    figures = {(f["condition"], f["setting"], f["measure"]): f for f in msgspec.json.decode(done.stdout)["figures"]
               if f["mode"] == "independent" and not f["group"]}  # fmt: skip
    shown = CliRunner().invoke(cli, ["replay", str(case.path), "--condition", "dynamic", "--condition", "blanket"])
    for setting in ("paper", "extended"):
        left = [figures[c, setting, "residual"]["rate"] for c in ("dynamic", "blanket")]
        assert f"{setting}: dynamic leaves {100 * (left[0] - left[1]):.2f} points more than blanket" in shown.output
