"""`earwitness guards`."""

from pathlib import Path
from typing import Literal

import click

from earwitness.cli.investigating import CASE, JSON, REVEAL, tell


@click.command("guards")
@CASE
@click.option("--at", "place", type=click.Choice(["edge", "actor"]), default="edge", show_default=True, help="Where.")
@click.option("--trace", help="Only this trace, by its id.")
@click.option("--fewest", is_flag=True, help="Also the smallest sets, which may stop what is allowed. Takes time.")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Guards of the curve, and traces.")
@JSON
@REVEAL
def command(
    case_path: Path,
    place: Literal["edge", "actor"],
    trace: str | None,
    fewest: bool,
    limit: int,
    as_json: bool,
    reveal: bool,
) -> None:
    """Tell where values would have had to be stopped, and how much the best guards stop.

    A guard stands on an edge, or at an actor over all it sends. The exit code is 1 if there is anything to stop.

    \b
    Examples:
      earwitness guards --case out/case.duckdb
      earwitness guards --case out/case.duckdb --at actor --trace run-17 --fewest

    \b
    In Python:
      guards(Shown(case)); frontier(case); cuts(case); greedy(case)
    """
    from earwitness.cli.labelled import audited
    from earwitness.reports.guards import guards, has_findings, print_guards
    from earwitness.reports.lookup import find_trace
    from earwitness.reports.shown import Shown

    with audited(case_path) as case:
        number = None if trace is None else find_trace(case, trace)
        few = None if as_json else limit
        report = guards(Shown(case, reveal=reveal), place, trace=number, fewest=fewest, stages=limit, limit=few)
        tell(report, print_guards, as_json=as_json, found=has_findings(report))
