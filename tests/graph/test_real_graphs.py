"""Graphs of public recordings: curves and patterns hold together, and three ways stand in the raw files as told."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from worked import NO_PARTY

from earwitness.audit.pipeline import Request, audit
from earwitness.audit.relays import exposure_curve, relay_failure, relay_operations
from earwitness.graph.guards import frontier, greedy
from earwitness.graph.hops import KINDS, distances
from earwitness.graph.paths import Trail, find_paths
from earwitness.graph.topology import topology
from earwitness.graph.ways import find_ways, patterns
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyValue

pytestmark = pytest.mark.real

Shared = Callable[[str], list[Path]]
_NUMBER = re.compile(r"\$?\d[\d,.]*\d%?")


@contextmanager
def audited(paths: list[Path], values: list[str]) -> Iterator[Case]:
    """A case in which nobody may learn the values."""
    given = tuple(PolicyValue(attribute=f"number {n}", value=value) for n, value in enumerate(values))
    with Case() as case:
        Loader(case).load(paths)
        audit(case, Request(policy=Policy(values=given)))
        assert not case.rows(NO_PARTY)
        yield case


def raw(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def private_numbers(paths: list[Path]) -> list[str]:
    """Numbers in what the agents of magpie were to keep to themselves."""
    found: set[str] = set()
    for path in paths:
        for agent in raw(path)["scenario_data"]["agents"]:
            for item in (agent.get("private_preferences") or {}).values():
                text = item["value"] if isinstance(item, dict) else str(item)
                found |= {token for token in _NUMBER.findall(text) if len(token) >= 5}
    return sorted(found)


def repeated_numbers(paths: list[Path]) -> list[str]:
    """Long numbers that two parties of a log of who_and_when said, and the question did not."""
    found: set[str] = set()
    for path in paths:
        log = raw(path)
        said: dict[str, set[str]] = {}
        for entry in log["history"]:
            who = (entry.get("name") or entry["role"]).split(" (")[0]
            for token in _NUMBER.findall(str(entry["content"])):
                if len(token) >= 6 and token not in log["question"]:
                    said.setdefault(token, set()).add(who)
        found |= {token for token, names in said.items() if len(names) > 1}
    return sorted(found)


CORPORA = {
    "magpie": ("data/magpie/simulations/*/*/*.json", private_numbers),
    "who_and_when": ("data/who_and_when/*/*.json", repeated_numbers),
}


@pytest.mark.parametrize("name", CORPORA)
def test_curves_patterns_and_guards_hold_together(name: str, shared: Shared) -> None:
    pattern, numbers = CORPORA[name]
    paths = shared(pattern)
    with audited(paths, numbers(paths)) as case:
        frame, ways = distances(case), find_ways(case)
        bad = case.one("SELECT count(*) FROM exposures WHERE authorised IS FALSE")
        assert bad > 50
        agents = "JOIN parties p ON p.trace = x.trace AND p.actor = x.recipient AND p.kind = 'agent'"
        learned = case.one(
            f"SELECT count(*) FROM exposures x {agents} LEFT JOIN origins o ON o.trace = x.trace AND o.value = x.value "
            "WHERE x.recipient IS DISTINCT FROM o.agent"
        )
        for kind in KINDS:
            curve = exposure_curve(case, frame, kind)
            assert sum(d.learned.k for d in curve) == learned
            assert all(d.learned.interval is not None for d in curve)
        found = patterns(case, ways, limit=None)
        assert sum(p.exposures for p in found) == bad
        assert all(s.source and s.line for p in found for s in p.steps)
        failure = relay_failure(relay_operations(case))
        assert failure.operations.n == failure.outcomes["passed"] + failure.outcomes["failed"]
        assert sum(s.exposures for s in frontier(case)) == bad
        left = [s.remaining for s in greedy(case, limit=100).stages]
        assert left == sorted(left, reverse=True)
        assert left[-1] == 0
        assert len(topology(case)) == case.count("traces")


def trail(case: Case, recipient: str) -> Trail:
    (found,) = find_paths(case, find_ways(case), recipient=recipient)
    return found


def stations(path: Path, found: Trail) -> list[tuple[str | None, str, str | None]]:
    assert all(s.source.endswith(f"{path.parent.name}/{path.name}") for s in found.steps)
    return [(s.sender, s.recipient, s.pointer) for s in found.steps]


def test_an_offer_reaches_the_inspector_over_the_other_side(shared: Shared) -> None:
    """magpie, explicit, real estate: messages 23, 24 and 32 are the first to tell the next one the price."""
    (path,) = shared("data/magpie/simulations/explicit-data2/gemini/sim_real_estate.json")
    log = raw(path)["conversation_log"]
    told = [n for n, message in enumerate(log) if "$825,000" in str(message.get("content"))]
    assert told[:2] == [23, 24]
    assert next(n for n in told if "Tom Chen" in log[n]["to"]) == 32
    with audited([path], ["$825,000"]) as case:
        assert stations(path, trail(case, "Tom Chen")) == [
            ("Dr. Ben Carter", "Maria Flores", "/conversation_log/23"),
            ("Maria Flores", "Richard Sterling", "/conversation_log/24"),
            ("Richard Sterling", "Tom Chen", "/conversation_log/32"),
        ]
        counted = {p.label: p.exposures for p in patterns(case, find_ways(case))}
    assert counted == {
        "Dr. Ben Carter -> *": 1,
        "Dr. Ben Carter -> Maria Flores -> *": 2,
        "Dr. Ben Carter -> Maria Flores -> Richard Sterling -> *": 2,
    }


def test_the_same_offer_reaches_the_seller_over_the_buyers_agent(shared: Shared) -> None:
    """The second way of that file: messages 23 and 24; the seller's agent repeats it only in 27."""
    (path,) = shared("data/magpie/simulations/explicit-data2/gemini/sim_real_estate.json")
    log = raw(path)["conversation_log"]
    assert "Eleanor Vance" in log[24]["to"]
    assert "$825,000" in log[24]["content"]
    with audited([path], ["$825,000"]) as case:
        assert stations(path, trail(case, "Eleanor Vance")) == [
            ("Dr. Ben Carter", "Maria Flores", "/conversation_log/23"),
            ("Maria Flores", "Eleanor Vance", "/conversation_log/24"),
        ]


def test_a_paper_number_reaches_the_file_surfer_over_the_orchestrator(shared: Shared) -> None:
    """who_and_when, Magentic-One: entry 4 is a report of the web surfer, entry 18 the order to the file surfer."""
    (path,) = shared("data/who_and_when/Hand-Crafted/20.json")
    history, number = raw(path)["history"], "2103.07786"
    assert history[4]["role"] == "WebSurfer"
    assert number in history[4]["content"]
    assert not any(number in entry["content"] for entry in history[:4])
    orders = [n for n, entry in enumerate(history) if "-> FileSurfer" in entry["role"] and number in entry["content"]]
    assert orders[0] == 18
    with audited([path], [number]) as case:
        found = trail(case, "FileSurfer")
        assert stations(path, found) == [
            ("WebSurfer", "Orchestrator", "/history/4/content"),
            ("Orchestrator", "FileSurfer", "/history/18/content"),
        ]
        assert found.weakest == "structural"
        assert found.held == "unseen"
