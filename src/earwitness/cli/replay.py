"""`earwitness replay`."""

from functools import partial
from pathlib import Path
from typing import Literal

import click

from earwitness.cli.common import PATH
from earwitness.cli.investigating import JSON, tell
from earwitness.cli.replay_export import command as export_command
from earwitness.cli.replay_search import command as search_command


class _Replay(click.Group):
    """`earwitness replay CASE` is `earwitness replay run CASE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group("replay", cls=_Replay)
def command() -> None:
    """Replay sanitizers over an audited case: what each would have left, and why.

    `earwitness replay CASE` is short for `earwitness replay run CASE`.

    \b
    Examples:
      earwitness replay out/case.duckdb
      earwitness replay out/case.duckdb --condition dynamic --condition mine.yaml --json
    """


@command.command("run")
@click.argument("case_path", metavar="CASE", type=PATH)
@click.option("--condition", "names", multiple=True, help="Name of a shipped condition, or a YAML file; default: all.")
@click.option(
    "--recipients",
    "setting",
    type=click.Choice(["paper", "extended", "both"]),
    default="both",
    show_default=True,
    help="Which recipients count as known.",
)
@click.option("--key-file", type=PATH, help="Key of the transforms; else EARWITNESS_KEY, else one for this run.")
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(["type", "channel", "attribute", "cell", "hops", "distance", "position"]),
    help="Print the figures split by this, too; may be repeated. JSON has all splits.",
)
@JSON
def run(
    case_path: Path,
    names: tuple[str, ...],
    setting: Literal["paper", "extended", "both"],
    key_file: Path | None,
    by: tuple[str, ...],
    as_json: bool,
) -> None:
    """Replay conditions over every recorded delivery and count what remains.

    Both ways of counting are told: each event by itself, and with what was sanitized not passed on. The exit code is 1
    if anything would have remained that should not.

    \b
    Examples:
      earwitness replay out/case.duckdb
      earwitness replay out/case.duckdb --condition dynamic --condition blanket --recipients paper
      earwitness replay out/case.duckdb --by channel --by type

    \b
    In Python:
      replay(case, Request(list(shipped().values()), read_keys()))
    """
    from earwitness.audit.replay.condition import SETTINGS, find, shipped
    from earwitness.audit.replay.replay import Request, replay
    from earwitness.audit.transform.keys import read_keys
    from earwitness.cli.common import watching
    from earwitness.cli.labelled import audited
    from earwitness.reports.replay import has_residual, print_replay, replay_report
    from earwitness.reports.shown import Shown

    conditions = [find(name) for name in names] or list(shipped().values())
    keys = read_keys(key_file)
    settings = SETTINGS if setting == "both" else (setting,)
    with audited(case_path) as case:
        with watching(quiet=as_json) as progress:
            skipped = replay(case, Request(conditions, keys, settings, progress))
        report = replay_report(Shown(case), skipped, keys.note)
        tell(report, partial(print_replay, by=by), as_json=as_json, found=has_residual(report))


command.add_command(search_command)
command.add_command(export_command)
