"""Totals of the public files and recordings that lie beside the repository, by folder; nothing of them is copied.

Run without arguments to print them; `pytest tests/ingest/test_real_totals.py --update` writes them to
`tests/golden/real/totals.csv`, from which `tests/tools/docs.py` makes docs/real-files.md.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Source
from earwitness.schema.case import Case
from earwitness.schema.words import OUTCOMES

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ROOT.parent / "shared"
FOLDER = ROOT / "tests" / "golden" / "real"
HEAD = ("folder", "files", "records", *OUTCOMES, "traces", "events", "sightings")
# Pages about the files, which no recorder wrote.
ABOUT = {"SOURCE.md", "MANIFEST.tsv", "MANIFEST.md", "README.md"}


def read(name: str) -> list[dict[str, str]]:
    """The rows of a table of `tests/golden/real`."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(name: str, head: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a table of `tests/golden/real`."""
    with (FOLDER / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def files_of(folder: str) -> list[Path]:
    """The recordings of a folder beside the repository."""
    found = sorted(p for p in (BESIDE / folder).rglob("*") if p.is_file())
    return [p for p in found if p.name not in ABOUT and "LICENSES" not in p.parts]


def measure(folder: str) -> tuple[list[Source], dict[str, str]]:
    """The sources of an import of a folder, and its row of the totals."""
    files = files_of(folder)
    with Case() as case:
        sources = Loader(case).load(files)
        stored = {name: case.count(name) for name in ("traces", "events", "sightings")}
    outcomes: Counter[str] = Counter()
    for source in sources:
        outcomes.update(source.outcomes)
    records = sum(s.records for s in sources)
    row = {"folder": folder, "files": len(files), "records": records} | {o: outcomes[o] for o in OUTCOMES} | stored
    return sources, {key: str(row[key]) for key in HEAD}


def main() -> int:
    """Print the totals."""
    if not BESIDE.is_dir():
        print(f"no {BESIDE.name} beside the repository", file=sys.stderr)
        return 1
    print(*HEAD, sep="\t")
    for one in read("corpora.csv"):
        print(*measure(one["folder"])[1].values(), sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
