"""`earwitness graph`."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from earwitness.cli.common import PATH
from earwitness.cli.investigating import CASE, REVEAL

if TYPE_CHECKING:
    from earwitness.schema.case import Case


@click.group("graph")
def command() -> None:
    """Work with the graphs of a case."""


@command.command("export")
@CASE
@click.option("--trace", required=True, help="Which trace, by its id.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["graphml", "dot", "json", "opengraph"]),
    default="json",
    show_default=True,
    help="How it is written.",
)
@click.option(
    "--kind",
    type=click.Choice(["flow", "value", "execution"]),
    default="flow",
    show_default=True,
    help="Who sent to whom; only what carried one value; events and what caused them.",
)
@click.option("--value", help="The value, for --kind value: attribute, fingerprint or attribute#fingerprint.")
@click.option("-o", "--output", type=PATH, required=True, help="File to write.")
@REVEAL
def export(
    case_path: Path,
    trace: str,
    form: str,
    kind: Literal["flow", "value", "execution"],
    value: str | None,
    output: Path,
    reveal: bool,
) -> None:
    """Write a graph of one trace for another program; no texts, and protected values by name only.

    Every edge (of an execution graph every node) has source, line and pointer. `opengraph` is for BloodHound.

    \b
    Examples:
      earwitness graph export --case out/case.duckdb --trace run-17 --format graphml -o run-17.graphml
      earwitness graph export --case out/case.duckdb --trace run-17 --kind value --value ssn --format dot -o ssn.dot

    \b
    In Python:
      write_graph(flow_graph(case, 0), Path("run.graphml"), "graphml", Mask(case))
    """
    from earwitness.cli.labelled import audited
    from earwitness.graph.exports import write_graph
    from earwitness.reports.graphfile import graph_of
    from earwitness.reports.lookup import find_trace
    from earwitness.reports.shown import Shown

    if (kind == "value") != (value is not None):
        raise click.UsageError("--kind value and --value NAME belong together")
    with audited(case_path) as case:
        shown, number = Shown(case, reveal=reveal), find_trace(case, trace)
        graph = graph_of(shown, number, kind, _values(case, number, value) if value else ())
        write_graph(graph, output, form, shown.mask)
    told = f"{graph.number_of_nodes():,} nodes, {graph.number_of_edges():,} edges"
    click.echo(f"{output}: {told}" + (" (REVEALED)" if reveal else ""))


def _values(case: "Case", trace: int, word: str) -> list[int]:
    """Numbers of the value of that name; an attribute means the one that stands in the trace.

    Raises:
        CaseError: no value has the name, or several of the trace have.
    """
    from earwitness.reports.lookup import find_values, only_in

    return only_in(case, trace, find_values(case, word, many=True))
