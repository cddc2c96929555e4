"""How long replays take, against the audit of the same runs: `python bench/replays.py [ARCHIVE]`.

Every shipped condition but presidio (which takes minutes) in both recipient settings, over the public AgentLeak runs:
first, after the case was judged again under a policy that forbids a channel on which nothing was sent, and under one
that lets every value pass between agents. The first of these changes no decision, the second many, so that texts have
to be made and read again. A key is given, as without one nothing that was encrypted can be used again.

Ratios of replays are of their own seconds, as the case has them on record, without the start of the program.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from measure import EARWITNESS, Run, run
from rich.console import Console

from earwitness.audit.replay.condition import shipped
from earwitness.schema.case import Case

_AGENTLEAK = Path(__file__).resolve().parents[2] / "shared" / "data" / "agentleak_traces" / "traces_3214.tar.xz"
_SAME = "default: sanitize\nrules:\n  - {id: never-logged, effect: sanitize, channels: [C6]}\n"
_OTHER = "default: sanitize\nrules:\n  - {id: between-agents, effect: allow, channels: [C2]}\n"
_MEMORY = 1000


class Row(NamedTuple):
    """One figure: `value` in `unit`, at most `target` if there is one."""

    name: str
    value: float
    unit: str
    target: float | None = None
    note: str = ""


def rows(archive: Path = _AGENTLEAK) -> Iterator[Row]:
    """The figures; none where the runs are absent."""
    if not archive.exists():
        return
    os.environ["EARWITNESS_KEY"] = "00" * 32
    with tempfile.TemporaryDirectory(prefix="earwitness-bench-") as name:
        yield from _measured(Path(name), archive)


def _measured(folder: Path, archive: Path) -> Iterator[Row]:
    case = folder / "case.duckdb"
    audited = run(*EARWITNESS, "audit", archive, "--case", case, "--json")
    first = _replay(case)
    again, other = (_judged(case, policy) for policy in (_SAME, _OTHER))
    yield Row("first audit, CPU", audited.cpu, "s", note=_told(audited))
    yield Row("replay of all conditions / first audit, CPU", first.cpu / audited.cpu, "x", 1, _told(first))
    for name, taken in (("first replay", first), ("replayed again", again), ("replayed with other decisions", other)):
        yield Row(f"{name}, peak memory", taken.peak, "MB", _MEMORY, _told(taken))
    took = _seconds(case)
    for name, seconds, target in (("under another policy", took[1], 0.1), ("with other decisions", took[2], None)):
        note = f"{seconds:.1f} s of {took[0]:.1f} s"
        yield Row(f"replayed again {name} / first replay", seconds / took[0], "x", target, note)


def _seconds(case: Path) -> list[float]:
    """What each replay took by itself."""
    with Case(case, read_only=True) as opened:
        return [row[0] for row in opened.rows("SELECT seconds FROM runs WHERE stage = 'replay' ORDER BY run")]


def _judged(case: Path, policy: str) -> Run:
    """A replay after the case was judged under a policy."""
    path = case.with_name("policy.yaml")
    path.write_text(policy)
    run(*EARWITNESS, "audit", "--case", case, "--policy", path, "--json")
    return _replay(case)


def _replay(case: Path) -> Run:
    names = [c.name for c in shipped().values() if c.detector != "presidio"]
    chosen = [word for name in names for word in ("--condition", name)]
    return run(*EARWITNESS, "replay", case, *chosen, "--json")


def _told(taken: Run) -> str:
    return f"{taken.seconds:.1f} s, {taken.cpu:.1f} s of CPU"


if __name__ == "__main__":
    console = Console(width=120, highlight=False)
    for row in rows(*map(Path, sys.argv[1:])):
        target = "" if row.target is None else f"target {row.target}"
        console.print(f"{row.name:60} {row.value:10.2f} {row.unit:3} {target:12} {row.note}")
