"""Runs told by several processes: the case is the same as with one, whatever becomes of the processes."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from earwitness.cli import cli
from earwitness.ingest import frames, workers
from earwitness.ingest.forking import processors
from earwitness.ingest.frames import Told
from earwitness.ingest.record import Cut, Emit, Lost, Made, Place, Sent, Skip
from earwitness.ingest.spans import reader
from earwitness.ingest.workers import jobs_for, tell_all
from earwitness.schema.model import Event, Loss

Tables = Callable[..., dict[str, list[tuple[Any, ...]]]]
GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
SAMPLE = GOLDEN / "otlp-spans" / "genai-delegation.in.jsonl"
PLACE = Place(1, 0, 10, "/a", 0)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")


def test_processors_that_may_be_used() -> None:
    assert processors() == len(os.sched_getaffinity(0))


def test_little_is_told_by_one_process() -> None:
    assert jobs_for(1000, 100, 8) < 2
    assert jobs_for(1000, 1 << 30, 1) < 2
    assert jobs_for(1, 1 << 30, 8) < 2
    assert jobs_for(1000, 1 << 30, 3) == 3


def event(n: int, content: str = "words", **more: Any) -> Made:
    return Made(Event(trace=f"t{n}", id=f"e{n}", seq=n, channel="C2", kind="text", content=content, **more), PLACE)


def told(n: int) -> Told:
    loss = Cut(Loss(trace=f"t{n}", kind="dropped", detail="d"), PLACE)
    return Told([event(n), Skip("ignored", "why", PLACE), loss, Lost("unparseable", "x", PLACE)], {f"k{n}": PLACE})


@pytest.mark.parametrize("jobs", [1, 2, 3, 5])
@pytest.mark.parametrize("many", [0, 1, 16, 17, 100])
def test_order_and_kinds_are_kept(jobs: int, many: int) -> None:
    found = [(run, Told(list(said.emits), said.keys)) for run, said in tell_all(iter(range(many)), told, jobs)]
    assert found == [(run, told(run)) for run in range(many)]
    assert all([type(e) for e in said.emits] == [Made if jobs < 2 else Sent, Skip, Cut, Lost] for _, said in found)


def here_only(tell: Callable[[int], Told]) -> tuple[Callable[[int], Told], list[int]]:
    """A teller that notes the runs of which this process was asked."""
    asked: list[int] = []
    here = os.getpid()

    def noting(n: int) -> Told:
        if os.getpid() == here:
            asked.append(n)
        return tell(n)

    return noting, asked


def test_the_processes_tell() -> None:
    tell, asked = here_only(told)
    assert sum(len(list(said.emits)) for _, said in tell_all(iter(range(64)), tell, 2)) == 4 * 64
    assert asked == []


ODD: dict[int, Callable[[], Made]] = {
    3: lambda: event(3, "\ud800"),
    5: lambda: event(5, attributes={"n": 1 << 70}),
    7: lambda: Made(msgspec.structs.replace(event(7).item, seq="no number"), PLACE),
}


@pytest.mark.parametrize("part", [1 << 20, 1])
def test_what_cannot_be_sent_is_told_here(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_PART", part)

    def odd(n: int) -> Told:
        emits = [event(n), ODD.get(n, lambda: event(n, "more"))(), event(n, "last")]
        return Told(iter(emits), {str(n): PLACE})

    tell, asked = here_only(odd)
    found = [(list(said.emits), said.keys) for _, said in tell_all(iter(range(40)), tell, 2)]
    assert asked == [3, 5, 7]
    assert found == [(list(odd(n).emits), {str(n): PLACE}) for n in range(40)]


def test_a_long_run_is_sent_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = list(frames._parts(event(n, "x" * 999) for n in range(2500)))
    assert [more for _, more in parts] == [True, True, False]
    assert sum(len(emits) for emits, _ in parts) == 2500


@pytest.mark.parametrize("last", [0, 20, 39])
@pytest.mark.parametrize("after", [0, 3])
def test_a_process_that_dies_costs_nothing(last: int, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_PART", 1)
    here = os.getpid()

    def telling(n: int) -> Iterator[Emit]:
        for at, emit in enumerate(told(n).emits):
            if (n, at) == (last, after) and os.getpid() != here:
                os.kill(os.getpid(), signal.SIGKILL)
            yield emit

    said = tell_all(iter(range(80)), lambda n: Told(telling(n), told(n).keys), 2)
    assert [Told(list(emits), keys) for _, (emits, keys) in said] == [told(n) for n in range(80)]


@pytest.mark.parametrize("name", ["fork", "pipe"])
def test_a_process_that_cannot_be_started_costs_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start, left = getattr(os, name), iter([True])

    def once(*_: object) -> Any:
        if not next(left, False):
            raise BlockingIOError
        return start()

    monkeypatch.setattr(os, name, once)
    files = len(os.listdir("/proc/self/fd"))
    said = tell_all(iter(range(80)), told, 3)
    assert [Told(list(emits), keys) for _, (emits, keys) in said] == [told(n) for n in range(80)]
    assert len(os.listdir("/proc/self/fd")) == files


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_are_asked_for_no_processes(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert jobs_for(1000, 1 << 30, 8) < 2
    assert processors() == 1


def test_no_process_is_left_where_nobody_asks_on() -> None:
    asking = tell_all(iter(range(100_000)), told, 3)
    next(asking)
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    before = children.read_text().split()
    asking.close()  # type: ignore[attr-defined]
    assert len(before) >= 3
    assert not set(before) & set(children.read_text().split())


def copies(folder: Path, many: int) -> Path:
    """Runs of one sample, each with trace ids of its own."""
    path = folder / "many.jsonl"
    text = SAMPLE.read_text(encoding="utf-8")
    (trace,) = {s["traceId"] for s in spans(text)}
    path.write_text("".join(text.replace(trace, f"{n:08x}{trace[8:]}") for n in range(many)), encoding="utf-8")
    return path


def spans(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        for resource in msgspec.json.decode(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                yield from scope["spans"]


@pytest.mark.parametrize("jobs", [2, 3])
def test_the_case_is_the_same(tables: Tables, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copies(tmp_path, 50)
    one = tables(path)
    started: list[int] = []

    def noted(runs: Iterator[Any], tell: Callable[[Any], Told], jobs: int, *more: Any) -> Iterator[tuple[Any, Told]]:
        started.append(jobs)
        return tell_all(runs, tell, jobs, *more)

    monkeypatch.setattr(workers, "_WORTH", 1 << 10)
    monkeypatch.setattr(reader, "tell_all", noted)
    assert tables(path, jobs=jobs) == one
    assert started == [jobs]
    assert len(one["traces"]) == 50


@pytest.mark.parametrize(
    "adapter",
    [
        "claude-code",
        "claude-stream",
        "codex-rollout",
        "codex-exec",
        "google-adk-events",
        "google-adk-database",
        "google-adk-debug",
        "openai-agents-trace",
    ],
)
def test_samples_of_every_reader_that_uses_them(tables: Tables, adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_WORTH", 1)
    monkeypatch.setattr(workers, "_TURN", 1)
    samples = sorted((GOLDEN / adapter).glob("*.in.*"))
    assert samples
    for sample in samples:
        assert tables(sample, jobs=3) == tables(sample)


def test_the_option(tmp_path: Path) -> None:
    path = copies(tmp_path, 3)
    found = CliRunner().invoke(cli, ["inspect", str(path), "--jobs", "2", "--json"])
    assert (found.exit_code, msgspec.json.decode(found.output)["records"]) == (
        0,
        3 * len(list(spans(SAMPLE.read_text()))),
    )
    refused = CliRunner().invoke(cli, ["inspect", str(path), "--jobs", "0"])
    assert refused.exit_code == 2
    assert "--jobs" in refused.output
