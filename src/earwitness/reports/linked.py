"""How many trace ids were joined into runs, and how many traces are linked to others, by kind of evidence."""

from typing import Any

from earwitness.schema.case import Case
from earwitness.schema.words import LINK_KINDS

Counts = dict[str, dict[str, int]]

_PARTS = {True: "joined", False: "linked"}


def link_counts(case: Case) -> Counts:
    """Of a whole case: `joined` ids and `linked` traces, by kind."""
    rows = case.rows("SELECT joined, kind, count(*) FROM links GROUP BY ALL")
    return _counts(rows)


def link_counts_by_root(case: Case) -> dict[int, Counts]:
    """The same of each file; needs the table `root`."""
    found: dict[int, list[Any]] = {}
    query = "SELECT root, joined, kind, count(*) FROM links JOIN root USING (source) GROUP BY ALL"
    for root, *row in case.rows(query):
        found.setdefault(root, []).append(row)
    return {root: _counts(rows) for root, rows in found.items()}


def no_links() -> Counts:
    """Nothing was joined or linked."""
    return _counts([])


def sentence(counts: Counts) -> str:
    """The counts in words, strongest evidence first; nothing for none."""
    parts = {part: ", ".join(f"{kind} {n:,}" for kind, n in kinds.items()) for part, kinds in counts.items()}
    return "; ".join(f"{part} by {kinds}" for part, kinds in parts.items() if kinds)


def _counts(rows: list[Any]) -> Counts:
    order = {kind: n for n, kind in enumerate(LINK_KINDS)}
    out: Counts = {part: {} for part in _PARTS.values()}
    for joined, kind, n in sorted(rows, key=lambda row: order[row[1]]):
        out[_PARTS[joined]][kind] = n
    return out
