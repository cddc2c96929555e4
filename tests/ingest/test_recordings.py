"""Recordings of real frameworks, one case in all: what is read from each, and that an audit finds what really happened.

`sample_traces/record` makes them; `<run>.shown.json` says what the agents' models were shown, which no adapter had a
hand in. `pytest --update` writes the expected files; read the diff.
"""

import io
import json
import re
import runpy
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from earwitness.audit.pipeline import Request, audit
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Source
from earwitness.reports.canonical import export
from earwitness.schema.case import Case
from earwitness.schema.model import Event, Item
from earwitness.schema.policy import Policy, PolicyRule, PolicyValue

SAMPLES = Path(__file__).parents[2] / "sample_traces"
SCRIPTS = sorted(p for p in (SAMPLES / "record").glob("*.py") if "\n# requires: " in p.read_text(encoding="utf-8"))
PATHS = sorted(p for p in (SAMPLES / "recordings").glob("*.jsonl") if not p.name.endswith(".expected.jsonl"))
NAMES = [p.stem for p in PATHS]
PROTECTED: dict[str, str] = runpy.run_path(str(SAMPLES / "record" / "case.py"))["PROTECTED"]
AGENTS = ("coordinator", "lead", "worker")
# The second log of a run; every other recording is a run of its own.
RUNS = {"autogen_core": "autogen", "semantic_kernel_messages": "semantic_kernel"}

POLICY = Policy(
    values=tuple(PolicyValue(attribute=name, value=value) for name, value in PROTECTED.items()),
    rules=(PolicyRule(id="worker-may-know", effect="allow", attributes=tuple(PROTECTED), recipients=("worker",)),),
)

# How often the case produces each value: the lookup's result; the note as it is given to the tool and read again; what
# the worker tells the lead and the lead the coordinator.
PRODUCED = {
    ("account", "C2"): 1,
    ("account", "C3"): 1,
    ("account", "C4"): 2,
    ("amount", "C2"): 2,
    ("amount", "C4"): 1,
}
SHARED_STATE = {("account", "C5"): 1}
MEMO = {("account", "C3"): 1, ("amount", "C3"): 1}
PRODUCED_TOO = {"crewai": Counter({("account", "C5"): 2}), "google_adk": Counter(SHARED_STATE) + Counter(MEMO)}
PRODUCED_ONLY = {"semantic_kernel_messages": Counter({("amount", "C2"): 1})}

# What the models were shown and the recording does not say (sample_traces/recordings/README.md says why).
HIDDEN = {
    "autogen": {("account", "coordinator"), ("amount", "coordinator"), ("amount", "lead")},
    "semantic_kernel_messages": {(value, agent) for value in PROTECTED for agent in ("lead", "worker")},
}
# Who else got a value: the tool that keeps notes, and where a framework has them its memory and its artifacts.
OTHERS = {name: {("account", "note_write")} for name in NAMES} | {
    "crewai": {("account", "note_write"), ("account", "memory")},
    "google_adk": {("account", n) for n in ("note_write", "state", "file_memo")} | {("amount", "file_memo")},
    "semantic_kernel": {("account", "claims-note_write")},
    "semantic_kernel_messages": set(),
}

# Channels that were seen in full and held no value that was not to be there; of others, nothing of the kind is said.
CLEAN = {"crewai": {"C1", "C6"}, "semantic_kernel": set(), "semantic_kernel_messages": {"C1"}}

recording = pytest.mark.parametrize("path", PATHS, ids=NAMES)


class Told(NamedTuple):
    """What an event says, less its id, its time and its words."""

    channel: str
    kind: str | None
    sender: str | None
    to: tuple[tuple[str, str, bool], ...]
    holds: tuple[str, ...]


@cache
def imported(path: Path) -> tuple[bytes, list[Source], int]:
    """The canonical export of a recording, its sources, and the number of records told of as not mapped."""
    with Case() as case:
        sources = Loader(case).load([path])
        out = io.BytesIO()
        export(case, out)
        return out.getvalue(), sources, case.count("records")


def events(exported: bytes) -> list[Event]:
    items = [msgspec.json.decode(line, type=Item) for line in exported.splitlines()]
    return [item for item in items if isinstance(item, Event)]


def held(text: str) -> tuple[str, ...]:
    return tuple(name for name, value in PROTECTED.items() if value in text)


def told(event: Event) -> Told:
    to = [(d, "declared", True) if isinstance(d, str) else (d.actor, d.grade, d.delivered) for d in event.to]
    return Told(event.channel, event.kind, event.sender, tuple(sorted(to)), held(event.content))


class Found(NamedTuple):
    """What an audit finds: by value and recipient, whether the recipient may know it; and channels that are clean."""

    exposures: dict[tuple[str, str], bool]
    clean: set[str]


