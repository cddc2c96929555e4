"""`earwitness replay export`."""

from pathlib import Path
from typing import Literal

import click

from earwitness.cli.common import PATH
from earwitness.cli.investigating import JSON, tell
from earwitness.cli.replaying import MODE, recipients


@click.command("export")
@click.argument("case_path", metavar="CASE", type=PATH)
@click.option("--condition", required=True, help="A replayed condition, by its name.")
@recipients("paper", "extended")
@MODE
@click.option("-o", "--output", type=PATH, required=True, help="File to write.")
@click.option("--reveal", is_flag=True, help="Write texts as delivered: what remains stands in clear, else masked.")
@click.option("--with-values", is_flag=True, help="Write values and rules of the traces, too; needs --reveal.")
@click.option("--keep-unsent", is_flag=True, help="Keep initial inputs and contexts that no sanitizer saw as recorded.")
@click.option("--replace", is_flag=True, help="Write over an existing file.")
@JSON
def command(
    case_path: Path,
    condition: str,
    setting: Literal["paper", "extended"],
    mode: Literal["independent", "propagate"],
    output: Path,
    reveal: bool,
    with_values: bool,
    keep_unsent: bool,
    replace: bool,
    as_json: bool,
) -> None:
    """Write the traces as a replayed condition would have left them, as canonical JSONL.

    The texts are those of the last replay; no key is needed. What remains in them is masked unless it is revealed.
    Values and rules are left out unless asked for.

    \b
    Examples:
      earwitness replay export out/case.duckdb --condition dynamic -o sanitized.jsonl
      earwitness replay export out/case.duckdb --condition dynamic --with-values --reveal -o loop.jsonl

    \b
    In Python:
      lay_out(case, Ask("dynamic", "paper"), rules); write_sanitized(case, path, values=False, reveal=False,
      replace=False)
    """
    from earwitness.audit.replay.export import Ask, drop, lay_out
    from earwitness.audit.replay.replay import rules_in_force
    from earwitness.cli.labelled import audited
    from earwitness.reports.sanitized import GATE, check_output, export_report, print_export, warning, write_sanitized

    if with_values and not reveal:
        raise click.UsageError(GATE)
    check_output(output, replace=replace)
    with audited(case_path) as case:
        ask = Ask(condition, setting, mode, keep_unsent)
        told = lay_out(case, ask, rules_in_force(case))
        lines = write_sanitized(case, output, values=with_values, reveal=reveal, replace=replace)
        drop(case)
    report = export_report(ask, told, lines, output, values=with_values, reveal=reveal)
    if said := warning(report):
        click.echo(f"warning: {said}", err=True)
    tell(report, print_export, as_json=as_json, found=False)
