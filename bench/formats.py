"""Import speed and memory by format: every adapter reads copies of a file of its own kind.

That is a recording or published export where one is at hand (`recorded.py`), else the largest golden sample (`_CHOSEN`
names the exceptions); of the program's own format what it writes. It is copied until the file has the wanted size;
`copies.py` says how. What is timed is the import into a new case, without the start of the program: wall time or CPU
time, whichever is less, for the machine may be shared.
"""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import copies
import orjson
import pyarrow as pa
import recorded
from measure import Imported, generate, imported

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden" / "ingest"
LEAST = 15.0
# One adapter of each large family of readers, for the questions of memory and of very long traces.
FAMILIES = (
    "otlp-spans",
    "langchain-callbacks",
    "openai-agents-trace",
    "chat-messages",
    "claude-code",
    "autogen-core-log",
    "crewai-events",
    "google-adk-events",
)
# Samples that are more like what people have than the largest one.
_CHOSEN = {"otlp-spans": "genai-delegation.in.jsonl"}
# What identifies a run in formats without ids, and what would make all copies share one state.
_NAMES: dict[str, tuple[str, ...]] = {
    "google-adk-database": ("clinic", "desk", "u-1"),
    "google-adk-debug": (
        *("e-1", "e-2", "s-4", "child-1", "adk-11", "adk-21"),
        *("ev-11", "ev-12", "ev-13", "ev-14", "ev-21", "ev-22", "ev-23"),
    ),
    "google-adk-evalset": ("clinic", "booking", "intrip.test.json"),
    "magpie": ("demo.json",),
    "mast-log": ("abc_1",),
    "privacylens": ("demo1", "demo2"),
}
# Copies whose ids could not be told apart give fewer events than so many: then it is not the format that is measured.
_KEPT = 0.9
# Contents that come so often on average make a format one that repeats its history.
_REPEATING = 2.0
# What costs more than decoding JSON and telling records, by adapter. docs/speed.md says more.
_WHY = {
    "google-adk-debug": "YAML",
    "langgraph-updates": "Python repr in JSON",
}
_PLAIN = ("type", "trace", "id", "seq", "time", "channel", "kind", "sender", "content")
# A record is sniffed and read, what it says is told and stored as rows of several tables, however small it is.
_SMALL_US = 150


@dataclass(frozen=True)
class Speed:
    """How fast one adapter is.

    Attributes:
        adapter: its name.
        sample: the file that was copied.
        source: `recorded` or `golden`, see `sample_of`; `longer` where contents of a recording were made longer;
            `generated` in the program's own format.
        megabytes: size of the file.
        seconds: time of the import.
        decode: seconds of decoding the same file with orjson and nothing else; 0 for text that is no JSON.
        peak: largest resident set, in MB.
        records: number of records; what one costs hardly depends on its size.
        distinct: MB of contents, each counted once.
        repeats: how often a byte of content was read on average.
        items: events and sightings that were told.
        lines: of canonical JSONL that say as much as was told: events and sightings, but also traces, actors, values.
        plain: microseconds that plain Python takes for one such line, see `plain_python`.
        kept: events of the file, as a part of those of its copies if each were imported alone.
        note: what else there is to say.
    """

    adapter: str
    sample: str
    megabytes: float
    seconds: float
    decode: float
    peak: float
    records: int
    distinct: float
    repeats: float
    items: int
    lines: int
    plain: float
    kept: float
    source: str
    note: str = ""

    @property
    def rate(self) -> float:
        """MB a second."""
        return self.megabytes / self.seconds

    @property
    def ok(self) -> bool:
        """Whether it is fast enough, or it is known why it is not."""
        return self.rate >= LEAST or bool(self.why)

    @property
    def why(self) -> str:
        """What makes it slower than it should be, as far as that is known."""
        if self.rate >= LEAST:
            return ""
        most = max(self.records, self.lines)
        one, size = self.seconds / most * 1e6, self.megabytes / most * 1e6
        what = "record" if self.records >= self.lines else "line"
        left = size / LEAST
        small = f"{one:.0f} us for a {what} of {size:.0f} bytes"
        floor = f": {LEAST:.0f} MB/s leave {left:.0f}, plain Python takes {self.plain:.0f}" if left < self.plain else ""
        return ", ".join(filter(None, (_WHY.get(self.adapter), small + floor if one <= _SMALL_US else "")))

    def row(self) -> tuple[str, ...]:
        """As a line of the table."""
        distinct = f"{self.distinct / self.seconds:.1f}" if self.repeats >= _REPEATING else ""
        times = f"{self.seconds / self.decode:.0f}" if self.decode else ""
        figures = (f"{self.megabytes:.1f}", f"{self.seconds:.2f}", f"{self.rate:.1f}", times, distinct)
        record = f"{self.megabytes / self.records * 1e6:.0f}", f"{self.seconds / self.records * 1e6:.0f}"
        told = (f"{self.items / self.seconds:,.0f}",)
        met = "yes" if self.rate >= LEAST else "see why" if self.why else "NO"
        return self.adapter, self.source, *figures, *record, *told, f"{self.peak:.0f}", met, self.why, self.note


