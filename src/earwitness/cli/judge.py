"""`earwitness judge`: verdicts of a judge, out of a case and into another."""

from pathlib import Path

import click

from earwitness.cli.common import PATH

_CASE = click.option("--case", "case_path", type=PATH, required=True, help="An audited case.")


@click.group("judge")
def command() -> None:
    """Verdicts of `audit --judge`: write them to a file, read them into a case, so that a rerun asks nobody.

    Verdicts name values by fingerprint. Both cases need the same key: set EARWITNESS_KEY.
    """


@command.command("export")
@_CASE
@click.argument("path", type=PATH)
def export(case_path: Path, path: Path) -> None:
    """Write all verdicts of a case to PATH, as JSON lines."""
    from earwitness.audit.judge.verdicts import export_judgements
    from earwitness.schema.case import Case

    with Case(case_path, create=False) as case:
        click.echo(f"{path}: {export_judgements(case, path):,} verdicts written")


@command.command("import")
@_CASE
@click.argument("path", type=PATH)
def take(case_path: Path, path: Path) -> None:
    """Read verdicts from PATH; the next `audit --judge-model` of the case uses them."""
    from earwitness.audit.judge.verdicts import import_judgements
    from earwitness.schema.case import Case

    with Case(case_path, create=False) as case:
        click.echo(f"{case_path}: {import_judgements(case, path):,} new verdicts")
