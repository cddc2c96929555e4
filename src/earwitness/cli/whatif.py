"""`earwitness what-if`."""

from pathlib import Path

import click

from earwitness.cli.investigating import CASE, JSON, REVEAL, tell
from earwitness.schema.words import CHANNELS


@click.command("what-if")
@CASE
@click.option("--remove-edge", "edges", multiple=True, metavar="A>B", help="All that A sends to B; quote it.")
@click.option("--remove-agent", "actors", multiple=True, help="An actor, with all it sends and receives.")
@click.option("--remove-channel", "channels", multiple=True, type=click.Choice(CHANNELS), help="A channel.")
@click.option("--trace", help="Only in this trace, by its id.")
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="Rows to show of each outcome.")
@JSON
@REVEAL
def command(
    case_path: Path,
    edges: tuple[str, ...],
    actors: tuple[str, ...],
    channels: tuple[str, ...],
    trace: str | None,
    limit: int,
    as_json: bool,
    reveal: bool,
) -> None:
    """Remove edges, actors or channels and recount: which unauthorised exposures are stopped, which survive, and how.

    What a sender no longer holds it cannot pass on. The options may be repeated and combined. The exit code is 1 if
    an unauthorised exposure is left.

    \b
    Examples:
      earwitness what-if --case out/case.duckdb --remove-edge "coordinator>payments"
      earwitness what-if --case out/case.duckdb --remove-agent lead --remove-channel C5

    \b
    In Python:
      what_if(case, edges=[("coordinator", "payments")])
    """
    from earwitness.cli.labelled import audited
    from earwitness.reports.lookup import Actors, find_trace
    from earwitness.reports.shown import Shown
    from earwitness.reports.whatif import counterfactual, print_counterfactual

    if not (edges or actors or channels):
        raise click.UsageError("say what to remove: --remove-edge, --remove-agent or --remove-channel")
    with audited(case_path) as case:
        known = Actors(case)
        report = counterfactual(
            Shown(case, reveal=reveal),
            edges=[known.find_edge(edge) for edge in edges],
            actors=[known.find(actor) for actor in actors],
            channels=channels,
            trace=None if trace is None else find_trace(case, trace),
            limit=None if as_json else limit,
        )
        tell(report, print_counterfactual, as_json=as_json, found=report["after"] > 0)
