"""What a recording does not show is said: an audit calls such a channel unverifiable, never clean.

`tests/golden/not_observable.yaml` holds the recordings, the reason, and the channels.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from earwitness.audit.pipeline import Request, audit
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyValue

CASES = yaml.safe_load((Path(__file__).parent.parent / "golden" / "not_observable.yaml").read_text(encoding="utf-8"))
ABSENT = Policy(values=(PolicyValue(attribute="pass", value="NV-9931-XK"),))


def verdicts(path: Path) -> list[tuple[str, str, str, str | None]]:
    """Trace, channel, verdict and reason of an audit that seeks a value which occurs nowhere."""
    with Case() as case:
        sources = Loader(case).load([path])
        assert all(s.problem is None and set(s.outcomes) <= {"mapped", "ignored"} for s in sources)
        audit(case, Request(policy=ABSENT))
        return case.rows("SELECT trace_id, channel, verdict, reason FROM coverage JOIN traces USING (trace)")


@pytest.mark.parametrize("one", CASES, ids=lambda one: one["name"])
def test_what_is_not_recorded_is_never_clean(one: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / one["file"]
    path.write_text(one["records"], encoding="utf-8")
    rows = verdicts(path)
    dark = {channel for _, channel, verdict, _ in rows if verdict == "unverifiable"}
    clean = {channel for _, channel, verdict, _ in rows if verdict == "clean"}
    assert set(one["unverifiable"]) <= dark
    assert not set(one["unverifiable"]) & clean
    assert set(one["clean"]) <= clean
    assert all(reason for _, _, verdict, reason in rows if verdict == "unverifiable")
