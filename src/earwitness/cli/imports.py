"""`earwitness import`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from earwitness.cli.cells import ATTRIBUTES, manifests, set_attributes
from earwitness.cli.common import JOBS, MAP, PATH, load, new_case, watching

if TYPE_CHECKING:
    from earwitness.schema.case import Case


@click.command("import")
@click.argument("traces", nargs=-1, required=True, type=PATH)
@click.option("--case", "case_path", required=True, type=PATH, help="DuckDB file to make.")
@MAP
@ATTRIBUTES
@JOBS
@click.option("--replace", is_flag=True, help="Write over an existing case.")
def command(
    traces: tuple[Path, ...],
    case_path: Path,
    mapping: Path | None,
    attributes: tuple[Path, ...],
    jobs: int | None,
    replace: bool,
) -> None:
    """Import traces into a case, to be audited later with `earwitness audit --case FILE`.

    \b
    Examples:
      earwitness import runs/ --case runs.duckdb
      earwitness import runs/ --attributes cells.csv --case runs.duckdb

    \b
    In Python:
      with Case("runs.duckdb") as case: Loader(case).load([Path("runs")])
    """
    tables = manifests(attributes)
    with watching(quiet=False) as progress:

        def fill(case: "Case") -> None:
            load(case, traces, progress, mapping, jobs)
            set_attributes(case, tables)

        with new_case(case_path, fill, replace=replace) as case:
            outcomes = case.rows("SELECT outcome, sum(records)::BIGINT FROM outcomes GROUP BY outcome ORDER BY outcome")
            held = ", ".join(f"{case.count(t):,} {t}" for t in ("traces", "events", "sightings"))
    counts = ", ".join(f"{n:,} {outcome}" for outcome, n in outcomes)
    click.echo(f"{case_path}: {sum(n for _, n in outcomes):,} records read ({counts}); {held}")
