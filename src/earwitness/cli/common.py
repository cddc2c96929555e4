"""What several commands share: opening cases, watching progress, importing."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from earwitness.schema.errors import CaseError, InputError
from earwitness.schema.progress import Progress, silent

if TYPE_CHECKING:
    from earwitness.ingest.loader import Loader
    from earwitness.ingest.record import Source
    from earwitness.schema.case import Case

PATH = click.Path(path_type=Path)
MAP = click.option("--map", "mapping", type=PATH, help="Mapping file (TOML) for JSON that no adapter knows.")

JOBS = click.option(
    "--jobs", type=click.IntRange(min=1), help="Processes that tell runs, at most 8 [default: one a processor]."
)


@contextmanager
def scratch_case() -> Iterator["Case"]:
    """A case in a temporary folder, with which it goes."""
    from earwitness.schema.case import Case

    with tempfile.TemporaryDirectory(prefix="earwitness-") as folder, Case(Path(folder) / "case.duckdb") as case:
        yield case


@contextmanager
def new_case(path: Path | None, fill: Callable[["Case"], object], *, replace: bool) -> Iterator["Case"]:
    """A case that was filled; if that fails there is none, and one that was to be replaced stays as it was.

    Args:
        path: where it is to stand; None for a scratch case.
        fill: imports into it.
        replace: whether it may take the place of another case.
    """
    from earwitness.schema.case import Case, check_replaceable

    if path is None:
        with scratch_case() as case:
            fill(case)
            yield case
        return
    if path.exists() and not replace:
        raise CaseError(f"{path}: exists already; audit it again without TRACES, or give --replace to write it anew")
    check_replaceable(path)
    with _beside(path) as part:
        with Case(part) as case:
            fill(case)
        part.replace(path)
    with Case(path) as case:
        yield case


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A file in the same folder under another name, which does not stay."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
    finally:
        for left in (part, part.with_name(f"{part.name}.wal")):
            left.unlink(missing_ok=True)


def load(
    case: "Case", traces: tuple[Path, ...], progress: Progress, mapping: Path | None = None, jobs: int | None = None
) -> list["Source"]:
    """Import and say what could not be read.

    Raises:
        InputError: nothing in the given files is a trace of a known format.
    """
    sources = loader(case, progress, mapping, jobs).load(list(traces))
    if not any(s.outcomes.get("mapped") for s in sources):
        raise InputError(_nothing_known(case, sources))
    for source in [s for s in sources if s.problem][:10]:
        click.echo(f"earwitness: warning: {source.name}: {source.problem}", err=True)
    return sources


def loader(case: "Case", progress: Progress, mapping: Path | None, jobs: int | None = None) -> "Loader":
    """An import, by a mapping file if there is one, and by `jobs` processes where they can be used.

    Raises:
        InputError: the mapping file does not hold together.
    """
    from earwitness.ingest.forking import processors
    from earwitness.ingest.loader import Loader
    from earwitness.ingest.mapping import MappedAdapter, load_mapping

    adapter = MappedAdapter(load_mapping(mapping)) if mapping else None
    return Loader(case, progress=progress, adapter=adapter, jobs=jobs or processors())


def _nothing_known(case: "Case", sources: list["Source"]) -> str:
    """Why nothing could be imported, file by file."""
    lines = []
    for source in [s for s in sources if s.records or s.problem][:5]:
        reason = case.one("SELECT reason FROM records WHERE source = ? LIMIT 1", [source.number])
        lines.append(f"{source.name}: {source.problem or reason or 'holds no records'}")
    detail = "; ".join(lines) or "; ".join(f"{s.name}: empty" for s in sources[:5]) or "no files"
    return f"no trace of a known format found. {detail}. See `earwitness inspect` and docs/formats.md"


@contextmanager
def watching(*, quiet: bool) -> Iterator[Progress]:
    """A progress line on stderr while work goes on; nothing where nobody looks."""
    # Nobody watches: then the library that draws is not even loaded.
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns: tuple[Any, ...] = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task("starting", done="")

        def show(what: str, done: int) -> None:
            from earwitness.reports.text import plain

            bars.update(task, description=plain(what[-70:]), done=f"{done / 1e6:,.1f} MB" if done else "")

        yield show


def print_json(data: object) -> None:
    """An object as one line of JSON on stdout."""
    import msgspec

    click.echo(msgspec.json.encode(data, enc_hook=str))
