"""Makes a corpus: plays its runs in the environments of the frameworks, packs them, and writes what belongs beside."""

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl
import zstandard
from record.laboratory import jobs, tables
from record.laboratory.jobs import Job
from record.run import _SETTINGS, python_of

_HERE = Path(__file__).resolve().parent
_REQUIRES = re.compile(r"^# requires: (.+)$", re.MULTILINE)
_SUFFIX = {"langgraph": ".tar", "autogen": ".jsonl"}
_WINDOW = zstandard.ZstdCompressionParameters.from_level(19, window_log=25, enable_ldm=True)


@dataclass(frozen=True)
class Plan:
    """A corpus to make.

    Attributes:
        out: folder.
        seed: of the laboratory.
        scenarios: how many; 0 is the small corpus.
        part: scenarios in one file of a large corpus.
        frameworks: those that play.
        venvs: folder of the environments.
    """

    out: Path
    seed: int
    scenarios: int
    part: int
    frameworks: tuple[str, ...]
    venvs: Path

    def parts(self, framework: str) -> Iterator[tuple[str, list[Job]]]:
        """Name and runs of each file."""
        if not self.scenarios:
            yield framework, list(jobs.small(framework, self.seed))
            return
        for first in range(0, self.scenarios, self.part):
            numbers = range(first, min(first + self.part, self.scenarios))
            yield f"{framework}-{first:04}", list(jobs.full(framework, self.seed, numbers))


def make(plan: Plan) -> Iterator[str]:
    """Make what is missing of a corpus; gives a line for each part."""
    plan.out.mkdir(parents=True, exist_ok=True)
    played: list[Job] = []
    truths: list[Path] = []
    for framework in plan.frameworks:
        for name, some in plan.parts(framework):
            begun = time.monotonic()
            played += some
            truths.append(plan.out / f"{name}.truth.parquet")
            fresh = _part(plan, framework, name, some) if plan.scenarios == 0 or not truths[-1].exists() else False
            yield f"{name}: {len(some)} runs, {time.monotonic() - begun:.1f} s" if fresh else f"{name}: is there"
    tables.write(plan.out, plan.seed, played)
    truth = pl.concat([pl.read_parquet(path) for path in truths])
    tables.turns(truth).write_parquet(plan.out / "turns.parquet", compression_level=19)
    if not plan.scenarios:
        truth.write_parquet(plan.out / "truth.parquet", compression_level=19)
        for path in truths:
            path.unlink()


def _part(plan: Plan, framework: str, name: str, some: list[Job]) -> bool:
    """Play and pack one file; the truth is written last and says that the part is whole."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        raw = home / f"{name}{_SUFFIX[framework]}"
        (home / "jobs.json").write_text(json.dumps([asdict(job) for job in some]))
        _play(plan, framework, home, raw)
        packed = zstandard.ZstdCompressor(compression_params=_WINDOW).compress(raw.read_bytes())
        (plan.out / f"{raw.name}.zst").write_bytes(packed)
        truth = pl.read_ndjson(raw.with_suffix(".truth.jsonl"), infer_schema_length=None)
        tables.named(truth, framework).write_parquet(plan.out / f"{name}.truth.parquet", compression_level=19)
    return True


def _play(plan: Plan, framework: str, home: Path, raw: Path) -> None:
    """Run the player of a framework in an empty home, without settings of the machine."""
    script = _HERE / f"in_{framework}.py"
    requires = _REQUIRES.search(script.read_text())
    python = python_of(plan.venvs / framework, requires[1].split() if requires else [])
    kept = {k: os.environ[k] for k in ("PATH", "SYSTEMROOT") if k in os.environ}
    settings = kept | _SETTINGS | {"HOME": str(home), "USERPROFILE": str(home)}
    command = [
        python.absolute(),
        "-P",
        "-W",
        "ignore",
        "-m",
        f"record.laboratory.in_{framework}",
        home / "jobs.json",
        raw,
    ]
    subprocess.run(command, check=True, env=settings, cwd=home)  # noqa: S603
