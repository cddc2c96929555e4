"""The closed loop: sanitized traces, imported and audited again, have what was told, occurrence by occurrence.

What remains by the replay, and what the export tells to be introduced; nothing less and nothing more, with the same
verdicts, and nobody gains or loses a delivery. What an audit finds is never made to fit.
"""

import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from earwitness.audit import ner
from earwitness.audit.detect import Tiers
from earwitness.audit.judge.options import JudgeOptions
from earwitness.audit.judge.prompt import prompt_sha256
from earwitness.audit.judge.verdicts import save
from earwitness.audit.pipeline import Request as AuditRequest
from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import find
from earwitness.audit.replay.export import Ask, LaidOut, drop, lay_out
from earwitness.audit.replay.introduced import REASONS
from earwitness.audit.replay.replay import Request, replay, rules_in_force
from earwitness.audit.rulesets import DEFAULT, LITERAL
from earwitness.audit.transform.keys import Keys
from earwitness.ingest.loader import Loader
from earwitness.ingest.manifest import apply_manifest, read_manifest
from earwitness.reports.sanitized import write_sanitized
from earwitness.schema.case import Case
from earwitness.schema.policy import parse_policy

ROOT = Path(__file__).parents[2]
LAB = ROOT / "sample_traces" / "lab"
TEN = ROOT / "tests" / "golden" / "replay" / "ten-events"
TOPOLOGIES = ROOT / "src" / "earwitness" / "sample_traces" / "topologies"
CONDITIONS = ("none", "blanket", "static", "dynamic", "topology-reachable", "topology-forwarded", "redact-only",
              "fail-closed", "oracle")  # fmt: skip
SETTINGS, MODES = ("paper", "extended"), ("independent", "propagate")
Rows = set[tuple[Any, ...]]
Made = tuple[Path, AuditRequest]
Item = dict[str, Any]


class Loop(NamedTuple):
    """Occurrences as (event, recipient, attribute, text, verdict); deliveries before and after."""

    told: LaidOut
    reported: Rows
    vouched: Rows
    introduced: Rows
    found: Rows
    before: Rows
    after: Rows


_REPORTED = """
    SELECT r.event, r.recipient, attribute, text, truth FROM replays r JOIN vault USING (value)
    WHERE condition = ? AND setting = ? AND {left}
"""
# What only a judge or a person had confirmed.
_VOUCHED = """
    SELECT v.event, v.recipient, attribute, text, dynamic FROM verdicts v JOIN vault USING (value)
    JOIN events e USING (event) JOIN matches m ON m.content = e.content AND m.value = v.value AND m.tier > 1
    WHERE v.standing = 'confirmed'
"""
FIGURE = "SELECT k FROM replay_figures WHERE condition = 'blanket' AND setting = 'paper' AND measure = 'introduced'"
_NEW = "SELECT event, recipient, attribute, text, verdict FROM rx_new"
_ORIGIN = "SELECT trace_id, v.id, v.event FROM rx_event v JOIN events USING (event) JOIN traces USING (trace)"
_FOUND = """
    SELECT trace_id, event_id, recipient, attribute, text, dynamic FROM verdicts v JOIN events e USING (event)
    JOIN traces t ON t.trace = e.trace JOIN vault USING (value) WHERE standing = 'confirmed' AND dynamic <> 'unruled'
"""
_DELIVERED = """
    SELECT trace_id, event_id, recipient, grade, delivered FROM deliveries JOIN events USING (event)
    JOIN traces USING (trace)
"""


def make(path: Path, files: list[Path], request: AuditRequest, conditions: tuple[str, ...]) -> Made:
    """An audited case with a replay."""
    with Case(path) as case:
        Loader(case).load(files)
        audit(case, request)
        assert replay(case, Request([find(c) for c in conditions], Keys(bytes(32)))) == {}
    return path, request


