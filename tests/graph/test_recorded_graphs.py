"""One case in eight frameworks: the distances that docs/graph.md and the README of the recordings speak of."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from worked import NO_PARTY, PLACES, line_of

from earwitness.audit.pipeline import Request, audit
from earwitness.graph.guards import Place, frontier
from earwitness.graph.hops import distances
from earwitness.graph.topology import topology
from earwitness.graph.ways import find_ways
from earwitness.graph.whatif import what_if
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyRule, PolicyValue

FOLDER = Path(__file__).parents[2] / "sample_traces" / "recordings"
POLICY = Policy(
    values=(
        PolicyValue(attribute="account", value="QX-7741-0098-35"),
        PolicyValue(attribute="amount", value="3912.47"),
    ),
    rules=(PolicyRule(id="worker-may-know", effect="allow", recipients=("worker",)),),
)
# Agents called like tools hand back their last words; agents that hand over the floor share what was said.
CALLED = ("crewai", "langchain", "langgraph", "openai_agents", "semantic_kernel")
SHARING = ("autogen_core", "google_adk", "llamaindex")
SILENT = ("autogen", "semantic_kernel_messages")
# The format has no times, or gives a call the time of its end only.
UNTIMED = ("langgraph", "llamaindex", "semantic_kernel")


@contextmanager
def recorded(name: str) -> Iterator[Case]:
    with Case() as case:
        Loader(case).load([FOLDER / f"{name}.jsonl"])
        audit(case, Request(policy=POLICY))
        assert not case.rows(NO_PARTY)
        yield case


def carried(case: Case) -> dict[tuple[str, str], tuple[int | None, int | None, str | None]]:
    """(attribute, agent) to realised distance, carrying distance over every channel and the weakest edge of that."""
    attribute = dict(case.rows("SELECT value, attribute FROM vault"))
    frame = distances(case).select("value", "recipient", "realised", "carrying_any", "carrying_any_weakest")
    return {(attribute[v], r): (a, b, w) for v, r, a, b, w in frame.iter_rows() if r in ("lead", "coordinator")}


def test_every_recording_is_told_of() -> None:
    names = {p.stem for p in FOLDER.glob("*.jsonl") if not p.name.endswith(".expected.jsonl")}
    assert names == {*CALLED, *SHARING, *SILENT}


@pytest.mark.parametrize("name", CALLED)
def test_agents_called_like_tools_form_a_hierarchy_and_only_what_is_said_gets_on(name: str) -> None:
    with recorded(name) as case:
        found = carried(case)
        (shape,) = topology(case).to_dicts()
    assert (shape["class"], shape["depth"], shape["root"]) == ("hierarchy", 2, "coordinator")
    assert {key: row[:2] for key, row in found.items()} == {
        ("account", "lead"): (1, 1),
        ("account", "coordinator"): (2, None),
        ("amount", "lead"): (1, 1),
        ("amount", "coordinator"): (2, 2),
    }


@pytest.mark.parametrize("name", SHARING)
def test_agents_that_share_what_was_said_are_all_one_hop_away(name: str) -> None:
    with recorded(name) as case:
        found = carried(case)
        (shape,) = topology(case).to_dicts()
    assert (shape["class"], shape["size"]) == ("mesh", 3)
    assert {row[:2] for row in found.values()} == {(1, 1)}
    # Nobody addressed the account to the coordinator: it was a member of the group, or was seen to have read along.
    assert found["account", "coordinator"][2] in ("broadcast", "consumed")


def test_what_a_recording_hides_has_no_way() -> None:
    with recorded("autogen") as case:
        assert carried(case)["account", "coordinator"][:2] == (2, None)
        assert carried(case)["account", "lead"][:2] == (1, None)
        ways = find_ways(case)
        lines = {line_of(ways, n) for n in range(len(ways.table))}
    assert "note_read -> lead" in lines
    with recorded("semantic_kernel_messages") as case:
        assert carried(case) == {("amount", "coordinator"): (None, None, None)}


@pytest.mark.parametrize("name", [*CALLED, *SHARING])
def test_order_says_what_it_rests_on(name: str) -> None:
    with recorded(name) as case:
        found = set(distances(case)["ordering"].drop_nulls())
    assert found == {"untimed" if name in UNTIMED else "timed"}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", [*CALLED, *SHARING, *SILENT])
def test_guards_stop_every_exposure(name: str, place: Place) -> None:
    with recorded(name) as case:
        (guards,) = frontier(case, place)
        assert guards.exposures == case.one("SELECT count(*) FROM exposures WHERE authorised IS FALSE")
        if place == "edge":
            edges = [(g.sender, str(g.recipient)) for g in guards.guards]
            assert what_if(case, edges=edges).after == 0


def test_without_the_message_the_account_survives_through_the_notes() -> None:
    """The worker tells the lead, and the lead reads the note: one of the two is not enough to stop."""
    with recorded("langchain") as case:
        answer = what_if(case, edges=[("worker", "lead")])
    rows = answer.table.select("recipient", "outcome", "source", "source_after").rows()
    assert sorted(rows) == [
        ("coordinator", "stopped", "claims_lookup", None),
        ("lead", "another source", "claims_lookup", "note_read"),
        ("lead", "stopped", "claims_lookup", None),
        ("note_write", "unchanged", "claims_lookup", "claims_lookup"),
    ]
