"""`earwitness replay`."""

import os
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import click

from earwitness.cli.common import PATH
from earwitness.cli.investigating import JSON, tell
from earwitness.cli.replay_explain import command as explain_command
from earwitness.cli.replay_export import command as export_command
from earwitness.cli.replay_list import command as list_command
from earwitness.cli.replay_search import command as search_command
from earwitness.cli.replaying import recipients, settings_of


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
@recipients("both", "paper", "extended")
@click.option("--key-file", type=PATH, help="Key of the transforms; else EARWITNESS_KEY, else one for this run.")
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(["type", "channel", "attribute", "cell", "hops", "distance", "position"]),
    help="Print the figures split by this, too; may be repeated. JSON has all splits.",
)
@click.option(
    "--rewriter",
    metavar="URL",
    help="OpenAI-compatible endpoint that rewrites contextual values. Protected values are sent to it.",
)
@click.option("--rewriter-model", metavar="NAME", help="Model of the rewriter; alone, only answers at hand are used.")
@click.option(
    "--rewriter-key-env",
    metavar="NAME",
    default="EARWITNESS_JUDGE_KEY",
    show_default=True,
    help="Variable that holds the key of the endpoint.",
)
@click.option("--rewriter-calls", type=click.IntRange(min=1), metavar="N", help="Ask at most so often.")
@JSON
def run(
    case_path: Path,
    names: tuple[str, ...],
    setting: Literal["paper", "extended", "both"],
    key_file: Path | None,
    by: tuple[str, ...],
    as_json: bool,
    **asked: Any,
) -> None:
    """Replay conditions over every recorded delivery and count what remains.

    Both ways of counting are told: each event by itself, and with what was sanitized not passed on. The exit code is 1
    if anything would have remained that should not.

    \b
    Examples:
      earwitness replay out/case.duckdb
      earwitness replay out/case.duckdb --condition dynamic --condition blanket --recipients paper
      earwitness replay out/case.duckdb --by channel --by type
      earwitness replay out/case.duckdb --rewriter http://127.0.0.1:8000/v1 --rewriter-model NAME

    \b
    In Python:
      replay(case, Request(list(shipped().values()), read_keys()))
    """
    from earwitness.audit.replay.condition import find, shipped
    from earwitness.audit.replay.replay import Request, replay
    from earwitness.audit.transform.keys import read_keys
    from earwitness.cli.common import watching
    from earwitness.cli.labelled import audited
    from earwitness.reports.replay import has_residual, print_replay, replay_report
    from earwitness.reports.shown import Shown

    conditions = [find(name) for name in names] or list(shipped().values())
    keys = read_keys(key_file)
    rewriter = _rewriter(asked)
    with audited(case_path) as case:
        with watching(quiet=as_json) as progress:
            skipped = replay(case, Request(conditions, keys, settings_of(setting), progress, rewriter(progress)))
        report = replay_report(Shown(case), skipped, keys.note)
        tell(report, partial(print_replay, by=by), as_json=as_json, found=has_residual(report))


def _rewriter(asked: dict[str, Any]) -> Any:
    """What makes the options of the rewriter, None where none was asked for; warns of what is sent.

    Raises:
        click.UsageError: a rewriter without a model.
    """
    url, model, variable = (asked[name] for name in ("rewriter", "rewriter_model", "rewriter_key_env"))
    if url is None and model is None:
        return lambda progress: None
    if model is None:
        raise click.UsageError("--rewriter needs --rewriter-model NAME: the model as the endpoint knows it")
    from earwitness.audit.judge.options import JudgeOptions

    if url is not None:
        click.echo(f"earwitness: warning: protected values are sent to {_host(url)} to be rewritten", err=True)
    named = {"key": os.environ.get(variable), "key_variable": variable, "role": "rewriter"}
    return lambda progress: JudgeOptions(url, model, max_calls=asked["rewriter_calls"], progress=progress, **named)


def _host(url: str) -> str:
    """The host of a URL, which may hold a password that nobody should see."""
    try:
        return repr(urlsplit(url).hostname or "the endpoint").strip("'")
    except ValueError:
        return "the endpoint"


command.add_command(search_command)
command.add_command(export_command)
command.add_command(list_command)
command.add_command(explain_command)
