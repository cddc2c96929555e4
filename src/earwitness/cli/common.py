"""What several commands share: opening cases, watching progress, importing."""

import sys
import tempfile
from collections.abc import Iterator
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


@contextmanager
def new_case(path: Path | None, *, replace: bool) -> Iterator["Case"]:
    """A case to import into; without a path it lives in a temporary folder and goes with it."""
    from earwitness.schema.case import Case

    if path is None:
        with tempfile.TemporaryDirectory(prefix="earwitness-") as folder, Case(Path(folder) / "case.duckdb") as case:
            yield case
        return
    if path.exists() and not replace:
        raise CaseError(f"{path}: exists already; audit it again without TRACES, or give --replace to write it anew")
    if path.is_file():
        with Case(path):  # refuses to overwrite what is no case
            pass
        path.unlink()
    with Case(path) as case:
        yield case


def load(case: "Case", traces: tuple[Path, ...], progress: Progress, mapping: Path | None = None) -> list["Source"]:
    """Import and say what could not be read.

    Raises:
        InputError: nothing in the given files is a trace of a known format.
    """
    sources = loader(case, progress, mapping).load(list(traces))
    if not any(s.outcomes.get("mapped") for s in sources):
        raise InputError(_nothing_known(case, sources))
    for source in [s for s in sources if s.problem][:10]:
        click.echo(f"earwitness: warning: {source.name}: {source.problem}", err=True)
    return sources


def loader(case: "Case", progress: Progress, mapping: Path | None) -> "Loader":
    """An import, by a mapping file if there is one.

    Raises:
        InputError: the mapping file does not hold together.
    """
    from earwitness.ingest.loader import Loader
    from earwitness.ingest.mapping import MappedAdapter, load_mapping

    return Loader(case, progress=progress, adapter=MappedAdapter(load_mapping(mapping)) if mapping else None)


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
