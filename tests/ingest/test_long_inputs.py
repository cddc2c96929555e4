"""Large imports: what waits on disk, and what is looked up instead of searched for, changes nothing of what is told."""

import io
import pickle
from datetime import datetime
from pathlib import Path

import pytest

from earwitness.ingest import consumption
from earwitness.ingest.chronicle import run_name
from earwitness.ingest.dialogue import At, Dialogue
from earwitness.ingest.langchain import runbook
from earwitness.ingest.langchain.reprs import parse_repr
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Place, Source
from earwitness.ingest.shelf import Shelf, Tape
from earwitness.ingest.spans.reads import Reads
from earwitness.reports.canonical import export
from earwitness.schema.case import Case
from earwitness.schema.model import Sighting, Trace

GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"


def told(*paths: Path) -> bytes:
    """All items of an import."""
    with Case() as case:
        Loader(case).load(list(paths))
        out = io.BytesIO()
        export(case, out)
    return out.getvalue()


@pytest.mark.parametrize("adapter", ["langchain-callbacks", "langsmith-runs"])
def test_runs_that_wait_on_disk_are_told_as_ever(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = sorted((GOLDEN / adapter).glob("*.in.*"))
    expected = told(*paths)
    monkeypatch.setattr(runbook, "_AWAKE", 1)
    assert told(*paths) == expected


@pytest.mark.parametrize("adapter", ["claude-code", "crewai-events", "otlp-spans"])
def test_contexts_are_searched_alike_in_small_and_large_batches(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = sorted((GOLDEN / adapter).glob("*.in.*"))
    expected = told(*paths)
    monkeypatch.setattr(consumption, "_FEW", 0)
    monkeypatch.setattr(consumption, "_TRACES", 1)
    assert told(*paths) == expected


def test_a_shelf_gives_back_what_was_put_there() -> None:
    shelf = Shelf()
    values = [{"a": [1, 2.5, None, True, "\ud800", 10**30]}, "text", [], {"at": datetime(2026, 1, 2)}]
    keys = [shelf.put(v) for v in values]
    assert [shelf.get(k) for k in reversed(keys)] == [{"at": "2026-01-02 00:00:00"}, *reversed(values[:3])]
    shelf.close()


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 5, 6, 7, 8])
def test_a_tape_gives_back_what_is_on_disk_and_what_is_not(start: int) -> None:
    tape = Tape[tuple[str, int]]()
    values = [("ab" * 200_000, n) for n in range(7)]
    for text, n in values:
        tape.append((text, n), len(text))
    assert len(tape._latest) < 3
    assert (len(tape), list(tape.since(start))) == (7, values[start:])
    again = pickle.loads(pickle.dumps(tape))
    assert list(again) == values


def test_who_takes_over_late_is_shown_all_of_a_long_conversation() -> None:
    dialogue, at = Dialogue(Trace(id="t"), At(Place(1, 0, 1))), At(Place(1, 0, 1))
    said = [f"{n} " + "words " * 50_000 for n in range(12)]
    for text in said:
        dialogue.say("lead", text, at)
    dialogue.handoff(None, "worker", at, agent="lead", words="go on")
    items = [getattr(emitted, "item", None) for emitted in dialogue.finish()]
    shown = [item.content for item in items if isinstance(item, Sighting) and item.actor == "worker"]
    assert shown == said


def test_readers_of_a_text_are_the_same_however_they_are_found() -> None:
    asked = "The balance of the account is twelve thousand euro."
    given = {"clerk": f"Known:  {asked} Decide.", "boss": asked, "auditor": asked[:30]}
    texts = [asked, asked.replace(" ", "\n"), asked[:40], "short", "The balance of the account is another one."]
    searched, prepared = Reads(), Reads()
    for agent, text in given.items():
        searched.add(agent, text)
        prepared.add(agent, text)
    prepared.prepare(texts)
    found = [searched.readers(t) for t in texts]
    assert (
        found
        == [prepared.readers(t) for t in texts]
        == [["clerk", "boss"], ["clerk", "boss"], ["clerk", "boss"], [], []]
    )


def test_runs_without_id_are_numbered_by_name() -> None:
    with Case() as case:
        loader = Loader(case, sources=[Source("dir/run.json")])
        assert [run_name(loader) for _ in range(3)] == ["run.json", "run.json#2", "run.json#3"]
        loader.sources.append(Source("other.json"))
        assert loader.claim("run without id", "other.json#2")
        assert [run_name(loader) for _ in range(2)] == ["other.json", "other.json#3"]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("content='a b' name='x'", "a b"),
        ("content=\"it's (here\" name='x'", "it's (here"),
        (r"content='a \' b' name='x y'", "a ' b"),
    ],
)
def test_fields_of_a_printed_message_end_at_blanks_outside_of_quotes(text: str, content: str) -> None:
    assert parse_repr(text)["content"] == content
