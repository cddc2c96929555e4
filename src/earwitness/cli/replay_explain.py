"""`earwitness replay explain`."""

from pathlib import Path

import click

from earwitness.cli.common import PATH
from earwitness.cli.investigating import JSON, REVEAL, tell
from earwitness.cli.replaying import recipients, settings_of


@click.command("explain")
@click.argument("case_path", metavar="CASE", type=PATH)
@click.argument("occurrence")
@click.option("--condition", "names", multiple=True, help="A replayed condition, or its YAML file; default: dynamic.")
@recipients("paper", "extended", "both")
@click.option("--policy", type=PATH, help="The policy file of the audit: rules are told with their lines.")
@JSON
@REVEAL
def command(
    case_path: Path,
    occurrence: str,
    names: tuple[str, ...],
    setting: str,
    policy: Path | None,
    as_json: bool,
    reveal: bool,
) -> None:
    """Explain one OCCURRENCE, step by step: what was recorded, what should become of it, and what a replay did.

    OCCURRENCE is a handle of `earwitness replay list`, or its beginning. The steps are made again by the replay's own
    rules and must give what is stored; the case stays as it is. Protected values are masked. The exit code is 1 if it
    remains under a condition that is explained and should not, 2 if the case has changed since its replay.

    \b
    Examples:
      earwitness replay explain out/case.duckdb 4747526c
      earwitness replay explain out/case.duckdb 4747526c --condition static --condition oracle --recipients both

    \b
    In Python:
      explain(case, named, known, wanted(known, ["dynamic"], ["paper"]))
    """
    from earwitness.cli.labelled import audited
    from earwitness.reports.replay_explain import explained, has_residual
    from earwitness.reports.replay_explain_text import print_explain
    from earwitness.reports.shown import Shown

    with audited(case_path) as case:
        report = explained(Shown(case, reveal=reveal), occurrence, names, settings_of(setting), policy)
        tell(report, print_explain, as_json=as_json, found=has_residual(report))
