"""`earwitness dossier`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from earwitness.cli.investigating import CASE, JSON, REVEAL, ask, tell

if TYPE_CHECKING:
    from earwitness.schema.case import Case


@click.command("dossier")
@click.argument("value", required=False)
@CASE
@click.option("--value-text", is_flag=True, help="Ask for the value itself, or read it from stdin; never an argument.")
@click.option("--limit", type=click.IntRange(0), default=10, show_default=True, help="Traces to show in full.")
@JSON
@REVEAL
def command(value: str | None, case_path: Path, value_text: bool, limit: int, as_json: bool, reveal: bool) -> None:
    """Tell all about one protected value: who held it, since when, how it came to them, and was that allowed.

    VALUE is an attribute, the beginning of a fingerprint, or attribute#fingerprint. The exit code is 1 if somebody
    holds it who may not.

    \b
    Examples:
      earwitness dossier ssn --case out/case.duckdb
      earwitness dossier ssn#30b97640 --case out/case.duckdb --json
      earwitness dossier --value-text --case out/case.duckdb < value.txt

    \b
    In Python:
      dossier(Shown(case), find_values(case, "ssn#30b97640"))
    """
    from earwitness.cli.labelled import audited
    from earwitness.reports.dossier import dossier, has_findings
    from earwitness.reports.dossier_text import print_dossier
    from earwitness.reports.shown import Shown

    if value_text == (value is not None):
        raise click.UsageError("name one VALUE, or give --value-text and no VALUE")
    text = ask("value") if value_text else None
    with audited(case_path) as case:
        report = dossier(Shown(case, reveal=reveal), _chosen(case, value, text))
        found = has_findings(report)
        tell(report, lambda console, told: print_dossier(console, told, limit), as_json=as_json, found=found)


def _chosen(case: "Case", value: str | None, text: str | None) -> list[int]:
    from earwitness.reports.lookup import find_value_text, find_values

    return find_values(case, value) if text is None and value is not None else find_value_text(case, text or "")
