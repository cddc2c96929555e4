"""Threads of Codex: a long one is told from the log as a short one is, and in no more memory."""

import json
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest import ahead
from earwitness.ingest.ahead import Ahead
from earwitness.ingest.codex import survey
from earwitness.ingest.codex.items import Item, items_of
from earwitness.ingest.codex.reader import Reader
from earwitness.ingest.codex.telling import _Teller
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Emit, Made, Place, Record, Skip, Source
from earwitness.schema.case import Case
from earwitness.schema.model import Event

Tables = Callable[..., dict[str, list[tuple[Any, ...]]]]
GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
MB = 1 << 20


def line(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    time = f"2026-01-01T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"
    return {"timestamp": time, "type": kind, "payload": payload}


def said(second: int, role: str, text: str) -> dict[str, Any]:
    return line(second, "response_item", type="message", role=role, content=[{"text": text}])


def call(second: int, name: str, tool: str, **given: Any) -> dict[str, Any]:
    return line(second, "response_item", type="function_call", call_id=name, name=tool, arguments=json.dumps(given))


def output(second: int, name: str, text: str) -> dict[str, Any]:
    return line(second, "response_item", type="function_call_output", call_id=name, output=text)


def child(second: int, name: str, parent: str, spawned_by: str) -> dict[str, Any]:
    spawn = {"parent_thread_id": parent, "spawn_call_id": spawned_by}
    time = line(second, "")["timestamp"]
    return line(second, "session_meta", id=name, timestamp=time, source={"subagent": {"thread_spawn": spawn}})


PARENT = [
    line(0, "session_meta", id="p", source="cli"),
    said(1, "user", "Find the pin."),
    line(1, "event_msg", type="user_message", message="Find  the PIN."),
    line(2, "response_item", type="reasoning", summary=[{"text": "**Look**\nIn the desk."}, {"text": "**Ask**"}]),
    line(2, "event_msg", type="agent_reasoning", text="**Ask**"),
    line(2, "event_msg", type="agent_reasoning", text="**Look**\nIn  the desk."),
    line(2, "event_msg", type="agent_reasoning", text="**Look**\nElsewhere."),
    call(3, "c1", "spawn_agent", message="Read it.", task_name="clerk"),
    output(3, "c1", "spawned"),
    call(5, "c2", "wait", ids=["k"]),
    output(6, "c2", '{"k": "the pin IS 4711"}'),
    said(7, "assistant", "It is 4711."),
    line(7, "event_msg", type="agent_message", message="It is 4711."),
]
CHILD = [
    child(4, "k", "p", "c1"),
    *PARENT[1:2],
    *PARENT[7:9],
    said(5, "user", "Read it."),
    call(5, "c3", "shell", command="cat note"),
    output(5, "c3", "exec command rejected by user"),
    said(6, "assistant", "The pin is 4711"),
]
OTHER = [line(9, "session_meta", id="o", source="cli"), *(said(n, "user", f"number {n}") for n in range(9))]


def write(folder: Path, *threads: list[dict[str, Any]]) -> list[Path]:
    paths = [folder / f"{n}.jsonl" for n in range(len(threads))]
    for path, thread in zip(paths, threads, strict=True):
        path.write_text("".join(json.dumps(record) + "\n" for record in thread), encoding="utf-8")
    return paths


@pytest.mark.parametrize("adapter", ["codex-exec", "codex-rollout", "spawned"])
def test_what_is_read_again_each_time_is_told_as_what_is_kept(
    tables: Tables, adapter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = sorted((GOLDEN / adapter).glob("*.in.*")) or write(tmp_path, PARENT, CHILD)
    kept = tables(*paths)
    monkeypatch.setattr(survey, "_SHORT", 0)
    assert tables(*paths) == kept


@pytest.mark.parametrize("short", [0, MB])
def test_events_that_repeat_items_in_parts_or_other_words(
    tables: Tables, short: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "_SHORT", short)
    found = tables(*write(tmp_path, PARENT, CHILD))
    repeated = [row for row in found["records"] if "an event that repeats a response item" in row]
    assert len(repeated) == 4
    assert "**Look**\nElsewhere." in {text for row in found["contents"] for text in row if isinstance(text, str)}
    assert {row[1] for row in found["actors"]} >= {"main", "clerk", "user"}


def long_thread(n: int) -> Iterable[dict[str, Any]]:
    """One turn of it."""
    words = f"{n} " + "words " * 100
    yield said(n, "user", "Question " + words)
    yield line(n, "event_msg", type="user_message", message="Question " + words)
    yield call(n, f"c{n}", "shell", command="look " + words)
    yield output(n, f"c{n}", "found " + words)
    yield said(n, "assistant", "Answer " + words)


def most_held(turns: int) -> tuple[float, list[Emit]]:
    """MB of Python objects at most while a thread of so many turns is fed and told, and the last that is told of it."""
    with Case() as case:
        reader = Reader(Loader(case, jobs=1, sources=[Source("thread.jsonl")]))
        last: list[Emit] = []
        tracemalloc.start()
        try:
            for n in range(turns):
                for k, value in enumerate(long_thread(n)):
                    list(reader.feed(Record(value, Place(5 * n + k + 1, 5 * n + k, 1, "", 0))))
            for emit in reader.finish():
                last = [*last[-9:], emit]
            return tracemalloc.get_traced_memory()[1] / MB, last
        finally:
            tracemalloc.stop()


def test_a_long_thread_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "_SHORT", 0)
    short, long = (most_held(turns) for turns in (1000, 4000))
    assert long[0] - short[0] < 4  # 9 MB of text more, each text of its own
    last = [e.item for e in long[1] if isinstance(e, Made) and isinstance(e.item, Event)][-1]
    assert (last.channel, last.content) == ("C1", "Answer 3999 " + "words " * 100)


@pytest.mark.parametrize("short", [0, MB])
@pytest.mark.parametrize("where", ["made", "told"])
def test_a_record_that_cannot_be_told_costs_no_other(
    tables: Tables, where: str, short: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write(tmp_path, PARENT, CHILD)
    monkeypatch.setattr(survey, "_SHORT", short)
    whole = tables(*paths)

    def broken(kind: str, time: Any, payload: Any, place: Place) -> list[Item] | None:
        if payload.get("call_id") == "c1" and payload["type"] == "function_call":
            raise TypeError
        return items_of(kind, time, payload, place)

    def stumbling(self: _Teller, who: str, item: Item) -> Iterable[Made]:
        raise TypeError

    if where == "made":
        monkeypatch.setattr(survey, "items_of", broken)
    else:
        monkeypatch.setattr(_Teller, "_sent", stumbling)
    found = tables(*paths)
    lost = [row for row in found["records"] if "unparseable" in row]
    assert {row[-1] for row in lost} == {"not of a shape that the adapter codex knows: TypeError"}
    gone = {row for row in whole["contents"] if row not in found["contents"]}
    assert len(gone) <= 1
    assert found["traces"] == whole["traces"]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")
@pytest.mark.parametrize("order", [(PARENT, OTHER, CHILD, OTHER), (CHILD, OTHER, PARENT), (OTHER, CHILD, PARENT)])
def test_a_thread_that_joins_a_run_that_was_told_ahead(
    tables: Tables, order: tuple[list[dict[str, Any]], ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grandchild = [child(8, "g", "k", "c9"), said(8, "assistant", "Nothing to add.")]
    others = [[line(9, "session_meta", id=f"o{n}", source="cli"), *OTHER[1:]] for n in range(5)]
    paths = write(tmp_path, grandchild, *others[:3], *order, *others[3:])
    one = tables(*paths)
    counts = _often(monkeypatch)
    assert tables(*paths, jobs=3) == one
    assert max(counts) > 0


def _often(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A copy for every few bytes; gives how many runs were told ahead in the end."""
    counts: list[int] = []
    close, end = Ahead.close, ahead._Batch.end

    def counted(self: Ahead) -> None:
        counts.append(len(self))
        close(self)

    monkeypatch.setattr(ahead, "_LEAST", 1)
    monkeypatch.setattr(ahead, "_PART", 1 << 40)
    monkeypatch.setattr(Ahead, "close", counted)
    monkeypatch.setattr(ahead._Batch, "end", lambda self, *, now=True: end(self))
    return counts


def test_a_run_that_is_none_any_more_is_not_told_ahead(tmp_path: Path) -> None:
    with Case() as case:
        reader = Reader(Loader(case, jobs=1, sources=[Source("thread.jsonl")]))
        for n, value in enumerate(CHILD):
            assert not [e for e in reader.feed(Record(value, Place(n + 1, n, 1, "", 0))) if isinstance(e, Skip)]
        assert [run.id for run in reader._runs.values()] == []
        assert len(list(reader._early("p").emits)) > 3
        with pytest.raises(ahead.TooEarly):
            reader._early("k")
