"""`earwitness baseline`."""

from datetime import UTC, date, datetime
from pathlib import Path

import click

from earwitness.cli.common import PATH


@click.group("baseline")
def command() -> None:
    """Accept exposures that were looked at, so that `compare --baseline` tells what is new.

    A baseline file holds keyed hashes and no value. It is no audit: accepted exposures stay in every report.
    """


@command.command("write")
@click.argument("case_path", metavar="CASE", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="File to write (JSON); what it says already is kept.")
@click.option("--reason", help="Why they are accepted.")
@click.option("--author", help="Who accepts them.")
@click.option("--expires", type=click.DateTime(["%Y-%m-%d"]), help="Last day on which they are accepted.")
def write(case_path: Path, output: Path, reason: str | None, author: str | None, expires: datetime | None) -> None:
    """Accept all unauthorised exposures of an audited case.

    Where the file exists, entries that still match keep their reason, author and day; stale ones go. Hashes are keyed
    with EARWITNESS_KEY, else with the key of the case: then the file serves where that case is compared.

    \b
    Example:
      earwitness baseline write main.duckdb -o accepted.json --reason known --expires 2027-01-31

    \b
    In Python:
      accept(case, Path("accepted.json"), Terms(reason="known"))
    """
    from earwitness.cli.labelled import audited
    from earwitness.reports.compare_baseline import Terms, accept

    day: date | None = expires.date() if expires else None
    with audited(case_path) as case:
        told = accept(case, output, Terms(reason, author, datetime.now(UTC).date(), day))
    click.echo(f"{output}: {told.added:,} added, {told.kept:,} kept, {told.stale:,} stale ones gone")
    if not told.shared:
        click.echo(
            "earwitness: note: keyed with the key of this case; set EARWITNESS_KEY to use it for others", err=True
        )
