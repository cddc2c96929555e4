"""Decisions that many plans share: made once, they are those that each plan comes to by itself."""

from pathlib import Path

import pytest

from earwitness.audit.decide import in_force
from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay import outcome
from earwitness.audit.replay.condition import SETTINGS, Condition, Plan, plans, shipped
from earwitness.audit.replay.judging import act, carry_out, find_kinds, judge, rule
from earwitness.audit.replay.ordering import as_written
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.replay.spans import gather, look
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform import ciphers
from earwitness.audit.transform.keys import Keys
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.progress import silent

ROOT = Path(__file__).parents[2]
CORPORA = {
    "ten events": ("tests/golden/replay/ten-events/traces.jsonl", "tests/golden/replay/ten-events/policy.yaml"),
    "topologies": ("sample_traces/topologies/traces.jsonl", "sample_traces/topologies/policy.yaml"),
}
LOOKING = [c for c in shipped().values() if c.detector != "presidio"]


@pytest.fixture(scope="module", params=list(CORPORA))
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    traces, policy = (ROOT / p for p in CORPORA[request.param])
    path = tmp_path_factory.mktemp("deciding") / "case.duckdb"
    with Case(path) as case:
        Loader(case).load([traces])
        audit(case, read_request(policy, None, DEFAULT))
        replay(case, Request([shipped()["none"]], Keys(bytes(32))))  # leaves places and what recognizers find
    return path


def judged(case: Case, condition: Condition) -> None:
    gather(case)
    for statement in outcome.PREPARE:
        case.execute(statement)
    look(case, condition, DEFAULT, silent)
    judge(case, in_force(case), DEFAULT, travels=True)


def acts(case: Case) -> list[tuple[object, ...]]:
    columns = "class, span, action, reason, rule, confidence, attribute, value_type"
    return case.rows(f"SELECT {columns} FROM rp_act ORDER BY ALL")


@pytest.mark.parametrize("detector", ["replayed", "oracle", "none"])
def test_by_kinds_every_plan_decides_as_by_itself(path: Path, detector: str) -> None:
    some = [p for p in plans(LOOKING, SETTINGS) if p.condition.detector == detector]
    with Case(path) as case:
        judged(case, some[0].condition)
        find_kinds(case)
        decided = [both(case, plan) for plan in some]
        assert all(one == other for one, other in decided)
        assert any(one for one, _ in decided) == (detector != "none")


def both(case: Case, plan: Plan) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    rule(case, plan, in_force(case))
    carry_out(case)
    once = acts(case)
    act(case, plan, in_force(case))
    return once, acts(case)


def test_of_several_readings_of_a_span_the_strictest_holds(path: Path) -> None:
    with Case(path) as case:
        judged(case, shipped()["dynamic"])
        # Another known value on the same span, which nobody may have.
        case.execute("""
            INSERT INTO rp_judged SELECT * REPLACE ('other' AS attribute, 'sanitize' AS by_field, 'never' AS field_rule,
            'sanitize' AS by_recipient, 'never' AS recipient_rule, false AS spared) FROM rp_judged
        """)
        find_kinds(case)
        for plan in plans([shipped()["dynamic"], shipped()["static"]], SETTINGS):
            once, itself = both(case, plan)
            assert once == itself
            assert {row[2] for row in once} - {"allow"}
            assert "allow" not in {row[2] for row in once if row[4] == "never"}


def test_one_ruling_means_one_decision_everywhere(path: Path) -> None:
    with Case(path) as case:
        judged(case, shipped()["dynamic"])
        find_kinds(case)
        found: dict[object, list[tuple[object, ...]]] = {}
        for plan in (p for p in plans(LOOKING, SETTINGS) if p.condition.detector == "replayed"):
            told = rule(case, plan, in_force(case))
            carry_out(case)
            assert found.setdefault(told, acts(case)) == acts(case)
        assert 1 < len(found) < 18


def test_joins_are_ordered_again_afterwards(path: Path) -> None:
    setting = "SELECT current_setting('disabled_optimizers')"
    with Case(path) as case:
        before = case.one(setting)
        with as_written(case):
            assert case.one(setting) == "join_order"
        assert case.one(setting) == before
        with pytest.raises(ZeroDivisionError):
            fail(case)
        assert case.one(setting) == before


def fail(case: Case) -> None:
    with as_written(case):
        raise ZeroDivisionError


def test_permutations_that_made_room_are_made_again_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ciphers, "_KEPT", {})
    monkeypatch.setattr(ciphers, "_MOST_KEPT", 2_500)
    small = ciphers.Small(bytes(32))
    asked = [(purpose, bound, n) for purpose in "abcd" for bound in (10, 1000) for n in range(0, bound, 7)]
    once = [small.encrypt(*a) for a in asked]
    assert 1 <= len(ciphers._KEPT) < 8
    assert sum(len(rank) for _, rank in ciphers._KEPT.values()) <= 2_500
    assert [small.encrypt(*a) for a in asked] == once
    other = ciphers.Small(bytes(31) + b"\1")
    assert [other.encrypt(*a) for a in asked] != once
    assert all(bytes(8) not in name for name in ciphers._KEPT)
