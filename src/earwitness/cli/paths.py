"""`earwitness paths`."""

from pathlib import Path
from typing import Any

import click

from earwitness.cli.investigating import CASE, JSON, REVEAL, tell


@click.command("paths")
@CASE
@click.option("--value", help="Only this value: attribute, beginning of a fingerprint, or attribute#fingerprint.")
@click.option("--from", "source", help="Only ways that begin with this actor or go through it.")
@click.option("--to", "recipient", help="Only ways that end at this actor.")
@click.option("--trace", help="Only this trace, by its id.")
@click.option("--pattern", help="Only ways of this pattern: its number in the list, or 'a -> b -> *'.")
@click.option(
    "--by",
    type=click.Choice(["name", "role", "position"]),
    default="name",
    show_default=True,
    help="What stands for a station in a pattern.",
)
@click.option("--all", "everything", is_flag=True, help="Also ways to those who may have the value.")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Patterns and ways to show.")
@JSON
@REVEAL
def command(case_path: Path, as_json: bool, reveal: bool, **asked: Any) -> None:
    """Tell the ways values took, hop by hop with evidence, and the patterns they follow.

    A way leads from where the value came from to a recipient's first knowledge of it. The exit code is 1 if a way that
    is shown is unauthorised.

    \b
    Examples:
      earwitness paths --case out/case.duckdb
      earwitness paths --case out/case.duckdb --value ssn --to payments
      earwitness paths --case out/case.duckdb --pattern 2

    \b
    In Python:
      paths(Shown(case), Asked(recipient="payments"))
    """
    from earwitness.cli.labelled import audited
    from earwitness.reports.paths import paths, print_paths
    from earwitness.reports.shown import Shown

    some = any(asked[name] is not None for name in ("value", "source", "recipient", "trace", "pattern"))
    with audited(case_path) as case:
        report = paths(Shown(case, reveal=reveal), _asked(case, asked))
        found = any(way["authorised"] is False for way in report["ways"])
        tell(report, lambda console, told: print_paths(console, told, overview=not some), as_json=as_json, found=found)


def _asked(case: Any, words: dict[str, Any]) -> Any:
    """What was asked for, with names looked up."""
    from earwitness.reports.lookup import Actors, find_trace, find_values
    from earwitness.reports.paths import Asked

    actors = Actors(case) if words["source"] or words["recipient"] else None
    return Asked(
        values=find_values(case, words["value"], many=True) if words["value"] is not None else None,
        source=actors.find(words["source"]) if actors and words["source"] else None,
        recipient=actors.find(words["recipient"]) if actors and words["recipient"] else None,
        trace=find_trace(case, words["trace"]) if words["trace"] is not None else None,
        pattern=words["pattern"],
        by=words["by"],
        unauthorised=not words["everything"],
        limit=words["limit"],
    )