def close(made: Made, ask: Ask, output: Path, *, values: bool = True) -> Loop:
    """Write, import, audit; what was told and what is found."""
    path, request = made
    left = "downstream" if ask.mode == "propagate" else "remains"
    with Case(path) as case:
        told = lay_out(case, ask, rules_in_force(case))
        write_sanitized(case, output, values=values, reveal=True, replace=True)
        reported = set(case.rows(_REPORTED.format(left=left), [ask.condition, ask.setting]))
        vouched, introduced = set(case.rows(_VOUCHED)), set(case.rows(_NEW))
        origin = {(t, i): e for t, i, e in case.rows(_ORIGIN)}
        before = set(case.rows("SELECT event, recipient, grade, delivered FROM deliveries"))
        drop(case)
    with Case() as again:
        Loader(again).load([output])
        audit(again, request)
        found, after = ({(origin[t, i], *rest) for t, i, *rest in again.rows(q)} for q in (_FOUND, _DELIVERED))
    return Loop(told, reported, vouched, introduced, found, before, after)


def assert_closed(loop: Loop) -> None:
    """What is found is what remains and what is introduced; only a judge's word may be missing."""
    assert loop.found <= loop.reported | loop.introduced
    assert (loop.reported - loop.found) <= loop.vouched
    assert loop.introduced <= loop.found
    assert not loop.introduced & loop.reported
    assert loop.before == loop.after
    assert_told(loop)


def assert_told(loop: Loop) -> None:
    """The numbers of the command are those of the audit."""
    told, new = loop.told, loop.told.introduced + loop.told.introduced_allowed
    assert told.differing == 0
    assert (len(loop.reported), len(loop.introduced)) == (told.remaining + told.allowed, new)
    assert len(loop.found) == told.remaining + told.allowed + new - told.unconfirmed
    assert sum(verdict == "sanitize" for *_, verdict in loop.introduced) == told.introduced
    assert sum(told.introduced_by.values()) == new
    assert told.introduced_by.keys() <= set(REASONS)


def asks(conditions: tuple[str, ...]) -> list[Ask]:
    return [Ask(*words) for words in product(conditions, SETTINGS, MODES)]  # type: ignore[arg-type]


def name(ask: Ask) -> str:
    return f"{ask.condition}-{ask.setting}-{ask.mode}"


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Made:
    request = read_request(TEN / "policy.yaml", None, DEFAULT)
    return make(tmp_path_factory.mktemp("ten") / "case.duckdb", [TEN / "traces.jsonl"], request, CONDITIONS)


@pytest.fixture(scope="module")
def topologies(tmp_path_factory: pytest.TempPathFactory) -> Made:
    request = read_request(TOPOLOGIES / "policy.yaml", None, DEFAULT)
    path = tmp_path_factory.mktemp("topologies") / "case.duckdb"
    return make(path, [TOPOLOGIES / "traces.jsonl"], request, CONDITIONS)


ALL = [("ten", ask) for ask in asks(CONDITIONS)] + [("topologies", ask) for ask in asks(CONDITIONS[1:6])]


@pytest.mark.parametrize(("corpus", "ask"), ALL, ids=lambda cell: cell if isinstance(cell, str) else name(cell))
def test_the_loop_is_closed(request: pytest.FixtureRequest, tmp_path: Path, corpus: str, ask: Ask) -> None:
    loop = close(request.getfixturevalue(corpus), ask, tmp_path / "out.jsonl")
    assert_closed(loop)
    assert loop.found == loop.reported, "by hand: nothing is introduced"


@pytest.mark.parametrize("ask", asks(("static", "oracle")), ids=name)
def test_values_of_a_policy_need_not_be_written(ten: Made, tmp_path: Path, ask: Ask) -> None:
    assert_closed(close(ten, ask, tmp_path / "out.jsonl", values=False))


@pytest.mark.parametrize("mode", MODES)
def test_the_loop_is_closed_under_other_rules(tmp_path: Path, mode: str) -> None:
    """Values looked for as they are written, and by allowing rules alone."""
    request = read_request(TOPOLOGIES / "policy.yaml", None, LITERAL)
    made = make(tmp_path / "case.duckdb", [TOPOLOGIES / "traces.jsonl"], request, ("static",))
    loop = close(made, Ask("static", "paper", mode), tmp_path / "out.jsonl")  # type: ignore[arg-type]
    assert_closed(loop)
    assert loop.found


