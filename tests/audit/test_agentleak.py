"""The public AgentLeak runs: published figures recomputed, labels reproduced on every message."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from earwitness.audit.pipeline import Request, audit
from earwitness.audit.rulesets import LITERAL
from earwitness.ingest.loader import Loader
from earwitness.reports.summary import summary
from earwitness.schema.case import Case

pytestmark = pytest.mark.real

Shared = Callable[[str], list[Path]]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, shared: Shared) -> Iterator[dict[str, Any]]:
    corpus = shared("data/agentleak_traces/traces_3214.tar.xz")[0]
    with Case(tmp_path_factory.mktemp("agentleak") / "case.duckdb") as case:
        Loader(case).load([corpus])
        audit(case, Request(rules=LITERAL))
        yield summary(case, labels=True)


def rate(report: dict[str, Any], name: str, **group: str) -> tuple[int, int, float]:
    (found,) = [m for m in report["measures"] if m["name"] == name and m["group"] == group]
    return found["k"], found["n"], round(100 * found["rate"], 2)


def test_published_rates(report: dict[str, Any]) -> None:
    assert rate(report, "channel_leakage", arm="multi", channel="C1")[1:] == (3214, 27.57)
    assert rate(report, "channel_leakage", arm="multi", channel="C2")[1:] == (3214, 68.92)
    assert rate(report, "channel_leakage", arm="multi", channel="C5")[1:] == (3214, 47.20)
    assert rate(report, "audit_gap", arm="multi")[1:] == (3214, 41.44)
    assert rate(report, "any_leakage", arm="multi")[1:] == (3214, 69.01)
    assert rate(report, "any_leakage", arm="single")[1:] == (3214, 42.13)


def test_messages_and_fields(report: dict[str, Any]) -> None:
    events = [m for m in report["measures"] if m["name"] == "event_leakage"]
    fields = [m for m in report["measures"] if m["name"] == "field_disclosure"]
    assert report["events"] == sum(m["n"] for m in events) == 16_070
    assert sum(m["k"] for m in events) == 7_553
    assert sum(m["k"] for m in fields) == 17_401


def test_labels_on_every_message(report: dict[str, Any]) -> None:
    assert report["labels"] == {
        "agree": 17_401,
        "label_only": 0,
        "analyzer_only": 0,
        "events": 16_070,
        "events_equal": 16_070,
    }


def test_failed_runs_are_not_clean(report: dict[str, Any]) -> None:
    arms = {a["arm"]: a for a in report["coverage"]["arms"]}
    assert arms["multi"]["unverifiable"] == 462
    assert rate(report, "any_leakage_verifiable", arm="multi")[1] == 3214 - 462


def test_conservation(report: dict[str, Any]) -> None:
    assert report["records"] == {"mapped": 3214}


def test_labels_are_no_input_of_detection(tmp_path: Path, shared: Shared) -> None:
    """The same verdicts come out when every label in the case is gone."""
    runs = shared("data/agentleak_traces/traces/*.json")[:20]
    counts = []
    for keep in (True, False):
        with Case(tmp_path / f"{keep}.duckdb") as case:
            Loader(case).load(runs)
            if not keep:
                case.clear("labels")
            audit(case, Request(rules=LITERAL))
            counts.append(case.rows("SELECT event, value, recipient, dynamic FROM verdicts ORDER BY ALL"))
    assert counts[0] == counts[1]
    assert counts[0]
