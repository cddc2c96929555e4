"""The public AgentLeak runs: published figures recomputed, labels reproduced, and what the default rules find beyond.

`--update` writes the measured tables of docs/agentleak.md.
"""

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from earwitness.audit.evaluate import evaluate, summarise
from earwitness.audit.fidelity import assess_fidelity, fidelity
from earwitness.audit.pipeline import Request, audit
from earwitness.audit.rulesets import DEFAULT, LITERAL
from earwitness.ingest.loader import Loader
from earwitness.reports.summary import summary
from earwitness.schema.case import Case

tables = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "tools" / "agentleak.py")))
pytestmark = pytest.mark.real

Shared = Callable[[str], list[Path]]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory, shared: Shared) -> Iterator[Case]:
    """All runs, imported and not yet audited."""
    corpus = shared("data/agentleak_traces/traces_3214.tar.xz")[0]
    with Case(tmp_path_factory.mktemp("agentleak") / "case.duckdb") as made:
        Loader(made).load([corpus])
        yield made


@pytest.fixture(scope="module")
def audits(case: Case) -> dict[str, Any]:
    """What both rule sets say; the case is left as the default rules have it."""
    told = {}
    for rules in (LITERAL, DEFAULT):
        audit(case, Request(rules=rules))
        told[rules.name] = {"report": summary(case, labels=True), "counts": tables.counts(case)}
    return told


@pytest.fixture(scope="module")
def report(audits: dict[str, Any]) -> dict[str, Any]:
    """By the published rule."""
    found: dict[str, Any] = audits["literal"]["report"]
    return found


@pytest.fixture(scope="module")
def evaluation(case: Case, audits: dict[str, Any]) -> dict[str, Any]:
    """The default rules against the labels inside the files."""
    return summarise(evaluate(case, "inside"))


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


# By the default rules.


def test_every_labelled_field_is_found(evaluation: dict[str, Any]) -> None:
    assert evaluation["leaked"] == 17_401
    assert evaluation["with_possible"]["recall"]["rate"] == 1.0
    assert evaluation["confirmed"]["recall"]["rate"] >= 0.98
    # What is not confirmed are single words of categories, which need their attribute or their subject nearby.
    assert {m["attribute"] for m in evaluation["misses"]} <= {"department", "performance_rating", "case_type"}
    assert all(m["standing"] == "possible" for m in evaluation["misses"])


def test_what_only_the_analyzer_finds_was_read(evaluation: dict[str, Any]) -> None:
    """Of 200 findings drawn and read, those that are still confirmed are right in 98 of 100."""
    rows = tables.read()
    assert len(rows) == len({(r["trace"], r["event"], r["attribute"]) for r in rows}) == 200
    still = {(p["trace"], p["event"], p["attribute"]) for p in evaluation["analyzer_only"]}
    kept = [r["verdict"] == "true" for r in rows if (r["trace"], r["event"], r["attribute"]) in still]
    assert len(kept) >= 180
    assert sum(kept) / len(kept) >= 0.98


def test_agreement_sums_to_labels_and_findings(audits: dict[str, Any], evaluation: dict[str, Any]) -> None:
    sums = {n: sum(r[n] for r in evaluation["agreement"]) for n in ("agree", "label_only", "analyzer_only")}
    labels = audits["default"]["report"]["labels"]
    assert sums == {n: labels[n] for n in sums}
    assert sums["agree"] + sums["label_only"] == 17_401


def test_the_tables_of_the_page_are_measured(
    case: Case, audits: dict[str, Any], evaluation: dict[str, Any], update: bool
) -> None:
    assess_fidelity(case)
    made = {
        "figures": tables.figures(audits["literal"], audits["default"]),
        "recall": tables.recall(evaluation),
        "agreement": tables.agreement(evaluation),
        "possible": tables.possible(case),
        "read": tables.judged(),
        "fidelity": tables.told(fidelity(case)),
    }
    page = tables.PAGE.read_text(encoding="utf-8")
    for name, text in made.items():
        if update:
            page = tables.replaced(page, name, text)
        else:
            assert tables.block(page, name) == text
    if update:
        tables.PAGE.write_text(page, encoding="utf-8")
