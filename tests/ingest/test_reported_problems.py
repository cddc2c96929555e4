"""Problems that users of tracing tools reported, each as a small recording of the kind that went wrong.

`tests/golden/problems/<number>_<name>/` holds the recording, written for this test, and `expected.yaml`: the threads,
the symptom, and what must hold. Keys of `expected.yaml`:

- `found`: texts with the channel of the one event that holds them, its sender, recipients and flags, or the number of
  `sightings`; on no other channel may there be an event with the text
- `spoken`: texts of which some event must tell
- `losses`: kinds, channels, and what their detail says
- `absent`: names that no actor may have
- `apart`: ids of traces that must stay traces of their own
- `alike`: each file alone gives the same items
- `outcomes`: of all records
- `events`: number of events of a channel
- `order`: texts in the order of the trace
- `audit`: verdicts on channels, with every text that holds a digit, and `values`, as protected values
- `unverifiable`: traces of which nothing may be called clean
"""

import io
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from earwitness.audit.pipeline import Request, audit
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Source
from earwitness.reports.canonical import export
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyValue

FOLDER = Path(__file__).parent.parent / "golden" / "problems"
PROBLEMS = sorted(p for p in FOLDER.iterdir() if p.is_dir())
KEYS = {"problem", "symptom", "found", "spoken", "losses", "absent", "apart", "alike", "outcomes", "events", "order"}
KEYS |= {"audit", "unverifiable", "values"}

problem = pytest.mark.parametrize("folder", PROBLEMS, ids=lambda p: p.name)


class Told(NamedTuple):
    """What an import and an audit of a recording give."""

    items: list[dict[str, Any]]
    sources: list[Source]
    coverage: dict[tuple[str, str], str]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The items of a type, in the order of their traces."""
        found = [item for item in self.items if item["type"] == kind]
        return sorted(found, key=lambda item: item.get("seq") or 0)


def expected(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((folder / "expected.yaml").read_text(encoding="utf-8"))
    return read


def inputs(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.name != "expected.yaml")


def load(paths: list[Path], values: tuple[str, ...] = ()) -> Told:
    policy = Policy(values=tuple(PolicyValue(attribute=f"v{n}", value=v) for n, v in enumerate(values)))
    with Case() as case:
        sources = Loader(case).load(paths)
        out = io.BytesIO()
        export(case, out)
        audit(case, Request(policy=policy))
        rows = case.rows("SELECT trace_id, channel, verdict FROM coverage JOIN traces USING (trace)")
    items = [json.loads(line) for line in out.getvalue().splitlines()]
    return Told(items, sources, {(trace, channel): verdict for trace, channel, verdict in rows})


@cache
def told(folder: Path) -> Told:
    wanted = expected(folder)
    texts = [f["text"] for f in wanted.get("found", ())] + wanted.get("values", [])
    return load(inputs(folder), tuple(dict.fromkeys(t for t in texts if re.search(r"\d", t))))


def names(event: dict[str, Any]) -> list[str]:
    return [to if isinstance(to, str) else to["actor"] for to in event.get("to", ())]


def test_all_problems_are_here() -> None:
    """One folder for each row of the table of reported problems."""
    assert [int(p.name[:2]) for p in PROBLEMS] == list(range(1, 29))
    threads = [thread for p in PROBLEMS for thread in expected(p)["problem"]]
    assert len(set(threads)) == len(threads)
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", thread) for thread in threads)
    assert all(expected(p).keys() <= KEYS for p in PROBLEMS)


@problem
def test_every_record_is_accounted_for(folder: Path) -> None:
    sources = told(folder).sources
    assert all(s.problem is None and sum(s.outcomes.values()) == s.records > 0 for s in sources)
    total = Counter(o for s in sources for o, n in s.outcomes.items() for _ in range(n))
    assert not total.keys() & {"unknown", "unsupported", "unparseable", "oversized"}
    assert expected(folder).get("outcomes", total) == total


@problem
def test_what_was_overlooked_is_found(folder: Path) -> None:
    events, wanted = told(folder).of("event"), expected(folder)
    for text in wanted.get("spoken", ()):
        assert any(text in e["content"] for e in events), text
    for one in wanted["found"]:
        _check_events(one, events, wanted["found"])
        if "sightings" in one:
            seen = [s for s in told(folder).of("sighting") if one["text"] in s["content"]]
            assert len(seen) == one["sightings"], one


def _check_events(one: dict[str, Any], events: list[dict[str, Any]], found: list[dict[str, Any]]) -> None:
    holding = [e for e in events if one["text"] in e["content"]]
    channels = Counter(f["channel"] for f in found if "channel" in f and one["text"] in f["text"])
    assert Counter(e["channel"] for e in holding) == channels, one
    for event in [e for e in holding if e["channel"] == one.get("channel")][: one.get("n", 1)]:
        assert event.get("sender") == one.get("sender", event.get("sender")), one
        assert names(event) == one.get("to", names(event)), one
        assert event.get("flags", []) == one.get("flags", event.get("flags", [])), one
        assert event["trace"] == one.get("trace", event["trace"]), one


@problem
def test_what_the_record_lacks_is_told(folder: Path) -> None:
    losses = told(folder).of("loss")
    for one in expected(folder).get("losses", ()):
        assert any(
            loss["kind"] == one["kind"]
            and loss.get("channel") == one.get("channel", loss.get("channel"))
            and one.get("says", "") in loss["detail"]
            for loss in losses
        ), one


@problem
def test_order_actors_and_traces(folder: Path) -> None:
    wanted, found = expected(folder), told(folder)
    assert not {"unknown", "None", "", *wanted.get("absent", ())} & {a["name"] for a in found.of("actor")}
    assert {t["id"] for t in found.of("trace")} >= set(wanted.get("apart", ()))
    counted = Counter(e["channel"] for e in found.of("event"))
    assert all(counted[channel] == n for channel, n in wanted.get("events", {}).items())
    steps = sorted(found.of("event") + found.of("sighting"), key=lambda step: step["seq"])
    told_in_order = [s["content"] for s in steps if s["content"] in wanted.get("order", ())]
    assert told_in_order == wanted.get("order", [])


@problem
def test_no_audit_calls_clean_what_leaks_or_cannot_be_seen(folder: Path) -> None:
    wanted, coverage = expected(folder), told(folder).coverage
    leaks = {channel for (_, channel), verdict in coverage.items() if verdict == "leak"}
    assert leaks == {f["channel"] for f in wanted["found"] if "channel" in f and re.search(r"\d", f["text"])}
    for channel, verdict in wanted.get("audit", {}).items():
        assert {v for (_, c), v in coverage.items() if c == channel} == {verdict}, channel
    dark = {v for (trace, _), v in coverage.items() if trace in wanted.get("unverifiable", ())}
    assert dark <= {"unverifiable"}
    assert bool(dark) == ("unverifiable" in wanted)


@pytest.mark.parametrize("folder", [p for p in PROBLEMS if expected(p).get("alike")], ids=lambda p: p.name)
def test_every_form_of_one_recording_gives_the_same(folder: Path) -> None:
    forms = [load([path]).items for path in inputs(folder)]
    assert len(forms) > 1
    assert all(form == forms[0] for form in forms)
