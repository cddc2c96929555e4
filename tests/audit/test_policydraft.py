"""A drafted policy allows what was seen to be allowed, and nothing that was seen to be denied."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earwitness.audit.pipeline import STAGES, Request, audit
from earwitness.audit.policydraft import NOBODY, as_yaml, draft_policy
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.model import Actor, Event, Line, Trace, Value
from earwitness.schema.policy import Policy, PolicyRule, parse_policy
from earwitness.schema.words import Channel

VALUES = (("ssn", "123-45-6789", "Ann"), ("ssn", "987-65-4321", "Bo"), ("salary", "98,500", None))
SCENARIOS = ("s1", "s2", None)
HOSTILE = "wor*k[e]r: {x} # \u2028'\""
SHAPES: tuple[tuple[Channel, tuple[str, ...]], ...] = (
    ("C2", ("lead", HOSTILE)),
    ("C2", ()),
    ("C6", ()),
    ("C1", ("user",)),
)
SQL = """
    SELECT DISTINCT t.scenario, p.subject, p.attribute, v.channel, v.recipient, v.dynamic
    FROM verdicts v JOIN vault p USING (value) JOIN traces t ON t.trace = v.trace
"""

rules = st.builds(
    PolicyRule,
    effect=st.sampled_from(["allow", "sanitize"]),
    scenario=st.sampled_from([None, "s1", "s2"]),
    attributes=st.sampled_from([(), ("ssn",), ("salary",)]),
    subjects=st.sampled_from([(), (), ("Ann",)]),
    channels=st.sampled_from([(), ("C1",), ("C2",), ("C6",)]),
    recipients=st.sampled_from([(), (), ("lead",), ("user", "lead")]),
)
policies = st.builds(
    Policy,
    default=st.sampled_from(["allow", "sanitize"]),
    rules=st.lists(rules, max_size=4).map(tuple),
    fallback=st.sampled_from([{}, {"C2": "closed"}, {"C6": "closed"}]),
)


def corpus(path: Path) -> Path:
    lines: list[Line] = [Value(attribute=a, value=v, subject=s) for a, v, s in VALUES]
    for number, scenario in enumerate(SCENARIOS):
        trace = f"t{number}"
        lines += [Trace(id=trace, scenario=scenario), Actor(trace=trace, name="user", kind="user")]
        for seq, (_, value, _s) in enumerate(VALUES * len(SHAPES)):
            channel, to = SHAPES[seq // len(VALUES)]
            text = f"about {value}."
            lines.append(Event(trace=trace, id=f"e{seq}", seq=seq, channel=channel, sender="s", to=to, content=text))
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def flows(case: Case, policy: Policy | None) -> dict[str, set[tuple[Any, ...]]]:
    audit(case, Request(policy=policy), STAGES[:3])
    found = case.rows(SQL)
    return {verdict: {r[:-1] for r in found if r[-1] == verdict} for verdict in ("allow", "sanitize")}


def test_the_draft_allows_what_was_allowed_and_nothing_else(tmp_path: Path) -> None:
    case = Case()
    Loader(case).load([corpus(tmp_path / "t.jsonl")])
    refused = 0

    @settings(max_examples=40, deadline=None)
    @given(policies)
    def check(policy: Policy) -> None:
        nonlocal refused
        before = flows(case, policy)
        if not before["allow"]:
            with pytest.raises(InputError, match="authorised"):
                draft_policy(case)
            return
        draft = draft_policy(case)
        after = flows(case, parse_policy(as_yaml(draft).encode(), "draft"))
        assert draft.flows == len(before["allow"])
        assert after["allow"] <= before["allow"]
        assert len(before["allow"] - after["allow"]) == draft.refused
        # No rule can say: only where the record names no recipient, no scenario or no subject.
        assert all(None in flow for flow in before["allow"] - after["allow"])
        refused += draft.refused

    check()
    assert refused, "no drawn policy needed what rules cannot say"
    case.close()


def test_without_a_policy_the_flows_must_be_called_authorised(tmp_path: Path) -> None:
    with Case() as case:
        Loader(case).load([corpus(tmp_path / "t.jsonl")])
        audit(case, Request(), STAGES[:3])
        with pytest.raises(InputError, match="--observed"):
            draft_policy(case)
        draft = draft_policy(case, observed=True)
        assert draft.refused == 0
        assert not flows(case, parse_policy(as_yaml(draft).encode(), "draft"))["sanitize"]


def test_a_draft_tells_no_value_and_keeps_hostile_names(tmp_path: Path) -> None:
    with Case() as case:
        Loader(case).load([corpus(tmp_path / "t.jsonl")])
        deny = PolicyRule(effect="sanitize", recipients=("lead",))
        flows(case, Policy(default="allow", rules=(deny,)))
        text = as_yaml(draft_policy(case))
    assert not any(value in text for _, value, _s in VALUES)
    policy = parse_policy(text.encode(), "draft")
    assert {r.recipients for r in policy.rules} == {("user",), (NOBODY,), ("wor[*]k[[]e]r: {x} # \u2028'\"",)}
