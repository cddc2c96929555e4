"""`earwitness export`."""

from pathlib import Path

import click

from earwitness.cli.common import PATH


@click.command("export")
@click.argument("case_path", metavar="CASE", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="File to write.")
@click.option("--reveal", is_flag=True, help="Needed: canonical JSONL holds texts and protected values in clear.")
def command(case_path: Path, output: Path, reveal: bool) -> None:
    """Write a case as canonical JSONL; importing it again gives the same traces, events, values and rules.

    \b
    Example:
      earwitness export runs.duckdb -o runs.jsonl --reveal

    \b
    In Python:
      export(case, open("runs.jsonl", "wb"))
    """
    from earwitness.reports.canonical import export
    from earwitness.schema.case import Case

    if not reveal:
        raise click.UsageError(
            "canonical JSONL holds texts and protected values in clear; add --reveal if that is meant"
        )
    with Case(case_path, create=False) as case, output.open("wb") as out:
        click.echo(f"{output}: {export(case, out):,} lines")
