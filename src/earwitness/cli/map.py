"""`earwitness map`."""

import itertools
from pathlib import Path

import click

from earwitness.cli.common import PATH, loader, scratch_case
from earwitness.schema.errors import InputError

_READ = 200
_SHOWN = 5


@click.group("map")
def command() -> None:
    """Write and try mapping files for JSON traces that no adapter knows."""


@command.command("draft")
@click.argument("file", type=PATH)
def draft(file: Path) -> None:
    """Propose a mapping file for FILE, to be corrected by hand. It quotes keys and event types, never content.

    \b
    Example:
      earwitness map draft trace.jsonl > my.toml
    """
    from earwitness.ingest.files import open_all
    from earwitness.ingest.layouts import values_of
    from earwitness.ingest.limits import DEFAULT_LIMITS
    from earwitness.ingest.mapdraft import draft as propose

    streams = (o.stream for o in open_all([file], DEFAULT_LIMITS) if o.stream and not o.archive)
    found = itertools.chain.from_iterable(values_of(s, DEFAULT_LIMITS) for s in streams)
    values = [v for v in itertools.islice(found, _READ) if isinstance(v, dict)]
    if not values:
        raise InputError(f"{file}: holds no JSON objects to draft a mapping from")
    click.echo(propose(values), nl=False)


@command.command("check")
@click.argument("file", type=PATH)
@click.option("--map", "mapping", type=PATH, required=True, help="Mapping file (TOML).")
def check(file: Path, mapping: Path) -> None:
    """Try a mapping on FILE: what becomes of the records, and the first five events with every word masked.

    \b
    Example:
      earwitness map check trace.jsonl --map my.toml
    """
    from earwitness.reports.mapped import preview

    with scratch_case() as case:
        loader(case, lambda what, done: None, mapping).load([file])
        lines = preview(case, _SHOWN)
        mapped = case.count("events")
    for line in lines:
        click.echo(line)
    if not mapped:
        raise InputError(
            f"{mapping}: maps no event of {file}; compare it with what `earwitness map draft {file}` proposes"
        )
