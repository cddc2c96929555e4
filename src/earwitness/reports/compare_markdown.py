"""A comparison as Markdown, for a comment on a change. Words of a trace stand in code spans: no markup there."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from earwitness.reports.compare_words import told, way
from earwitness.reports.printing import REVEALED, value, where
from earwitness.reports.shown import Row


def code(text: object) -> str:
    """A code span: no markup, no mention, no link; `|` and line breaks cannot leave a table."""
    shown = "".join(c if c.isprintable() and c != "`" else f"\\x{ord(c):02x}" for c in str(text))
    return f"`{shown.replace('|', chr(92) + '|')}`" if shown.strip() else "-"


def markdown(report: Row, limit: int = 20) -> str:
    """`earwitness.reports.compare.compare` as Markdown, with `limit` rows of each table."""
    return "\n".join(_lines(report, limit)) + "\n"


def _lines(report: Row, limit: int) -> Iterator[str]:
    yield "## Earwitness compare"
    if "revealed" in report:
        yield f"\n**{REVEALED}**"
    for one in report["comparisons"]:
        yield from _comparison(one, limit)
    if report["baseline"]:
        b = report["baseline"]
        counted = f"{b['entries']:,} entries, {len(b['stale']):,} stale, {len(b['expired']):,} expired"
        yield f"\nBaseline {code(b['file'])}: {counted}."
    yield from (f"\n> {code(note)}" for note in report["notes"])


def _comparison(one: Row, limit: int) -> Iterator[str]:
    number = one["exposures"]["counts"]
    yield f"\n### {code(one['left'])} against {code(one['right'])}"
    yield (
        f"\n{one['pairs']:,} pairs of runs. Unauthorised exposures: "
        + ", ".join(f"{n:,} {s}" for s, n in number.items())
        + "."
    )
    rows = [r for r in one["exposures"]["rows"] if r["suppressed"] is None]
    for status in ("new", "moved", "gone"):
        yield from _exposures(status, [r for r in rows if r["status"] == status], limit)
    yield from _exposures("suppressed", [r for r in one["exposures"]["rows"] if r["suppressed"]], limit)
    differing = [m for m in one["measures"] if told(m)]
    yield from (f"\n- {code(m['sentence'])}" for m in differing[:limit])
    if one["measures"] and not differing:
        yield "\nNo rate differs by more than chance."


def _exposures(status: str, rows: Sequence[Row], limit: int) -> Iterator[str]:
    cells = [
        (r["scenario"], value(r), r["recipient"] or "(nobody named)", way(r), where(r["at"])) for r in rows[:limit]
    ]
    if cells:
        yield f"\n#### {status.capitalize()} ({len(cells):,} of {len(rows):,})\n"
        yield from _table(("run", "value", "learned by", "way", "at"), cells)


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    yield from (f"| {' | '.join(code(cell) for cell in row)} |" for row in rows)
