"""How often a value stands in the bytes of a recording, and how often the import says that it was produced or seen.

Recordings repeat everything: each model call its history, each parent the output of its children. What was produced
once is one event; the copies are sightings, or belong to no agent. `measure` counts; `pytest
tests/ingest/test_produced_once.py --update` writes what it counts in the recordings beside the repository to
`tests/golden/produced/<folder>.csv`, and `truth.yaml` there says, by hand, what really happened in each run.
"""

import csv
import runpy
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.words import CHANNELS

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ROOT.parent / "shared" / "samples"
FOLDER = ROOT / "tests" / "golden" / "produced"
RECORDINGS = ROOT / "sample_traces" / "recordings"
HEAD = ("file", "value", "raw", "events", "sightings", *CHANNELS)
# The marks that the makers of the recordings put into them; all are invented, or numbers for tests.
MARKS = {
    "account": "ACCT-4417-ZX",
    "card": "4000-1234-5678-9010",
    "test_card": "4111111111111111",
    "iban": "DE89370400440532013000",
    "email": "jane.doe@example.com",
}
_EVENTS = "SELECT channel, count(*) FROM events JOIN contents USING (content) WHERE contains(text, ?) GROUP BY channel"
_SIGHTINGS = "SELECT count(*) FROM sightings JOIN contents USING (content) WHERE contains(text, ?)"

Row = dict[str, str]


def measure(path: Path, name: str, values: dict[str, str]) -> Iterator[Row]:
    """A row for each value that stands in a file."""
    raw = path.read_bytes()
    present = {key: value for key, value in values.items() if value.encode() in raw}
    if not present:
        return
    with Case() as case:
        Loader(case).load([path])
        for key, value in present.items():
            events = dict(case.rows(_EVENTS, [value]))
            ((seen,),) = case.rows(_SIGHTINGS, [value])
            counts = (raw.count(value.encode()), sum(events.values()), seen, *(events.get(c, 0) for c in CHANNELS))
            yield dict(zip(HEAD, (name, key, *map(str, counts)), strict=True))


def beside() -> dict[str, list[Row]]:
    """The rows of the recordings beside the repository, by folder."""
    found: dict[str, list[Row]] = {}
    for path in sorted(p for p in BESIDE.rglob("*") if p.is_file()):
        name = path.relative_to(BESIDE).as_posix()
        folder = name.partition("/")[0]
        if folder != "how_recorded":
            found.setdefault(folder, []).extend(measure(path, name, MARKS))
    return {folder: rows for folder, rows in found.items() if rows}


def recordings() -> Iterator[Row]:
    """The rows of the recordings in the repository."""
    protected: dict[str, str] = runpy.run_path(str(RECORDINGS.parent / "record" / "case.py"))["PROTECTED"]
    for path in sorted(RECORDINGS.glob("*.jsonl")):
        if not path.name.endswith(".expected.jsonl"):
            yield from measure(path, path.name, protected)


def stored() -> list[Row]:
    """The rows of all tables of `tests/golden/produced`."""
    rows: list[Row] = []
    for path in sorted(FOLDER.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows += csv.DictReader(file)
    return rows


def store(folder: str, rows: Iterable[Row]) -> None:
    """Write a table of `tests/golden/produced`."""
    with (FOLDER / f"{folder}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEAD, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@cache
def truth() -> list[dict[str, Any]]:
    """What happened in each run: `files` (patterns), `value`, `produced` by channel, `says`, and `but`."""
    read: list[dict[str, Any]] = yaml.safe_load((FOLDER / "truth.yaml").read_text(encoding="utf-8"))
    return read


def run_of(row: Row) -> dict[str, Any] | None:
    """The run that a file records, the first that fits."""
    runs = [r for r in truth() if r["value"] == row["value"]]
    return next((r for r in runs if any(fnmatch(row["file"], pattern) for pattern in r["files"])), None)


def channels(row: Row) -> dict[str, int]:
    """Events of each channel that has any."""
    return {c: int(row[c]) for c in CHANNELS if row[c] != "0"}


def deviation(row: Row, run: dict[str, Any]) -> dict[str, Any] | None:
    """Why a file says something else than happened, where somebody looked into it."""
    return next((d for d in run.get("but", ()) if any(fnmatch(row["file"], p) for p in d["files"])), None)
