"""`earwitness topology`."""

from pathlib import Path

import click

from earwitness.cli.investigating import CASE, JSON, REVEAL, tell


@click.command("topology")
@CASE
@click.option("--trace", metavar="ID", help="Only this trace.")
@JSON
@REVEAL
def command(case_path: Path, trace: str | None, as_json: bool, reveal: bool) -> None:
    """Tell the shape of runs: star, mesh, hierarchy, pipeline or mixed, beside what was declared.

    The shape is that of the messages between agents that occurred. Nominal edges are those the declared topology,
    or else the inferred one, would have.

    \b
    Examples:
      earwitness topology --case out/case.duckdb
      earwitness topology --case out/case.duckdb --trace hier7-3 --json

    \b
    In Python:
      shape(Shown(case)); topology(case)
    """
    from earwitness.cli.labelled import audited
    from earwitness.reports.shape import print_shape, shape
    from earwitness.reports.shown import Shown
    from earwitness.schema.errors import CaseError

    with audited(case_path) as case:
        report = shape(Shown(case, reveal=reveal), trace)
        if not report["traces"]:
            raise CaseError(f"{case_path}: no trace of that id; `earwitness topology --case ...` lists them")
        tell(report, print_shape, as_json=as_json, found=False)
