"""`earwitness exposure`."""

from pathlib import Path

import click

from earwitness.cli.investigating import CASE, JSON, REVEAL, tell

_KINDS = ("nominal", "realised", "temporal", "carrying", "realised_any", "temporal_any", "carrying_any")


@click.command("exposure")
@CASE
@click.option(
    "--distance",
    "kinds",
    type=click.Choice([*_KINDS, "all"]),
    multiple=True,
    default=("realised", "carrying_any"),
    show_default=True,
    help="Distances to show the curve of; may be repeated.",
)
@click.option("--position", type=click.Choice(["original", "introduced"]), help="Only agents of this position.")
@JSON
@REVEAL
def command(case_path: Path, kinds: tuple[str, ...], position: str | None, as_json: bool, reveal: bool) -> None:
    """Tell how far values got: agents by distance, and exposure given the distance, with intervals.

    Distances are kept in the case, so that asking again costs little. The exit code is 1 if an exposure is
    unauthorised.

    \b
    Examples:
      earwitness exposure --case out/case.duckdb
      earwitness exposure --case out/case.duckdb --distance all --position introduced

    \b
    In Python:
      exposure(Shown(case)); exposure_curve(case, distances(case), "temporal")
    """
    from earwitness.cli.labelled import audited
    from earwitness.reports.exposure import exposure, print_exposure
    from earwitness.reports.shown import Shown

    chosen = _KINDS if "all" in kinds else kinds
    with audited(case_path) as case:
        report = exposure(Shown(case, reveal=reveal), position)
        found = report["totals"]["unauthorised"] > 0
        tell(report, lambda console, told: print_exposure(console, told, chosen), as_json=as_json, found=found)