COLUMNS = (
    "adapter",
    "source",
    "MB",
    "s",
    "MB/s",
    "x decode",
    "distinct MB/s",
    "bytes a record",
    "us a record",
    "items/s",
    "peak MB",
    "ok",
    "why",
    "details",
)


def adapters() -> list[str]:
    """All adapters with a sample."""
    return sorted(p.name for p in GOLDEN.iterdir() if p.is_dir())


def sample_of(adapter: str, *, golden: bool = False) -> Path:
    """The file that is copied: a recording where one is at hand, else (or where asked for) the golden sample."""
    if not golden and (path := recorded.file_of(adapter)):
        return path
    if adapter in _CHOSEN:
        return GOLDEN / adapter / _CHOSEN[adapter]
    return max((GOLDEN / adapter).glob("*.in.*"), key=lambda p: (p.stat().st_size, p.name))


@dataclass(frozen=True)
class Copied:
    """What is copied, and how.

    Attributes:
        golden: golden samples even where recordings are at hand.
        long: contents that a scripted model wrote become as long as those of golden samples do.
        rounds: so often each file is imported; the fastest counts, for whatever else runs only adds to it.
    """

    golden: bool = False
    long: bool = False
    rounds: int = 1

    @property
    def table(self) -> str:
        """What its results are called."""
        return "golden" if self.golden else "longer" if self.long else "formats"


def measure(folder: Path, names: list[str], megabytes: float, how: Copied) -> Iterator[Speed]:
    """Measure adapters one by one; one file at a time."""
    plain = plain_python(folder)
    for name in names:
        yield _measure(folder, name, megabytes, how, plain)


def plain_python(folder: Path) -> float:
    """Microseconds for a line of canonical JSONL if Python decodes it, notes hash and offset, and makes Arrow columns.

    No reader that does this for each line can be faster, whatever its format.
    """
    path, *_ = _generated(folder, 20)
    try:
        return min(_plainly(path) for _ in range(3)) * 1e6
    finally:
        path.unlink()


def _plainly(path: Path) -> float:
    started, offset, columns = time.process_time(), 0, {k: list[Any]() for k in ("offset", "hash", *_PLAIN)}
    with path.open("rb") as handle:
        for line in handle:
            row = json.loads(line)
            columns["offset"].append(offset)
            columns["hash"].append(blake2b((row.get("content") or "").encode(), digest_size=16).digest())
            for name in _PLAIN:
                columns[name].append(row.get(name))
            offset += len(line)
    pa.table(columns)
    return (time.process_time() - started) / len(columns["offset"])


