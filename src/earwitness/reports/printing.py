"""How investigations look on a terminal, at 100 columns. Every cell is made plain: it may come from a trace."""

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

from rich.console import Console
from rich.table import Table

from earwitness.reports.text import interval, percent, plain

_LONGEST = 32
REVEALED = "REVEALED: protected values are shown in clear; do not pass this output on"


def head(console: Console, report: dict[str, Any], title: str, rest: str) -> None:
    """The first lines of a report."""
    console.print(f"[bold]{plain(title)}[/bold]  {plain(rest)}")
    if "revealed" in report:
        console.print(f"[bold red]{REVEALED}[/bold red]")
    console.print()


def section(console: Console, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> None:
    """A titled table; the first `left` columns are words, the others numbers. Nothing for no rows."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0), show_header=any(columns))
    for n, column in enumerate(columns):
        table.add_column(column, justify="left" if n < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*("-" if cell is None else plain(cell) for cell in row))
    if table.row_count:
        console.print(f"[bold]{plain(title)}[/bold]")
        console.print(table)
        console.print()


def dim(console: Console, text: str) -> None:
    """A remark, and an empty line."""
    console.print(f"[dim]{plain(text)}[/dim]\n")


def unruled(console: Console, report: dict[str, Any], cure: str = "") -> None:
    """Say what is not counted because no policy rules on it."""
    if report["unruled"]:
        n, more = report["unruled"], f"; {cure}" if cure else ""
        console.print(f"[yellow]note[/yellow] no policy rules on {many(n, 'exposure')}: not counted here{more}\n")


def many(n: int, what: str) -> str:
    """`1 trace`, `2 traces`."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def where(at: dict[str, Any] | None) -> str:
    """`traces.jsonl:208/messages/3`; of a long name the beginning and the end. JSON has the whole path."""
    if at is None:
        return "-"
    name = PurePath(at["source"]).name or at["source"]
    if len(name) > _LONGEST:
        name = f"{name[:12]}...{name[15 - _LONGEST :]}"
    return f"{name}:{at['line']}{at['pointer'] or ''}"


def when(at: dict[str, Any] | None) -> str:
    """The moment to the second, else the place in the order of the trace."""
    if at is None:
        return "-"
    return at["time"][:19].replace("T", " ") if at["time"] else f"seq {at['seq']}"


def value(row: dict[str, Any]) -> str:
    """`ssn #30b97640`, and the text where it may be shown."""
    return f"{row['attribute']} #{row['fingerprint'][:8]}" + (f" = {row['text']}" if "text" in row else "")


def share(rate: dict[str, Any]) -> tuple[str, str, str]:
    """`5 of 14`, percent, interval."""
    if rate["rate"] is None:
        return f"{rate['k']:,} of {rate['n']:,}", "-", ""
    return f"{rate['k']:,} of {rate['n']:,}", percent(rate["rate"]), interval(rate["low"], rate["high"])
