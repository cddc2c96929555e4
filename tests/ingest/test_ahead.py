"""Runs told while others are read: the same is told, whatever comes later and whatever becomes of the copies."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest import ahead
from earwitness.ingest.ahead import Ahead, TooEarly
from earwitness.ingest.frames import Told
from earwitness.ingest.record import Emit, Made, Place
from earwitness.ingest.workers import jobs_for, tell_all
from earwitness.schema.model import Event

Tables = Callable[..., dict[str, list[tuple[Any, ...]]]]
GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
PLACE = Place(1, 0, 10, "/a", 0)
READERS = (
    "claude-code",
    "codex-rollout",
    "google-adk-events",
    "openai-agents-trace",
    "otlp-spans",
    "otlp-logs",
    "weave-calls",
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy for every few bytes."""
    monkeypatch.setattr(ahead, "_LEAST", 1)
    monkeypatch.setattr(ahead, "_PART", 1 << 40)


class Read:
    """Runs of which records are read one by one; each is told as the records it has."""

    def __init__(self, jobs: int = 2) -> None:
        self.records: dict[str, list[str]] = {}
        self.here: list[str] = []
        self.process = os.getpid()
        self.ahead = Ahead(self.told, jobs)
        self.size = 0

    def add(self, run: str, text: str) -> None:
        self.records.setdefault(run, []).append(text)
        self.size += len(text)
        self.ahead.touch(run, self.size)
        for batch in self.ahead._batches:
            batch.end()

    def told(self, run: str) -> Told:
        if os.getpid() == self.process:
            self.here.append(run)
        keys: dict[str, Place] = {}
        return Told(self.emits(run, keys), keys)

    def emits(self, run: str, keys: dict[str, Place]) -> Iterator[Emit]:
        for n, text in enumerate(self.records[run]):
            self.stumble(run, text)
            yield Made(Event(trace=run, id=f"e{n}", seq=n, channel="C2", kind="text", content=text), PLACE)
        keys[run] = PLACE

    def stumble(self, run: str, text: str) -> None:
        """What becomes of a copy."""
        if os.getpid() != self.process:
            if text == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if text == "early":
                raise TooEarly(run)
            if text == "fail":
                raise ValueError(run)

    def all(self, jobs: int = 1) -> list[tuple[str, list[str], list[str]]]:
        found = tell_all(iter(self.records), self.told, jobs, self.ahead)
        return [(run, [e[0].content for e in told.emits], list(told.keys)) for run, told in found]  # type: ignore[union-attr]

    def expected(self) -> list[tuple[str, list[str], list[str]]]:
        return [(run, texts, [run]) for run, texts in self.records.items()]


@pytest.mark.parametrize("jobs", [1, 2])
def test_runs_of_which_nothing_more_came_are_told_by_copies(jobs: int) -> None:
    read = Read()
    for n in range(20):
        read.add(f"r{n}", "one")
        read.add(f"r{n}", "two")
    assert len(read.ahead) == 19
    assert read.all(jobs) == read.expected()
    assert read.here == (["r19"] if jobs == 1 else [])


def test_what_came_later_is_not_missed() -> None:
    read = Read()
    for n in range(20):
        read.add(f"r{n % 7 if n % 3 else n}", f"text {n}")
    void = next(run for run in read.records if run in read.ahead)
    read.add(void, "later")
    assert void not in read.ahead
    assert read.all() == read.expected()


@pytest.mark.parametrize("word", ["kill", "early", "fail", "\ud800"])
def test_a_copy_that_cannot_tell_costs_nothing(word: str) -> None:
    read = Read()
    for n in range(12):
        read.add(f"r{n}", "one")
        read.add(f"r{n}", word if n == 4 else "two")
    assert "r4" in read.ahead
    assert read.all() == read.expected()
    assert "r4" in read.here


def test_long_runs_go_in_parts() -> None:
    read = Read()
    for n in range(6):
        for _ in range(3):
            read.add(f"r{n}", str(n) * 700_000)
    assert read.all() == read.expected()
    assert read.here == ["r5"]


def test_no_copies_with_one_job_or_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Read(1)
    monkeypatch.setattr(sys, "platform", "darwin")
    other = Read(4)
    for read in (one, other):
        for n in range(10):
            read.add(f"r{n}", "text")
        assert len(read.ahead) == 0
        assert read.all() == read.expected()


def test_a_copy_that_cannot_be_made_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fork)
    read = Read()
    files = len(os.listdir("/proc/self/fd"))
    for n in range(10):
        read.add(f"r{n}", "text")
    assert len(os.listdir("/proc/self/fd")) == files
    assert read.all() == read.expected()


def test_nothing_is_left_behind() -> None:
    gc.collect()  # what other tests left
    children, files = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children"), len(os.listdir("/proc/self/fd"))
    before = children.read_text()
    for closed in (True, False):
        read = Read()
        for n in range(10):
            read.ahead.touch(f"r{n}", n)
        assert len(os.listdir("/proc/self/fd")) > files
        if closed:
            read.ahead.close()
        del read.ahead
        assert len(os.listdir("/proc/self/fd")) == files
        assert children.read_text() == before


def test_fewer_processes_are_asked_for_what_is_left() -> None:
    read = Read()
    for n in range(64):
        read.add(f"r{n}", "text")
    assert jobs_for(64, 1 << 30, 4) == 4
    assert jobs_for(64, 1 << 30, 4, read.ahead) == 1


@pytest.mark.parametrize("adapter", READERS)
def test_samples_of_every_reader_that_tells_ahead(
    tables: Tables, adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    close, end = Ahead.close, ahead._Batch.end

    def counted(self: Ahead) -> None:
        counts.append(len(self))
        close(self)

    monkeypatch.setattr(Ahead, "close", counted)
    monkeypatch.setattr(ahead._Batch, "end", lambda self, *, now=True: end(self))  # so that one is always free
    samples = sorted((GOLDEN / adapter).glob("*.in.*"))
    assert tables(*samples, jobs=3) == tables(*samples)
    assert max(counts) > 0