def longer(folder: Path, names: list[str], megabytes: float) -> Iterator[tuple[str, float, str]]:
    """Time of a MB in one trace of `megabytes`, as a multiple of that in one of a tenth: 1 where reading is linear."""
    for name in names:
        short, long = (_one_trace(folder, name, size) for size in (megabytes / 10, megabytes))
        growth = (long[0] / megabytes) / (short[0] / (megabytes / 10))
        yield name, growth, f"{short[1]:,} and {long[1]:,} events and sightings, {short[0]:.2f} and {long[0]:.2f} s"


def _one_trace(folder: Path, adapter: str, megabytes: float) -> tuple[float, int]:
    sample = sample_of(adapter, golden=True)
    path = folder / f"copies{sample.suffix}"
    copies.write(path, sample, megabytes * 1e6, _NAMES.get(adapter, ()), one=True)
    found = imported(path, folder)
    path.unlink()
    return min(found.seconds, found.cpu), found.events + found.sightings


def _measure(folder: Path, adapter: str, megabytes: float, how: Copied, plain: float) -> Speed:
    made = _generated(folder, megabytes) if adapter == "canonical" and not how.golden else None
    path, sample, source, expected = made or _copied(folder, adapter, megabytes, how)
    size, decode = path.stat().st_size / 1e6, _decode(path)
    rounds = [imported(path, folder) for _ in range(how.rounds)]
    found = min(rounds, key=lambda r: min(r.seconds, r.cpu))
    path.unlink()
    kept = found.events / expected if expected else 1.0
    return Speed(
        adapter=adapter,
        sample=sample,
        megabytes=size,
        seconds=min(found.seconds, found.cpu),
        decode=decode,
        peak=max(r.peak for r in rounds),
        records=max(1, sum(found.outcomes.values())),
        distinct=found.distinct / 1e6,
        repeats=found.told / max(1, found.distinct),
        items=found.events + found.sightings,
        lines=found.lines,
        plain=plain,
        kept=kept,
        source=source,
        note=_note(found, adapter) + (f", {kept:.0%} of the events: copies repeat each other" if kept < _KEPT else ""),
    )


def _copied(folder: Path, adapter: str, megabytes: float, how: Copied) -> tuple[Path, str, str, int]:
    """Copies of a sample: where, of what, of which kind, and how many events they should give."""
    sample = sample_of(adapter, golden=how.golden)
    path = folder / f"copies{sample.suffix}"
    longer = "longer" if how.long and recorded.is_scripted(adapter) else "recorded"
    source = "golden" if GOLDEN in sample.parents else longer
    number = copies.write(path, sample, megabytes * 1e6, _NAMES.get(adapter, ()), grow=source != "recorded")
    return path, sample.name, source, _alone(folder, sample).events * number


def _generated(folder: Path, megabytes: float) -> tuple[Path, str, str, int]:
    """The program's own format as exporters write it; its golden sample holds faulty lines on purpose."""
    path = generate(folder, "--megabytes", megabytes, "--traces", max(1, round(megabytes * 5)))
    return path, path.name, "generated", 0


def _alone(folder: Path, sample: Path) -> Imported:
    path = folder / f"one{sample.suffix}"
    shutil.copy(sample, path)
    found = imported(path, folder)
    path.unlink()
    return found


def _decode(path: Path) -> float:
    """Seconds of plain decoding, value by value as they stand in the file; of the processor, as imports are timed."""
    return min(_decoded(path) for _ in range(3))


def _decoded(path: Path) -> float:
    started = time.process_time()
    try:
        with path.open("rb") as handle:
            for line in handle:
                orjson.loads(line.strip(b",\n")) if len(line) > 2 else None
    except orjson.JSONDecodeError:
        return 0.0
    return time.process_time() - started


def _note(found: Imported, adapter: str) -> str:
    """Records that gave nothing, and records that another adapter took: samples hold such records on purpose."""
    lost = {k: n for k, n in found.outcomes.items() if k not in ("mapped", "ignored") and n}
    others = {k: n for k, n in found.dialects.items() if k != adapter}
    return ", ".join(f"{n} {k}" for k, n in (lost | others).items())
