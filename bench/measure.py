"""One command in a process of its own: how long, how much memory."""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

EARWITNESS = (sys.executable, "-m", "earwitness")
_GENERATE = Path(__file__).resolve().parent.parent / "tests" / "tools" / "generate.py"
# Disclosures were found: for the program that is a finding, for a measurement it is success.
_FINE = (0, 1)
# Seconds between two looks at the memory of a process that started others, and at least so many times what one takes,
# for while it lasts those processes wait for pages.
_LOOK, _PART = 0.1, 40


@dataclass(frozen=True)
class Run:
    """What one run took.

    Attributes:
        seconds: wall time.
        cpu: seconds of all its threads, and of the processes that it started.
        peak: largest resident set, in MB; of several processes together, each page once, as far as looks saw it.
        output: what it printed.
    """

    seconds: float
    cpu: float
    peak: float
    output: str


def run(*command: str | Path) -> Run:
    """Run a command.

    Raises:
        RuntimeError: it failed; the message ends with what it said.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen([str(c) for c in command], stdout=out, stderr=err)  # noqa: S603 - our own commands
        with _watched(process.pid) as seen:
            _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in _FINE:
            err.seek(0)
            raise RuntimeError(f"{' '.join(map(str, command))}: {err.read()[-400:].decode(errors='replace')}")
        out.seek(0)
        peak = max(used.ru_maxrss / 1024, *seen)
        return Run(seconds, used.ru_utime + used.ru_stime, peak, out.read().decode(errors="replace"))


@contextmanager
def _watched(process: int) -> Iterator[list[float]]:
    """MB of a process together with those that it started, whenever there are some; looked at as long as this lasts."""
    seen, done = [0.0], threading.Event()

    def look() -> None:
        pause = _LOOK
        while not done.wait(pause):
            began = time.perf_counter()
            started = _text(f"/proc/{process}/task/{process}/children").split()
            if started:
                seen.append(sum(_megabytes(p) for p in (str(process), *started)))
            pause = max(_LOOK, _PART * (time.perf_counter() - began))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()


def _megabytes(process: str) -> float:
    """The memory of a process; a page that several have counts in parts."""
    found = re.search(r"^Pss: +(\d+) kB", _text(f"/proc/{process}/smaps_rollup"), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0


def _text(path: str) -> str:
    """What a file of the system says; nothing where the process is gone or the system is another one."""
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""


def generate(folder: Path, *options: object) -> Path:
    """A corpus of canonical JSONL with the given options."""
    path = folder / "bench.jsonl"
    run(sys.executable, _GENERATE, path, *map(str, options))
    return path


def best(times: int, *command: str | Path) -> Run:
    """The fastest of several runs: what else the machine does can only add to it."""
    return min((run(*command) for _ in range(times)), key=lambda r: r.seconds)


def program(folder: Path, *arguments: str | Path, times: int = 1) -> Run:
    """The fastest of several runs of `earwitness`, each with a new case."""
    case = folder / "bench.duckdb"
    runs = []
    for _ in range(times):
        runs.append(run(*EARWITNESS, *arguments, "--case", case))
        case.unlink()
    return min(runs, key=lambda r: r.seconds)


# The first array that pyarrow makes loads pandas, where another package brought it: part of the start of a program.
_IMPORT = """
import sys, time
from pathlib import Path
import pyarrow
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
pyarrow.array([""])
started = time.perf_counter()
with Case(sys.argv[2]) as case:
    Loader(case).load([Path(sys.argv[1])])
print(time.perf_counter() - started)
"""


def import_alone(path: Path, folder: Path, times: int) -> float:
    """Seconds of an import without the start of the program, as the yardstick is measured: the fastest of several."""
    case = folder / "alone.duckdb"
    found = []
    for _ in range(times):
        found.append(float(run(sys.executable, "-c", _IMPORT, path, case).output))
        case.unlink()
    return min(found)


_REPORT = """
import json, os, sys, time
from pathlib import Path
from earwitness.ingest.loader import Loader
from earwitness.ingest.registry import find_adapters
from earwitness.ingest.spans.registry import find_dialects
from earwitness.schema.case import Case
import pyarrow
find_adapters(), find_dialects(), pyarrow.array([""])
started, used = time.perf_counter(), time.process_time()
with Case(sys.argv[2]) as case:
    sources = Loader(case).load([Path(sys.argv[1])])
    seconds, cpu = time.perf_counter() - started, time.process_time() - used + sum(os.times()[2:4])
    outcomes, dialects = {}, {}
    for source in sources:
        for name, n in source.outcomes.items():
            outcomes[name] = outcomes.get(name, 0) + n
        for name, n in source.dialects.items():
            dialects[name] = dialects.get(name, 0) + n
    counts = {t: case.one(f"SELECT count(*) FROM {t}") for t in ("events", "sightings", "traces")}
    tables = ("traces", "actors", "events", "sightings", "vault", "rules", "losses", "links", "labels")
    lines = sum(case.count(t) for t in tables)
    distinct = case.one("SELECT coalesce(sum(strlen(text)), 0) FROM contents")
    told = case.one("SELECT coalesce(sum(strlen(text)), 0) FROM contents JOIN "
                    "(SELECT content FROM events UNION ALL SELECT content FROM sightings) USING (content)")
found = {"seconds": seconds, "cpu": cpu, "outcomes": outcomes, "dialects": dialects}
json.dump(found | counts | {"distinct": int(distinct), "told": int(told), "lines": lines}, sys.stdout)
"""


@dataclass(frozen=True)
class Imported:
    """What an import took, without the start of the program, and what it found.

    Attributes:
        seconds: wall time.
        cpu: seconds of all its threads.
        peak: largest resident set, in MB.
        distinct: bytes of contents, each counted once.
        told: the same, each counted as often as it was told.
        lines: of canonical JSONL that say as much.
        outcomes: records by outcome.
        dialects: records by the adapter that took them.
    """

    seconds: float
    cpu: float
    peak: float
    distinct: int
    told: int
    lines: int
    events: int
    sightings: int
    traces: int
    outcomes: dict[str, int]
    dialects: dict[str, int]


def imported(path: Path, folder: Path) -> Imported:
    """Import a file or folder in a process of its own, into a new case."""
    case = folder / "imported.duckdb"
    done = run(sys.executable, "-c", _REPORT, path, case)
    case.unlink(missing_ok=True)
    if not done.output:
        raise RuntimeError(f"the import of {path.name} failed")
    return Imported(peak=done.peak, **json.loads(done.output))


_AGAIN = """
import sys, time
from pathlib import Path
from earwitness.audit.pipeline import Request, audit
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyRule
started = time.perf_counter()
with Case(sys.argv[2]) as case:
    Loader(case).load([Path(sys.argv[1])])
    audit(case, Request())
    first = time.perf_counter() - started
    changed = Policy(rules=(PolicyRule(effect="allow", channels=("C2",)),))
    started = time.perf_counter()
    audit(case, Request(policy=changed))
    print((time.perf_counter() - started) / first)
"""


def judged_again(path: Path, folder: Path) -> float:
    """Time of judging a stored case under a changed policy, as a part of the time of its first audit."""
    case = folder / "again.duckdb"
    share = float(run(sys.executable, "-c", _AGAIN, path, case).output)
    case.unlink()
    return share
