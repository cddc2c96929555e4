"""`earwitness replay search`."""

from pathlib import Path
from typing import Literal

import click

from earwitness.cli.common import PATH
from earwitness.cli.investigating import JSON, tell


@click.command("search")
@click.argument("case_path", metavar="CASE", type=PATH)
@click.option("--condition", "name", default="dynamic", show_default=True, help="A replayed condition, or its file.")
@click.option("--recipients", "setting", type=click.Choice(["paper", "extended"]), default="paper", show_default=True)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many changes to tell.")
@JSON
def command(case_path: Path, name: str, setting: Literal["paper", "extended"], limit: int, as_json: bool) -> None:
    """Which single change of a replayed condition would lower its residual most, and what it would cost.

    No text is scanned. The exit code is 1 if some change lowers the residual.

    \b
    Example:
      earwitness replay search out/case.duckdb --condition dynamic --recipients paper
    """
    from earwitness.audit.replay.condition import find
    from earwitness.audit.replay.search import search
    from earwitness.cli.labelled import audited
    from earwitness.reports.search import print_search, search_report
    from earwitness.reports.shown import Shown

    condition = find(name)
    with audited(case_path) as case:
        report = search_report(Shown(case), search(case, condition, setting), condition.name, setting, limit)
    tell(report, print_search, as_json=as_json, found=any(c["net_removed"] > 0 for c in report["changes"]))