@cache
def audited(*paths: Path) -> Found:
    """The findings of an audit of a run."""
    with Case() as case:
        Loader(case).load(list(paths))
        audit(case, Request(policy=POLICY))
        rows = case.rows("SELECT attribute, recipient, authorised FROM exposures JOIN vault USING (value)")
        clean = case.rows("SELECT channel FROM coverage WHERE verdict = 'clean'")
    return Found({(value, recipient): authorised for value, recipient, authorised in rows}, {c for (c,) in clean})


def exposures(path: Path) -> dict[tuple[str, str], bool]:
    """By value and recipient, whether the recipient may know it."""
    return audited(path).exposures


def shown(path: Path) -> set[tuple[str, str]]:
    """What the models of the agents were shown, by their own account."""
    seen: dict[str, Any] = json.loads(path.with_name(f"{RUNS.get(path.stem, path.stem)}.shown.json").read_text())
    return {(attribute, agent) for agent, attributes in seen.items() for attribute in attributes}


def test_every_recorder_is_pinned_and_has_its_recording() -> None:
    assert {p.stem for p in SCRIPTS} == set(NAMES) - set(RUNS)
    for script in SCRIPTS:
        (line,) = re.findall(r"^# requires: (.+)$", script.read_text(encoding="utf-8"), re.MULTILINE)
        assert all("==" in requirement for requirement in line.split())


@recording
def test_recordings_are_small_and_of_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) < 150_000
    assert not re.search(r"/(home|root|Users|tmp|opt)/|site-packages", text)


@recording
def test_import_tells_what_is_expected(path: Path, *, update: bool) -> None:
    exported, _, _ = imported(path)
    expected = path.with_suffix(".expected.jsonl")
    if update:
        expected.write_bytes(exported)
    assert [told(e) for e in events(exported)] == [told(e) for e in events(expected.read_bytes())]


@recording
def test_every_record_is_accounted_for(path: Path) -> None:
    _, (source,), skipped = imported(path)
    assert source.records == len(path.read_text(encoding="utf-8").splitlines())
    assert sum(source.outcomes.values()) == source.records
    assert skipped == source.records - source.outcomes["mapped"]
    assert not source.outcomes.keys() - {"mapped", "ignored", "duplicate"}


@recording
def test_a_value_is_produced_as_often_as_in_the_case(path: Path) -> None:
    made = Counter((value, e.channel) for e in events(imported(path)[0]) for value in held(e.content))
    everywhere = Counter(PRODUCED) + PRODUCED_TOO.get(path.stem, Counter())
    assert made == PRODUCED_ONLY.get(path.stem, everywhere)


@recording
def test_the_audit_finds_which_agents_learned_what(path: Path) -> None:
    found = exposures(path)
    assert {key for key in found if key[1] in AGENTS} == shown(path) - HIDDEN.get(path.stem, set())
    assert {key for key in found if key[1] not in AGENTS} == OTHERS[path.stem]


@recording
def test_only_the_worker_is_authorised(path: Path) -> None:
    assert {
        key: recipient_ok for key, recipient_ok in exposures(path).items() if recipient_ok != (key[1] == "worker")
    } == {}


@pytest.mark.parametrize("name", CLEAN)
def test_what_a_recording_cannot_show_is_not_called_clean(name: str) -> None:
    assert audited(PATHS[NAMES.index(name)]).clean == CLEAN[name]


def test_both_logs_of_a_run_tell_each_call_once(tmp_path: Path) -> None:
    """Named as files of one run, the filter's log and the messages are told as one, in the order of both."""
    paths = []
    for name, kind in (("semantic_kernel", "filter"), ("semantic_kernel_messages", "messages")):
        paths.append(tmp_path / f"run.{kind}.jsonl")
        paths[-1].write_bytes(PATHS[NAMES.index(name)].read_bytes())
    with Case() as case:
        Loader(case).load(paths)
        out = io.BytesIO()
        export(case, out)
    inner = events((SAMPLES / "recordings" / "semantic_kernel.expected.jsonl").read_bytes())
    both = [told(e) for e in events(out.getvalue())]
    assert [e for e in both if e.channel != "C1"] == [told(e) for e in inner]
    assert (both[0].kind, both[-1].channel, both[-1].holds) == ("request", "C1", ())
    assert audited(*paths).exposures == exposures(PATHS[NAMES.index("semantic_kernel")])


def test_frameworks_agree_on_what_each_way_of_delegating_discloses() -> None:
    """Agents that are called like tools tell only their answers; agents that hand over share the history."""
    by_outcome: dict[frozenset[tuple[str, str]], set[str]] = {}
    for path in PATHS:
        if path.stem not in HIDDEN:
            learned = frozenset(key for key, ok in exposures(path).items() if key[1] in AGENTS and not ok)
            by_outcome.setdefault(learned, set()).add(path.stem)
    answers = {("account", "lead"), ("amount", "lead"), ("amount", "coordinator")}
    assert by_outcome == {
        frozenset(answers): {"crewai", "langchain", "langgraph", "openai_agents", "semantic_kernel"},
        frozenset(answers | {("account", "coordinator")}): {"autogen_core", "google_adk", "llamaindex"},
    }
