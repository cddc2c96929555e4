"""The option `--attributes` of `import` and `audit`: a table that says what each trace belongs to."""

from pathlib import Path
from typing import Any

import click

from earwitness.cli.common import PATH

ATTRIBUTES = click.option(
    "--attributes",
    type=PATH,
    multiple=True,
    help="Table (CSV, JSONL, Parquet) that sets scenario, topology, ... of traces, or turns of events.",
)
_SHOWN = 5
Tables = list[tuple[Path, Any]]


def manifests(paths: tuple[Path, ...]) -> Tables:
    """The rows of the tables; read before the traces, for a mistake in them should not cost an import."""
    from earwitness.ingest.manifest import read_manifest

    return [(path, read_manifest(path)) for path in paths]


def set_attributes(case: Any, tables: Tables) -> None:
    """Set them, and say on stderr what did not fit."""
    for path, rows in tables:
        from earwitness.ingest.manifest import apply_manifest

        done = apply_manifest(case, rows, path)
        click.echo(f"{path}: {done.found:,} {done.what} set from {done.rows:,} rows ({_columns(done)})", err=True)
        if done.unused:
            _warn(f"{path}: {len(done.unused):,} rows name none of the {done.what}: row", map(str, done.unused))
        if done.unnamed:
            count = sum(n for _, n in done.unnamed)
            _warn(
                f"{path}: {count:,} {done.what} are named by no row and stay as recorded:", (f for f, _ in done.unnamed)
            )
        if done.shared:
            told = (f"row {n} ({held} traces)" for n, held in done.shared)
            _warn(f"{path}: a row by `file` alone was set on every trace of that file:", told)


def _columns(done: Any) -> str:
    """What was set; names that are no column of a trace may be mistyped, so they stand apart."""
    from earwitness.ingest.manifest import COLUMNS, EVENT_COLUMNS
    from earwitness.reports.text import plain

    own = [c for c in done.columns if c in (*COLUMNS, *EVENT_COLUMNS)]
    others = [plain(c) for c in done.columns if c not in own]
    return "; ".join([", ".join(own) or "no column"] + ([f"as attributes: {', '.join(others)}"] if others else []))


def _warn(what: str, which: Any) -> None:
    from earwitness.reports.text import plain

    names = [plain(str(name)) for name in which]
    more = f", and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    click.echo(f"earwitness: warning: {what} {', '.join(names[:_SHOWN])}{more}", err=True)
