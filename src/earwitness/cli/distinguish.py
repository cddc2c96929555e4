"""`earwitness distinguish`."""

from pathlib import Path

import click

from earwitness.cli.common import watching
from earwitness.cli.investigating import CASE, JSON, tell


@click.command("distinguish")
@CASE
@click.option("--permutations", type=click.IntRange(20), default=100, show_default=True, help="Shuffled labels.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same figures.")
@click.option(
    "--disclosed", is_flag=True, help="Keep pairs of which a side discloses a value without being allowed to."
)
@JSON
def command(case_path: Path, permutations: int, seed: int, disclosed: bool, as_json: bool) -> None:
    """Tell whether neighbouring runs, which differ in a protected value alone, can be told apart by how they went.

    Needs traces with `scenario` and `pair`, and the extra `study`. The exit code is 1 if some horizon's pairs can be
    told apart better than with shuffled labels; the notes say what else than the value may be why.

    \b
    Example:
      earwitness distinguish --case pairs.duckdb

    \b
    In Python:
      study(case, StudyOptions())
    """
    from earwitness.audit.distinguish.study import StudyOptions, study
    from earwitness.cli.labelled import audited
    from earwitness.reports.distinguish import distinguish, has_findings, print_distinguish
    from earwitness.reports.shown import Shown

    with audited(case_path) as case:
        with watching(quiet=as_json) as progress:
            found = study(case, StudyOptions(permutations, seed, disclosed, progress))
        if not found.horizons:
            click.echo(_nothing(found.disclosed, found.unpaired), err=True)
        report = distinguish(Shown(case), found)
        tell(report, print_distinguish, as_json=as_json, found=has_findings(report))


def _nothing(disclosed: int, unpaired: int) -> str:
    if disclosed:
        return f"earwitness: warning: all {disclosed:,} pairs disclose a value; --disclosed keeps them"
    if unpaired:
        return f"earwitness: warning: none of {unpaired:,} runs with a pair member has a partner in its cell"
    return "earwitness: warning: no trace names a scenario and a pair member; set them by `import --attributes`"