@pytest.mark.parametrize("corpus", ["ten", "topologies"])
def test_the_loop_is_closed_for_presidio(request: pytest.FixtureRequest, tmp_path: Path, corpus: str) -> None:
    if not (ner.available() and find_spec("presidio_analyzer") and find_spec("presidio_anonymizer")):
        pytest.skip("the extra [presidio] is not installed")
    path, audited = request.getfixturevalue(corpus)
    copy = tmp_path / "case.duckdb"
    copy.write_bytes(path.read_bytes())
    with Case(copy) as case:
        assert replay(case, Request([find("presidio")], Keys(bytes(32)))) == {}
    for ask in asks(("presidio",)):
        loop = close((copy, audited), ask, tmp_path / "out.jsonl")
        assert_closed(loop)
        assert loop.told.changed


# Under every key: the mark itself is a value.
def test_a_replacement_that_equals_another_value_is_told(tmp_path: Path) -> None:
    lines: list[Item] = [{"type": "trace", "id": "t"}]
    lines += [{"type": "value", "trace": "t", "attribute": "code", "value": v} for v in ("REDACTED", "536-22-8417")]
    lines.append({"type": "event", "trace": "t", "seq": 1, "channel": "C2", "sender": "a", "to": ["b"]}
                 | {"content": "The code is 536-22-8417."})  # fmt: skip
    (tmp_path / "traces.jsonl").write_text("\n".join(map(json.dumps, lines)))
    policy = AuditRequest(policy=parse_policy(b"default: sanitize\n", "policy.yaml"))
    made = make(tmp_path / "case.duckdb", [tmp_path / "traces.jsonl"], policy, ("blanket",))
    loop = close(made, Ask("blanket", "paper"), tmp_path / "out.jsonl")
    assert_closed(loop)
    assert (loop.told.remaining, loop.told.introduced, loop.told.introduced_by) == (0, 1, {"replacement": 1})
    assert [row[1:] for row in loop.found] == [("b", "code", "REDACTED", "sanitize")]
    with Case(made[0], create=False) as case:
        assert case.one(FIGURE) == 1


def test_a_value_of_another_scenario_is_not_introduced(tmp_path: Path) -> None:
    """Two texts of two scenarios become alike; what is protected in the one is nothing in the other."""
    lines: list[Item] = []
    for n, ssn in enumerate(("536-22-8417", "536-22-8418")):
        lines.append({"type": "trace", "id": f"t{n}", "scenario": f"s{n}"})
        lines.append({"type": "value", "scenario": f"s{n}", "attribute": "ssn", "value": ssn})
        lines.append({"type": "event", "trace": f"t{n}", "seq": 1, "channel": "C2", "sender": "a", "to": ["b"]}
                     | {"content": f"The SSN of Nightjar is {ssn}."})  # fmt: skip
    lines.append({"type": "value", "scenario": "s1", "attribute": "project", "value": "Nightjar"})
    (tmp_path / "traces.jsonl").write_text("\n".join(map(json.dumps, lines)))
    policy = AuditRequest(policy=parse_policy(b"default: sanitize\n", "policy.yaml"))
    made = make(tmp_path / "case.duckdb", [tmp_path / "traces.jsonl"], policy, ("blanket",))
    loop = close(made, Ask("blanket", "paper"), tmp_path / "out.jsonl")
    assert_closed(loop)
    assert [row[3] for row in loop.found] == ["Nightjar"]
    with Case(made[0], create=False) as case:
        assert case.one(FIGURE) == 0


def test_texts_that_become_alike_make_nobody_a_recipient(tmp_path: Path) -> None:
    """Two messages differ in the number alone; once it is gone, who saw the one would seem to have seen the other."""
    text = "Please file the SSN {} before the end of the day."
    lines: list[Item] = [{"type": "trace", "id": "t"}]
    for n, (ssn, actor) in enumerate((("536-22-8417", "a"), ("536-22-8418", "b"))):
        said = {"trace": "t", "content": text.format(ssn)}
        lines.append({"type": "value", "trace": "t", "attribute": "ssn", "value": ssn})
        lines.append(said | {"type": "event", "seq": n, "channel": "C2", "sender": "planner", "to": [actor]})
        lines.append(said | {"type": "sighting", "actor": actor, "seq": 10})
    (tmp_path / "traces.jsonl").write_text("\n".join(map(json.dumps, lines)))
    policy = AuditRequest(policy=parse_policy(b"default: sanitize\n", "policy.yaml"))
    made = make(tmp_path / "case.duckdb", [tmp_path / "traces.jsonl"], policy, ("blanket",))
    assert_closed(close(made, Ask("blanket", "paper"), tmp_path / "out.jsonl"))
    assert "[withheld]" in (tmp_path / "out.jsonl").read_text()


