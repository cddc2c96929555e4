"""`earwitness evaluate`."""

from pathlib import Path

import click

from earwitness.cli.common import PATH, print_json


@click.command("evaluate")
@click.argument("labels")
@click.option("--case", "case_path", type=PATH, required=True, help="An audited case.")
@click.option(
    "--against",
    type=click.Choice(["presence", "disclosure"]),
    help="What a label means: the text holds the value, or it was disclosed to somebody who may not know it. "
    "Default: presence for files and annotators, disclosure for labels inside.",
)
@click.option("--misses", type=click.IntRange(min=0), default=20, show_default=True, help="Misses to print.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with all misses.")
def command(labels: str, case_path: Path, against: str | None, misses: int, as_json: bool) -> None:
    """Hold detection against labels: recall and precision by value type, channel, tier and form.

    LABELS is a file (JSONL or CSV: trace, event, attribute or fingerprint, leaked), `inside` for the labels that
    traces carry, or `adjudicated` for what annotators have settled in the case.

    \b
    Examples:
      earwitness evaluate inside --case runs.duckdb
      earwitness evaluate labels.csv --case runs.duckdb --json

    \b
    In Python:
      summarise(evaluate(case, "inside"))
    """
    from earwitness.audit.evaluate import evaluate, summarise
    from earwitness.cli.labelled import audited, console, source
    from earwitness.reports.scores import masked, print_evaluation

    with audited(case_path) as case:
        result = masked(case, summarise(evaluate(case, source(labels), against)))  # type: ignore[arg-type]
    if as_json:
        print_json(result)
    else:
        print_evaluation(console(), result, misses)
