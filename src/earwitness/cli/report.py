"""`earwitness report`."""

from pathlib import Path

import click

from earwitness.cli.audit import show, write_reports
from earwitness.cli.common import PATH
from earwitness.schema.errors import CaseError


@click.command("report")
@click.argument("case_path", metavar="CASE", type=PATH)
@click.option("-o", "--output", type=PATH, help="Folder for report.html and report.json.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--labels", type=click.Choice(["compare"]), help="Compare findings with labels inside the files.")
@click.option("--reveal", is_flag=True, help="Show protected values in clear; the output is stamped.")
def command(case_path: Path, output: Path | None, as_json: bool, labels: str | None, reveal: bool) -> None:
    """Tell again what the last audit of a case found.

    \b
    Example:
      earwitness report out/case.duckdb -o out/

    \b
    In Python:
      with Case("out/case.duckdb") as case: summary(case)
    """
    from earwitness.reports.summary import summary
    from earwitness.schema.case import Case

    with Case(case_path, create=False) as case:
        if not case.count("rulings"):
            raise CaseError(f"{case_path}: has not been audited; run `earwitness audit --case {case_path}`")
        report = summary(case, labels=labels == "compare", reveal=reveal)
        if output:
            write_reports(case, report, output)
        show(report, as_json=as_json, output=output)
