"""One command in a process of its own: how long, how much memory."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

EARWITNESS = (sys.executable, "-m", "earwitness")
# Disclosures were found: for the program that is a finding, for a measurement it is success.
_FINE = (0, 1)


@dataclass(frozen=True)
class Run:
    """What one run took.

    Attributes:
        seconds: wall time.
        cpu: seconds of all its threads.
        peak: largest resident set, in MB.
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
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in _FINE:
            err.seek(0)
            raise RuntimeError(f"{' '.join(map(str, command))}: {err.read()[-400:].decode(errors='replace')}")
        out.seek(0)
        return Run(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, out.read().decode(errors="replace"))


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


_IMPORT = """
import sys, time
from pathlib import Path
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
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
