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
from earwitness.ingest import workers
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Cut, Lost, Made, Place, Skip
from earwitness.ingest.spans import reader
from earwitness.ingest.workers import Told, jobs_for, processors, tell_all
from earwitness.schema.case import Case
from earwitness.schema.model import Event, Loss

GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
SAMPLE = GOLDEN / "otlp-spans" / "genai-delegation.in.jsonl"
PLACE = Place(1, 0, 10, "/a", 0)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")


def test_processors_that_may_be_used() -> None:
    assert processors() == len(os.sched_getaffinity(0))


def test_little_is_told_by_one_process() -> None:
    assert jobs_for(100, 8) < 2
    assert jobs_for(1 << 30, 1) < 2
    assert jobs_for(1 << 30, 3) == 3


def event(n: int, content: str = "words", **more: Any) -> Made:
    return Made(Event(trace=f"t{n}", id=f"e{n}", seq=n, channel="C2", kind="text", content=content, **more), PLACE)


def told(n: int) -> Told:
    loss = Cut(Loss(trace=f"t{n}", kind="dropped", detail="d"), PLACE)
    return Told([event(n), Skip("ignored", "why", PLACE), loss, Lost("unparseable", "x", PLACE)], {f"k{n}": PLACE})


@pytest.mark.parametrize("jobs", [1, 2, 3, 5])
@pytest.mark.parametrize("many", [0, 1, 16, 17, 100])
def test_order_and_kinds_are_kept(jobs: int, many: int) -> None:
    found = list(tell_all(iter(range(many)), told, jobs))
    assert [run for run, _ in found] == list(range(many))
    for run, said in found:
        assert said == told(run)
        assert [type(e) for e in said.emits] == [Made, Skip, Cut, Lost]


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
    assert len(list(tell_all(iter(range(64)), tell, 2))) == 64
    assert asked == []


def test_what_cannot_be_sent_is_told_here() -> None:
    odd: dict[int, Callable[[], Made]] = {
        3: lambda: event(3, "\ud800"),
        5: lambda: event(5, attributes={"n": 1 << 70}),
        7: lambda: Made(msgspec.structs.replace(event(7).item, seq="no number"), PLACE),
    }
    tell, asked = here_only(lambda n: Told([odd.get(n, lambda: event(n))()], {}))
    found = [said.emits[0] for _, said in tell_all(iter(range(40)), tell, 2)]
    assert asked == [3, 5, 7]
    assert found == [odd.get(n, lambda n=n: event(n))() for n in range(40)]


@pytest.mark.parametrize("last", [0, 20, 39])
def test_a_process_that_dies_costs_nothing(last: int) -> None:
    here = os.getpid()

    def tell(n: int) -> Told:
        if n == last and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return told(n)

    assert [said for _, said in tell_all(iter(range(80)), tell, 2)] == [told(n) for n in range(80)]


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


def tables(path: Path, jobs: int) -> dict[str, list[tuple[Any, ...]]]:
    with Case() as case:
        Loader(case, jobs=jobs).load([path])
        names = [n for (n,) in case.rows("SELECT table_name FROM duckdb_tables() ORDER BY 1")]
        return {n: case.rows(f"SELECT * FROM {n} ORDER BY ALL") for n in names if n not in ("meta", "runs")}


@pytest.mark.parametrize("jobs", [2, 3])
def test_the_case_is_the_same(jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copies(tmp_path, 50)
    one = tables(path, 1)
    started: list[int] = []

    def noted(runs: Iterator[Any], tell: Callable[[Any], Told], jobs: int) -> Iterator[tuple[Any, Told]]:
        started.append(jobs)
        return tell_all(runs, tell, jobs)

    monkeypatch.setattr(workers, "_WORTH", 1 << 10)
    monkeypatch.setattr(reader, "tell_all", noted)
    assert tables(path, jobs) == one
    assert started == [jobs]
    assert len(one["traces"]) == 50


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
