"""`earwitness subject`."""

from pathlib import Path

import click

from earwitness.cli.investigating import CASE, JSON, REVEAL, ask, tell


@click.command("subject")
@click.argument("name")
@CASE
@click.option("--limit", type=click.IntRange(0), default=40, show_default=True, help="Rows to show of each part.")
@JSON
@REVEAL
def command(name: str, case_path: Path, limit: int, as_json: bool, reveal: bool) -> None:
    """Tell all that reached anyone about one person, over all traces: recipients, channels, verdicts.

    NAME is the `subject` of values, or the person's name where that is a value itself; case does not matter; - asks
    for it, or reads it from stdin. Values without a subject are told apart, for traces that speak of nobody else. The
    exit code is 1 if something reached somebody who may not know it.

    \b
    Examples:
      earwitness subject "Ilse Brandvold" --case out/case.duckdb
      earwitness subject "Ilse Brandvold" --case out/case.duckdb --json > answer.json

    \b
    In Python:
      subject(Shown(case), "Ilse Brandvold")
    """
    from earwitness.cli.labelled import audited
    from earwitness.reports.shown import Shown
    from earwitness.reports.subject import has_findings, print_subject, subject

    name = ask("name") if name == "-" else name
    with audited(case_path) as case:
        report = subject(Shown(case, reveal=reveal), name)
        tell(report, lambda c, told: print_subject(c, told, limit), as_json=as_json, found=has_findings(report))
