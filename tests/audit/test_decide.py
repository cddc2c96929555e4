"""The authorisation relation against the same relation written down a second time, plainly, in Python."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from earwitness.audit.pipeline import STAGES, Request, audit
from earwitness.audit.rulesets import LITERAL
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.model import Actor, Event, Line, Trace, Value
from earwitness.schema.policy import Member, Policy, PolicyRule, PolicyValue
from earwitness.schema.words import Channel

AGENTS = ("lead", "worker", "helper")
ATTRIBUTES = ("ssn", "salary", "sal_note")
VALUES = {"ssn": "123-45-6789", "salary": "98,500", "sal_note": "on probation"}
POSITIONS = {"lead": "original", "worker": "introduced", "helper": "unknown", "user": "unknown"}
ROLES = {"lead": ["boss"], "worker": ["clerk"], "helper": [], "user": []}

names = st.lists(st.sampled_from([*ATTRIBUTES, "sal*", "*"]), max_size=2).map(tuple)
rules = st.builds(
    PolicyRule,
    effect=st.sampled_from(["allow", "sanitize"]),
    scenario=st.sampled_from([None, "s1", "other"]),
    attributes=names,
    channels=st.lists(st.sampled_from(["C1", "C2"]), max_size=1).map(tuple),
    recipients=st.lists(st.sampled_from([*AGENTS, "user", "w*"]), max_size=2).map(tuple),
    roles=st.lists(st.sampled_from(["boss", "clerk"]), max_size=1).map(tuple),
    positions=st.lists(st.sampled_from(["original", "introduced"]), max_size=1).map(tuple),
    kinds=st.lists(st.sampled_from(["agent", "user"]), max_size=1).map(tuple),
)
policies = st.builds(
    Policy,
    default=st.sampled_from(["allow", "sanitize"]),
    rules=st.lists(rules, max_size=4).map(tuple),
    fallback=st.sampled_from([{}, {"C2": "closed"}, {"C1": "closed", "C2": "field"}]),
    roster=st.just(
        (Member(name="lead", roles=("boss",)), Member(name="worker", position="introduced", roles=("clerk",)))
    ),
)


def fits(patterns: tuple[str, ...], cell: str) -> bool:
    return not patterns or any(p == cell or ("*" in p and fnmatchcase(cell, p)) for p in patterns)


def speaks(rule: PolicyRule, attribute: str, channel: str) -> bool:
    return rule.scenario in (None, "s1") and fits(rule.attributes, attribute) and fits(rule.channels, channel)


def reaches(rule: PolicyRule, recipient: str) -> bool:
    kind = "user" if recipient == "user" else "agent"
    return (
        fits(rule.recipients, recipient)
        and fits(rule.kinds, kind)
        and fits(rule.positions, POSITIONS[recipient])
        and (not rule.roles or bool(set(rule.roles) & set(ROLES[recipient])))
    )


def narrow(rule: PolicyRule) -> bool:
    return bool(rule.recipients or rule.kinds or rule.positions or rule.roles)


def expected(policy: Policy, attribute: str, channel: str, recipient: str | None) -> tuple[str, str]:
    heard = [r for r in policy.rules if speaks(r, attribute, channel)]
    if any(r.effect == "sanitize" and not narrow(r) for r in heard):
        static = "sanitize"
    else:
        static = "allow" if any(r.effect == "allow" for r in heard) else policy.default
    if recipient is None:
        return static, "sanitize" if policy.fallback.get(channel) == "closed" else static  # type: ignore[call-overload]
    reached = [r for r in heard if reaches(r, recipient)]
    if any(r.effect == "sanitize" for r in reached):
        return static, "sanitize"
    return static, "allow" if reached else policy.default


SHAPES: tuple[tuple[Channel, tuple[str, ...]], ...] = (
    ("C1", ("user",)),
    ("C2", ("worker",)),
    ("C2", ("helper", "lead")),
    ("C2", ()),
    ("C1", ()),
)


def corpus(path: Path) -> Path:
    lines: list[Line] = [Trace(id="t", scenario="s1"), Actor(trace="t", name="user", kind="user")]
    lines += [Value(attribute=a, value=v) for a, v in VALUES.items()]
    seq = 0
    for attribute in ATTRIBUTES:
        for channel, to in SHAPES:
            text = f"about {VALUES[attribute]}."
            lines.append(Event(trace="t", id=f"e{seq}", seq=seq, channel=channel, sender="sender", to=to, content=text))
            seq += 1
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def verdicts(case: Case, policy: Policy | None) -> list[tuple[Any, ...]]:
    audit(case, Request(policy=policy), STAGES[:3])
    return case.rows("SELECT attribute, channel, recipient, static, dynamic FROM verdicts JOIN vault USING (value)")


def test_relation(tmp_path_factory: Any) -> None:
    case = Case()
    Loader(case).load([corpus(tmp_path_factory.mktemp("corpus") / "t.jsonl")])

    @settings(max_examples=60, deadline=None)
    @given(policies)
    def check(policy: Policy) -> None:
        found = verdicts(case, policy)
        assert len(found) == 3 * 6
        for attribute, channel, recipient, static, dynamic in found:
            assert (static, dynamic) == expected(policy, attribute, channel, recipient), (attribute, channel, recipient)

    check()
    case.close()


def test_without_any_policy_nothing_is_a_leak(tmp_path: Path) -> None:
    with Case() as case:
        Loader(case).load([corpus(tmp_path / "t.jsonl")])
        found = verdicts(case, None)
        assert {row[3:] for row in found} == {("unruled", "unruled")}


def test_judging_again_changes_only_the_judgement(tmp_path: Path) -> None:
    with Case() as case:
        Loader(case).load([corpus(tmp_path / "t.jsonl")])
        open_, closed = Policy(default="allow"), Policy(default="sanitize")
        assert {row[4] for row in verdicts(case, open_)} == {"allow"}
        assert {row[4] for row in verdicts(case, closed)} == {"sanitize"}
        assert case.count("events") == 15
        assert [r[0] for r in case.rows("SELECT stage FROM runs ORDER BY run")] == ["import"] + [
            "policy",
            "detect",
            "decide",
        ] * 2


def test_a_rule_may_use_an_alias_of_the_roster(tmp_path: Path) -> None:
    with Case() as case:
        Loader(case).load([corpus(tmp_path / "t.jsonl")])
        member = Member(name="clerk", aliases=("worker",))
        deny = PolicyRule(effect="sanitize", recipients=("worker",))
        found = verdicts(case, Policy(default="allow", roster=(member,), rules=(deny,)))
        assert {row[2] for row in found if row[4] == "sanitize"} == {"clerk"}


def test_contents_are_scanned_again_only_where_something_changed(tmp_path: Path) -> None:
    """Matches planted by hand survive an audit that need not scan, and are gone after one that must."""
    with Case() as case:
        Loader(case).load([corpus(tmp_path / "t.jsonl")])
        verdicts(case, Policy(default="allow"))
        case.execute("DELETE FROM matches")
        assert verdicts(case, Policy(default="sanitize")) == []
        more = Policy(values=(PolicyValue(attribute="name", value="about"),))
        assert len(verdicts(case, more)) > 18
        audit(case, Request(rules=LITERAL), STAGES[:2])
        assert case.count("matches") == 3