DIVORCE = "is going through a painful divorce from her husband"
TOLD = ("It seems the divorce from her husband is painful. SSN 536-22-8417.",
        "Her husband wants it; a painful divorce is what she is going through.")  # fmt: skip


_OTHER_WORDS = "SELECT m.content::VARCHAR, fingerprint FROM matches m JOIN vault USING (value) WHERE tier = 3"


def judged(request: AuditRequest) -> AuditRequest:
    """The same audit with a judge that has nothing but the verdicts at hand."""
    return replace(request, tiers=Tiers(judge=JudgeOptions(None, "some-model")))


@pytest.mark.parametrize("condition", ["none", "dynamic"])
def test_what_a_judge_confirmed_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, condition: str) -> None:
    monkeypatch.setenv("EARWITNESS_KEY", "11" * 32)
    lines: list[Item] = [{"type": "trace", "id": "t"}]
    for attribute, value in (("private life", DIVORCE), ("ssn", "536-22-8417")):
        lines.append({"type": "value", "trace": "t", "attribute": attribute, "value": value})
    for n, text in enumerate(TOLD):
        lines.append({"type": "event", "trace": "t", "seq": n, "channel": "C2", "sender": "a", "to": ["b"]}
                     | {"content": text})  # fmt: skip
    (tmp_path / "traces.jsonl").write_text("\n".join(map(json.dumps, lines)))
    plain = AuditRequest(policy=parse_policy(b"default: sanitize\n", "policy.yaml"))
    with Case(tmp_path / "case.duckdb") as case:
        Loader(case).load([tmp_path / "traces.jsonl"])
        audit(case, judged(plain))
        pairs = case.rows(_OTHER_WORDS)
        assert len(pairs) == 2
        save(case.con, prompt_sha256(), "some-model", [(content, mark, 0.9) for content, mark in pairs])
        case.set_meta("detected", "")
        audit(case, judged(plain))
        replay(case, Request([find(condition)], Keys(bytes(32))))
    loop = close((tmp_path / "case.duckdb", plain), Ask(condition, "paper"), tmp_path / "out.jsonl")
    assert_closed(loop)
    assert loop.told.unconfirmed == 2
    assert {text for _, _, _, text, _ in loop.reported - loop.found} == {DIVORCE}


