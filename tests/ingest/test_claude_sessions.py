"""Sessions of Claude Code over several files: told by one process or by several, and what one bad line costs."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest import workers
from earwitness.ingest.claude_code import session as sessions
from earwitness.ingest.claude_code.entries import Entry, entry_of
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Place
from earwitness.schema.case import Case

Tables = Callable[..., dict[str, list[tuple[Any, ...]]]]
MANY = 40
Rows = list[tuple[Any, ...]]


def line(session: int, uuid: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    said = {"type": kind, "uuid": f"{session}-{uuid}", "parentUuid": None, "isSidechain": False}
    return {**said, "sessionId": f"s-{session}", "message": {"role": kind, "content": content}, **more}


def write(path: Path, *lines: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")


def project(folder: Path) -> Path:
    """A folder as the program keeps it: of each session a file, that of its sub-agent, and what made that one."""
    summaries = [{"type": "summary", "leafUuid": f"{n}-b", "summary": f"Summary {n}."} for n in range(MANY + 1)]
    write(folder / "0-summaries.jsonl", *summaries)
    for n in range(MANY):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Agent", "input": {"prompt": f"Read file {n}."}}
        done = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"It says {n}."}
        side = {"isSidechain": True}
        answer = [{"type": "text", "text": f"It says {n}."}]
        below = folder / f"s-{n}" / "subagents"
        write(folder / f"s-{n}.jsonl", line(n, "a", "assistant", [call]), line(n, "b", "user", [done]))
        write(
            below / f"agent-k{n}.jsonl", line(n, "c", "user", "Do.", **side), line(n, "d", "assistant", answer, **side)
        )
        write(below / f"agent-k{n}.meta.json", {"agentType": "reader", "toolUseId": f"t{n}"})
    return folder


def events(path: Path) -> tuple[Rows, Rows]:
    """Session, kind and text of events, and the outcomes and reasons of records that were not mapped."""
    with Case() as case:
        Loader(case).load([path])
        told = case.rows(
            "SELECT t.trace_id, e.kind, c.text FROM events e JOIN traces t USING (trace) "
            "JOIN contents c USING (content) ORDER BY e.event"
        )
        return told, case.rows("SELECT outcome, reason FROM records ORDER BY ALL")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")
def test_sessions_over_several_files_are_told_alike_by_several_processes(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_WORTH", 1)
    path = project(tmp_path)
    one = tables(path)
    assert tables(path, jobs=2) == one
    assert len(one["traces"]) == MANY


def test_a_summary_goes_to_the_session_of_the_line_that_it_names(tmp_path: Path) -> None:
    told, skipped = events(project(tmp_path))
    found = sorted(row for row in told if row[1] == "summary")
    assert found == sorted((f"s-{n}", "summary", f"Summary {n}.") for n in range(MANY))
    assert skipped == [("ignored", "summary of a session that was not read")]


def test_a_summary_of_a_line_that_two_sessions_hold_goes_to_the_first(tmp_path: Path) -> None:
    other = {**line(1, "b", "user", "Other."), "uuid": "0-b"}
    summary = {"type": "summary", "leafUuid": "0-b", "summary": "In short."}
    write(tmp_path / "all.jsonl", line(0, "b", "user", "Words."), other, summary)
    told, _ = events(tmp_path)
    assert [row for row in told if row[1] == "summary"] == [("s-0", "summary", "In short.")]


def test_a_line_that_cannot_be_read_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project(tmp_path)
    whole, _ = events(path)

    def brittle(kept: list[Any], place: Place) -> Entry:
        if kept[1] == "7-d":
            raise TypeError
        return entry_of(kept, place)

    monkeypatch.setattr(sessions, "entry_of", brittle)
    told, skipped = events(path)
    reason = "not of a shape that the adapter claude-code knows: TypeError"
    assert ("unparseable", reason) in skipped
    assert len(skipped) == 2
    assert [row for row in told if row[0] != "s-7"] == [row for row in whole if row[0] != "s-7"]
    assert ("s-7", "answer", "It says 7.") in told
