"""`earwitness replay list`."""

from pathlib import Path
from typing import Any

import click

from earwitness.cli.common import PATH
from earwitness.cli.investigating import JSON, tell
from earwitness.cli.replaying import MODE, recipients, settings_of
from earwitness.schema.words import CAUSES, CHANNELS


@click.command("list")
@click.argument("case_path", metavar="CASE", type=PATH)
@click.option("--condition", "names", multiple=True, help="A replayed condition, by name; default: dynamic.")
@recipients("paper", "extended", "both")
@MODE
@click.option("--remains/--gone", "remains", default=None, help="Only what is still there, or only what is not.")
@click.option("--truth", type=click.Choice(["sanitize", "allow"]), help="Only what should become of it.")
@click.option("--cause", type=click.Choice(CAUSES), help="Only what remains for this cause.")
@click.option("--attribute", help="Only values of this attribute.")
@click.option("--channel", type=click.Choice(CHANNELS), help="Only this channel.")
@click.option("--recipient", help="Only this recipient.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many of each condition.")
@JSON
def command(case_path: Path, names: tuple[str, ...], setting: str, as_json: bool, **asked: Any) -> None:
    """List the occurrences of the last replay: each with a handle, what was decided on it and what is left.

    Handles stay the same as long as the case does; `earwitness replay explain` takes them. What remains and should not
    comes first. The exit code is 1 if an occurrence that fits remains and should not.

    \b
    Examples:
      earwitness replay list out/case.duckdb
      earwitness replay list out/case.duckdb --condition static --cause policy_gap --limit 5
      earwitness replay list out/case.duckdb --recipients extended --mode propagate --remains --json

    \b
    In Python:
      list_report(Shown(case), Asked(["dynamic"], remains=True))
    """
    from earwitness.cli.labelled import audited
    from earwitness.reports.lookup import Actors
    from earwitness.reports.replay_list import Asked, has_listed_residual, list_report, print_list
    from earwitness.reports.shown import Shown

    with audited(case_path) as case:
        if asked["recipient"] is not None:
            asked["recipient"] = Actors(case).find(asked["recipient"])
        report = list_report(Shown(case), Asked(names, settings_of(setting), **asked))
        tell(report, print_list, as_json=as_json, found=has_listed_residual(report))
