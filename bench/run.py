"""How fast, against a yardstick measured in the same run: `python bench/run.py [--megabytes 200] [--largest 1000000]`.

Prints tables and writes bench/results.json. Ratios are what counts: they carry over to other machines.
`--formats [NAME...]` measures import by format and nothing else: speed of every adapter or of those named, with files
of `--format-megabytes`; `--memory N` adds peak memory on files of N MB, `--one-trace N` how time grows up to one trace
of N MB, both for one adapter of each family (or those named). `--replays` measures replays over a corpus and nothing
else.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import formats
import graphs
import replays
from measure import EARWITNESS, Run, best, generate, import_alone, judged_again, program, run
from rich.console import Console
from rich.table import Table

_HERE = Path(__file__).resolve().parent
_AGENTLEAK = _HERE.parent.parent / "shared" / "data" / "agentleak_traces" / "traces_3214.tar.xz"
# Corpora of up to so many events are measured three times.
_FEW = 100_000
_MEMORY = 1000


@dataclass(frozen=True)
class Figure:
    """One line of the table: `value` in `unit`, at most `target` if there is one."""

    name: str
    value: float
    unit: str
    target: float | None = None
    note: str = ""

    @property
    def met(self) -> str:
        """Whether the target is met."""
        return "" if self.target is None else "yes" if self.value <= self.target else "NO"


def throughput(folder: Path, megabytes: float) -> Iterator[Figure]:
    """Import and audit against the yardstick; the import also by itself, as the yardstick is measured."""
    path = generate(folder, "--megabytes", megabytes, "--traces", 1000)
    size = path.stat().st_size / 1e6
    yard = min(
        (json.loads(run(sys.executable, _HERE / "yardstick.py", path).output) for _ in range(2)),
        key=lambda y: y["both"],
    )
    yield Figure("orjson decode of each line", yard["decode"], "s", note=f"{size / yard['decode']:.0f} MB/s")
    yield Figure(
        "yardstick: decode + search", yard["both"], "s", note=f"{size / yard['both']:.0f} MB/s, {yard['hits']} hits"
    )
    alone = import_alone(path, folder, 3)
    yield Figure("import / decode", alone / yard["decode"], "x", 6, f"{alone:.2f} s, {size / alone:.0f} MB/s")
    whole = program(folder, "import", path, times=2)
    yield Figure(
        "import, as a command", whole.seconds, "s", note=f"{whole.seconds / yard['decode']:.2f} x, with its start"
    )
    yield Figure("import, peak memory", whole.peak, "MB", _MEMORY)
    literal = program(folder, "audit", path, "--rules", "literal", times=2)
    yield from _against("audit --rules literal", literal, yard["both"], 4, size)
    yield from _against("audit", program(folder, "audit", path, times=2), yard["both"], 8, size)
    yield Figure("judged again under another policy / first audit", judged_again(path, folder), "x", 0.1)
    path.unlink()


def _against(name: str, taken: Run, yard: float, target: float, size: float) -> Iterator[Figure]:
    note = f"{taken.seconds:.2f} s, {size / taken.seconds:.0f} MB/s, {taken.cpu:.2f} s of CPU"
    yield Figure(f"{name} / yardstick", taken.seconds / yard, "x", target, note)
    yield Figure(f"{name}, peak memory", taken.peak, "MB", _MEMORY)


def linearity(folder: Path, largest: int) -> Iterator[Figure]:
    """Time of one more event at growing sizes, in one trace and in many; what a start costs cancels out."""
    sizes = [n for n in (10_000, 100_000, 1_000_000, 10_000_000) if n <= largest]
    for command in ("import", "audit"):
        for shape in ("one trace", "many traces"):
            yield from _growth(folder, command, shape, sizes)


def _growth(folder: Path, command: str, shape: str, sizes: list[int]) -> Iterator[Figure]:
    taken, base = [], 0.0
    for events in sizes:
        path = generate(folder, "--events", events, "--traces", 1 if shape == "one trace" else events // 100)
        taken.append(program(folder, command, path, times=1 if events > _FEW else 3))
        path.unlink()
    for n in range(1, len(sizes)):
        more = (taken[n].seconds - taken[n - 1].seconds) / (sizes[n] - sizes[n - 1]) * 1e6
        base = base or more
        note = f"{more:.1f} us for one more event, {taken[n].seconds:.2f} s, peak {taken[n].peak:.0f} MB"
        name = f"{command}, {shape}, {sizes[n - 1]:,} to {sizes[n]:,} events"
        yield Figure(name, more / base, "x", 1.3 if n > 1 else None, note)
    whole = (taken[-1].seconds / sizes[-1]) / (taken[0].seconds / sizes[0])
    yield Figure(f"{command}, {shape}, time an event at {sizes[-1]:,} / at {sizes[0]:,}", whole, "x", 1.3)


def starting() -> Iterator[Figure]:
    """Start-up."""
    for option, target in (("--version", 0.3), ("--help", 0.4)):
        yield Figure(f"earwitness {option}", best(5, *EARWITNESS, option).seconds, "s", target)


def agentleak(folder: Path) -> Iterator[Figure]:
    """The published corpus, where it is at hand."""
    if _AGENTLEAK.exists():
        for command in ("import", "audit"):
            taken = program(folder, command, _AGENTLEAK)
            yield Figure(f"AgentLeak, 3,214 traces: {command}", taken.seconds, "s", note=f"peak {taken.peak:.0f} MB")


def long_traces(folder: Path, names: list[str], megabytes: float) -> Iterator[Figure]:
    """How time grows with the length of one trace."""
    for name, growth, note in formats.longer(folder, names, megabytes):
        yield Figure(f"{name}, time of a MB in one trace of {megabytes:g} MB / of a tenth", growth, "x", 1.3, note)


def show(figures: list[Figure], speeds: list[formats.Speed]) -> None:
    """Print the tables."""
    table = Table("what", "figure", "target", "met", "details")
    for f in figures:
        target = "" if f.target is None else f"<= {f.target:g} {f.unit}"
        table.add_row(f.name, f"{f.value:.2f} {f.unit}", target, f.met, f.note)
    by_format = Table(*formats.COLUMNS, title=f"import by format, at least {formats.LEAST:g} MB/s")
    for speed in speeds:
        by_format.add_row(*speed.row())
    for shown, rows in ((table, figures), (by_format, speeds)):
        if rows:
            Console(width=190).print(shown)


def keep(**parts: list[Any]) -> None:
    """Write the results; parts that were not measured this time stay as they are."""
    path = _HERE / "results.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    for name, rows in parts.items():
        if rows:
            known[name] = [asdict(row) for row in rows]
    path.write_text(json.dumps(known, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument(
        "--largest", type=int, default=1_000_000, help="events of the largest corpus of the linearity test"
    )
    parser.add_argument("--formats", nargs="*", metavar="NAME", help="only import by format, of all adapters or some")
    parser.add_argument("--replays", action="store_true", help="only replays")
    parser.add_argument("--golden", action="store_true", help="by format, on golden samples even where recordings are")
    parser.add_argument(
        "--long", action="store_true", help="by format, contents of scripted models made as long as people's are"
    )
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="by format, import each file N times")
    parser.add_argument("--format-megabytes", type=float, default=40, metavar="N")
    parser.add_argument("--memory", type=float, default=0, metavar="N", help="peak memory on files of N MB")
    parser.add_argument("--one-trace", type=float, default=0, metavar="N", help="one trace of N MB against a tenth")
    return parser.parse_args()


def main() -> None:
    """Exit code 1 where a target is missed."""
    asked = arguments()
    families = asked.formats or list(formats.FAMILIES)
    figures, speeds, large, long = list[Figure](), list[formats.Speed](), list[formats.Speed](), list[Figure]()
    again, how = list[Figure](), formats.Copied(asked.golden, asked.long, asked.rounds)
    console = Console(stderr=True, width=150)
    with tempfile.TemporaryDirectory(prefix="earwitness-bench-") as name:
        folder = Path(name)
        whole = (
            starting(),
            throughput(folder, asked.megabytes),
            agentleak(folder),
            linearity(folder, asked.largest),
            (Figure(*row) for row in graphs.rows()),
        )
        only = asked.replays or asked.formats is not None
        replayed = (Figure(*row) for row in replays.rows()) if asked.replays or not only else ()
        for part, kept in (*((part, figures) for part in whole if not only), (replayed, again)):
            for figure in part:
                kept.append(figure)
                console.print(f"{figure.name}: {figure.value:.2f} {figure.unit} {figure.note}")
        for size, names, rows in (
            (0 if asked.replays else asked.format_megabytes, asked.formats or formats.adapters(), speeds),
            (asked.memory, families, large),
        ):
            for speed in formats.measure(folder, names, size, how) if size else ():
                rows.append(speed)
                keep(**{how.table: speeds}, memory=large)
                console.print(f"{speed.adapter}: {speed.rate:.1f} MB/s, peak {speed.peak:.0f} MB {speed.note}")
        for figure in long_traces(folder, families, asked.one_trace) if asked.one_trace else ():
            long.append(figure)
            console.print(f"{figure.name}: {figure.value:.2f} {figure.unit} {figure.note}")
    keep(figures=figures, **{how.table: speeds}, memory=large, one_trace=long, replays=again)
    show(figures + long + again, speeds + large)
    missed = any(f.met == "NO" for f in figures + long + again) or not all(s.ok for s in speeds)
    sys.exit(missed or any(s.peak > _MEMORY for s in large))


if __name__ == "__main__":
    main()
