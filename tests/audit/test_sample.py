"""The bundled corpus: what the audit finds equals what its README works out by hand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.rulesets import DEFAULT
from earwitness.ingest.loader import Loader
from earwitness.reports.summary import summary
from earwitness.schema.case import Case

FOLDER = Path(__file__).parents[2] / "sample_traces" / "topologies"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with Case() as case:
        Loader(case).load([FOLDER / "traces.jsonl"])
        audit(case, read_request(FOLDER / "policy.yaml", None, DEFAULT))
        yield case


@pytest.fixture(scope="module")
def report(case: Case) -> dict[str, Any]:
    return summary(case)


@pytest.mark.parametrize("what", ["traces", "events", "sightings"])
def test_sizes(report: dict[str, Any], what: str) -> None:
    assert report[what] == EXPECTED[what]


def test_coverage(report: dict[str, Any]) -> None:
    assert {v: report["coverage"][v] for v in EXPECTED["coverage"]} == EXPECTED["coverage"]
    assert report["coverage"]["channels"] == EXPECTED["channels"]


def test_measures(report: dict[str, Any]) -> None:
    found = {(m["name"], *sorted(m["group"].items())): (m["k"], m["n"]) for m in report["measures"]}
    expected = {(m["name"], *sorted(m["group"].items())): (m["k"], m["n"]) for m in EXPECTED["measures"]}
    assert {key: found.get(key) for key in expected} == expected


def test_exposures(report: dict[str, Any]) -> None:
    assert {k: report["exposure_totals"][k] for k in EXPECTED["exposures"]} == EXPECTED["exposures"]
    assert sum(x["n"] for x in report["exposures"]) == EXPECTED["exposures"]["total"]


def test_values(report: dict[str, Any]) -> None:
    found = {v["attribute"]: (v["events"], v["unauthorised"]) for v in report["values"]}
    assert found == {v["attribute"]: (v["events"], v["unauthorised"]) for v in EXPECTED["values"]}


def test_distances(case: Case) -> None:
    rows = case.rows("""
        SELECT trace_id, attribute, recipient, distance
        FROM exposures JOIN traces USING (trace) JOIN vault USING (value)
        WHERE route IS NOT NULL AND route <> 'holder'
    """)
    expected = {(d["trace"], d["attribute"], d["recipient"]): d["distance"] for d in EXPECTED["distances"]}
    assert {tuple(row[:3]): row[3] for row in rows} == expected


def test_relayed_way_is_told_hop_by_hop(case: Case) -> None:
    from earwitness.graph.exposures import walk

    exposure = case.one("""
        SELECT exposure FROM exposures JOIN traces USING (trace)
        WHERE trace_id = 'hier7-1' AND recipient = 'payments' AND NOT authorised
    """)
    steps = walk(case, exposure)
    assert [(s.sender, s.recipient) for s in steps] == [("coordinator", "assessor"), ("assessor", "payments")]
    assert all(s.source.endswith("traces.jsonl") and s.line > 0 for s in steps)


def test_no_value_is_told(report: dict[str, Any]) -> None:
    with Case() as case:
        Loader(case).load([FOLDER / "traces.jsonl"])
        audit(case, read_request(FOLDER / "policy.yaml", None, DEFAULT))
        secrets = [row[0] for row in case.rows("SELECT text FROM vault")]
    told = json.dumps(report).lower()
    assert len(secrets) == 3
    assert not [s for s in secrets if s.lower() in told]
