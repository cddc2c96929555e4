"""`earwitness replay search`."""

from pathlib import Path
from typing import Literal

import click

from earwitness.cli.common import PATH
from earwitness.cli.investigating import JSON, tell
from earwitness.cli.replaying import MODE, recipients

_FAMILIES = ("detector", "resolution", "fallback", "confidence", "decision", "transform", "rule")


@click.command("search")
@click.argument("case_path", metavar="CASE", type=PATH)
@click.option("--condition", "name", default="dynamic", show_default=True, help="A replayed condition, or its file.")
@recipients("paper", "extended")
@MODE
@click.option("--family", "families", multiple=True, type=click.Choice(_FAMILIES), help="Try these only; default: all.")
@click.option("--steps", type=click.IntRange(0), default=0, show_default=True, help="Make so many changes in turn.")
@click.option("--write", type=PATH, help="Write the condition after the steps to this file.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many changes to tell.")
@JSON
def command(
    case_path: Path,
    name: str,
    setting: Literal["paper", "extended"],
    mode: Literal["independent", "propagate"],
    families: tuple[str, ...],
    steps: int,
    write: Path | None,
    limit: int,
    as_json: bool,
) -> None:
    """Which single change of a replayed condition would lower its residual most, and what it would cost.

    No text is scanned. With --steps the best change is made, then the best of what is left, and so on. The exit code
    is 1 if some change lowers the residual.

    \b
    Examples:
      earwitness replay search out/case.duckdb --condition dynamic --recipients paper
      earwitness replay search out/case.duckdb --mode propagate --family fallback --family transform
      earwitness replay search out/case.duckdb --steps 3 --write better.yaml

    \b
    In Python:
      search(case, Ask(find("dynamic"), "paper", steps=3))
    """
    from earwitness.audit.replay.condition import find
    from earwitness.audit.replay.search import Ask, search
    from earwitness.cli.labelled import audited
    from earwitness.reports.search import print_search, search_report, write_final
    from earwitness.reports.shown import Shown

    if write and not steps:
        raise click.UsageError("--write needs --steps")
    ask = Ask(find(name), setting, mode, steps, families or _FAMILIES)
    with audited(case_path) as case:
        report = search_report(Shown(case), search(case, ask), ask, limit)
    if write:
        write_final(write, report)
    tell(report, print_search, as_json=as_json, found=any(c["net_removed"] > 0 for c in report["changes"]))
