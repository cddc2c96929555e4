"""`earwitness calibrate`."""

from pathlib import Path

import click

from earwitness.cli.common import PATH, print_json

_SHARE = click.FloatRange(0, 1)


@click.command("calibrate")
@click.argument("labels")
@click.option("--case", "case_path", type=PATH, required=True, help="An audited case.")
@click.option("--from", "low", type=_SHARE, default=0.35, show_default=True, help="Lowest threshold.")
@click.option("--to", "high", type=_SHARE, default=0.95, show_default=True, help="Highest threshold.")
@click.option("--step", type=click.FloatRange(0.001, 1), default=0.01, show_default=True, help="Step between them.")
@click.option("--max-fpr", type=_SHARE, default=0.05, show_default=True, help="Bound of the false-positive rate.")
@click.option(
    "--stratum",
    type=click.Choice(["certain-positive", "semantic-middle", "certain-negative"]),
    help="Only pairs of this stratum.",
)
@click.option("--yaml", "fragment_path", type=PATH, help="Write the confidence floors for a policy into this file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    labels: str,
    case_path: Path,
    low: float,
    high: float,
    step: float,
    max_fpr: float,
    stratum: str | None,
    fragment_path: Path | None,
    as_json: bool,
) -> None:
    """Choose the confidence at which a finding counts: maximise F1 while false positives stay below a bound.

    LABELS as for `evaluate`. Thresholds that classify alike are told as one interval.

    \b
    Example:
      earwitness calibrate adjudicated --case runs.duckdb --stratum semantic-middle --yaml floors.yaml

    \b
    In Python:
      calibrate_case(case, "adjudicated", thresholds(0.35, 0.95, 0.01))
    """
    from earwitness.audit.calibrate import calibrate_case, fragment, thresholds
    from earwitness.cli.labelled import audited, console, source
    from earwitness.reports.scores import print_calibration

    if low > high:
        raise click.UsageError("--from must not be above --to")
    with audited(case_path) as case:
        result = calibrate_case(case, source(labels), thresholds(low, high, step), max_fpr, stratum)
    lines = fragment(result)
    if fragment_path:
        fragment_path.write_text(lines, encoding="utf-8")
    if as_json:
        print_json(result | {"policy": lines})
    else:
        print_calibration(console(), result, lines)