# Random corpora: values whole, in other forms and in halves; agents that pass them on; contexts and initial inputs.
VALUES = {
    "ssn": "536-22-8417",
    "email": "ilse.b@brandvold.org",
    "project": "Nightjar Harbour",
    "phone": "+1 415 555 0142",
    "level": "high",
}
AGENTS = ("planner", "worker", "mailer", "smtp", "board")
WORDS = ("please", "SSN 5362 28417", "is it 536-22-", "8417 then", "nothing of note today", '{"k": "v"}', "level: high")
texts = st.lists(st.one_of(st.sampled_from(list(VALUES.values())), st.sampled_from(WORDS)), min_size=1, max_size=4)
agent = st.sampled_from(AGENTS)
event = st.fixed_dictionaries(
    {
        "type": st.just("event"),
        "channel": st.sampled_from(("C1", "C2", "C2", "C2", "C3", "C4", "C5", "C6")),
        "sender": agent,
        "to": st.lists(agent, max_size=3, unique=True),
        "content": texts.map(" ".join),
    },
    optional={"id": st.sampled_from(("e1", "e2", "e3", "e2~2"))},
)
sighting = st.fixed_dictionaries(
    {
        "type": st.just("sighting"),
        "actor": agent,
        "kind": st.sampled_from(("initial", "input", "history", "response")),
        "content": texts.map(" ".join),
    },
    optional={"event": st.sampled_from(("e1", "e3"))},
)
rule = st.fixed_dictionaries(
    {"effect": st.sampled_from(("allow", "allow", "sanitize"))},
    optional={
        "attributes": st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=2, unique=True),
        "recipients": st.lists(agent, min_size=1, max_size=3, unique=True),
    },
)
policies = st.fixed_dictionaries(
    {"default": st.just("sanitize"), "rules": st.lists(rule, max_size=4)},
    optional={"fallback": st.just({"C6": "closed"}), "confidence": st.just({"C2": 0.8})},
)
ask_any = st.builds(
    Ask,
    st.sampled_from(("blanket", "static", "dynamic", "topology-forwarded", "oracle")),
    st.sampled_from(SETTINGS),
    st.sampled_from(MODES),
    st.booleans(),
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.lists(st.one_of(event, event, sighting), min_size=1, max_size=10), policies, ask_any, st.booleans())
def test_the_loop_is_closed_for_any_corpus(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Item], policy: Item, ask: Ask, valued: bool
) -> None:
    """With values that the policy gives, or with none at all: then recognizers look for some."""
    assume(any(value in s["content"] for s in steps if s["type"] == "event" for value in VALUES.values()))
    folder = tmp_path_factory.mktemp("any")
    (folder / "traces.jsonl").write_text(
        "\n".join(json.dumps({"trace": "t", "seq": n} | step) for n, step in enumerate(steps))
    )
    values = [{"attribute": a, "value": v} for a, v in VALUES.items()] if valued else []
    request = AuditRequest(policy=parse_policy(json.dumps(policy | {"values": values}).encode(), "policy.yaml"))
    made = make(folder / "case.duckdb", [folder / "traces.jsonl"], request, (ask.condition,))
    with Case(made[0]) as case:
        assume(case.count("replays"))
    assert_closed(close(made, ask, folder / "out.jsonl"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The laboratory's corpus, both halves."""
    request = read_request(LAB / "policy.yaml", None, DEFAULT)
    path = tmp_path_factory.mktemp("lab") / "case.duckdb"
    with Case(path) as case:
        Loader(case).load([LAB / "langgraph.tar.zst", LAB / "autogen.jsonl.zst"])
        for table in ("manifest.csv", "turns.parquet"):
            apply_manifest(case, read_manifest(LAB / table), LAB / table)
        audit(case, request)
        replay(case, Request([find(c) for c in ("blanket", "static", "dynamic")], Keys(bytes(32))))
    return path, request


REAL = (Ask("dynamic", "extended", "propagate"), Ask("dynamic", "paper"), Ask("blanket", "paper", "propagate"),
        Ask("static", "extended"))  # fmt: skip


@pytest.mark.real
@pytest.mark.parametrize("ask", REAL, ids=name)
def test_the_loop_is_closed_in_the_laboratory(lab: Made, tmp_path: Path, ask: Ask) -> None:
    loop = close(lab, ask, tmp_path / "out.jsonl")
    assert loop.told.changed > 3_000
    assert_closed(loop)


@pytest.fixture(scope="module")
def agentleak(tmp_path_factory: pytest.TempPathFactory, shared: Callable[[str], list[Path]]) -> Made:
    """Every eighth of the public runs, by the values and rules they bring."""
    folder = tmp_path_factory.mktemp("leak")
    with tarfile.open(shared("data/agentleak_traces/traces_3214.tar.xz")[0]) as archive:
        runs = sorted((m for m in archive.getmembers() if m.isfile()), key=lambda m: m.name)
        archive.extractall(folder / "runs", runs[::8], filter="data")
    return make(folder / "case.duckdb", [folder / "runs"], AuditRequest(), ("blanket", "static", "dynamic"))


@pytest.mark.real
@pytest.mark.parametrize("ask", REAL, ids=name)
def test_the_loop_is_closed_on_public_runs(agentleak: Made, tmp_path: Path, ask: Ask) -> None:
    loop = close(agentleak, ask, tmp_path / "out.jsonl")
    assert len(loop.reported) > 50
    assert_closed(loop)
