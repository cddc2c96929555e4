"""`earwitness measures`."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from earwitness.cli.common import PATH, print_json
from earwitness.cli.investigating import JSON, REVEAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from earwitness.audit.measures.base import Measure
    from earwitness.audit.stability import Stability
    from earwitness.schema.case import Case


@click.command("measures")
@click.argument("case_path", metavar="CASE", type=PATH)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--by",
    multiple=True,
    help="Count by this cell instead: arm, framework, model, topology, adversary, domain, scenario, horizon, pair, "
    "repeat, attributes.KEY; for some measures channel, value_type, attribute. May be given several times.",
)
@click.option("--corpus", help="Rank groups: the cell that tells repeated corpora apart, such as repeat.")
@click.option("--against", type=PATH, multiple=True, help="Rank groups: a case of the same runs made again.")
@click.option("--explain", is_flag=True, help="Print formula, source and the SQL that made each figure.")
@JSON
@REVEAL
def command(
    case_path: Path,
    names: tuple[str, ...],
    by: tuple[str, ...],
    corpus: str | None,
    against: tuple[Path, ...],
    explain: bool,
    as_json: bool,
    reveal: bool,
) -> None:
    """Count every measure, or those named, over an audited case; each with n and interval.

    The case is read only. Beside the figures of the audit stand those that are counted on demand: by channel, type,
    attribute and field of work, by turn and horizon, by archetype, relays, repeated runs; and tests over paired runs.

    \b
    Examples:
      earwitness measures out/case.duckdb
      earwitness measures out/case.duckdb new_agent_disclosure --by model --by topology
      earwitness measures out/case.duckdb channel_leakage --explain
      earwitness measures out/case.duckdb filtered_leakage --by framework --against out/again.duckdb

    \b
    In Python:
      figures(case, named(["any_leakage"]), by=["model"])
    """
    from earwitness.audit.measure import figures, named
    from earwitness.audit.measures.base import fits
    from earwitness.reports.measures import measures, print_measures
    from earwitness.reports.shown import Shown

    with ExitStack() as stack:
        cases = {str(path): _opened(stack, path) for path in (case_path, *against)}
        asked = [m for m in named(names) if names or fits(m, by)]
        case = cases[str(case_path)]
        ranks = _ranks(cases, asked, corpus, by)
        report = measures(Shown(case, reveal=reveal), asked, figures(case, asked, by), ranks)
    if as_json:
        print_json(report)
        return
    from earwitness.cli.labelled import console

    print_measures(console(), report, explain=explain)


def _opened(stack: ExitStack, path: Path) -> "Case":
    """An audited case, for reading."""
    from earwitness.schema.case import Case
    from earwitness.schema.errors import CaseError

    case = stack.enter_context(Case(path, create=False, read_only=True))
    if not case.count("rulings"):
        raise CaseError(f"{path}: has not been audited; run `earwitness audit --case {path}`")
    return case


def _ranks(
    cases: "dict[str, Case]", asked: "Sequence[Measure]", corpus: str | None, by: tuple[str, ...]
) -> "list[tuple[str, Stability]]":
    """The groups of every share, ranked over the other cases or over the corpora inside the one."""
    from earwitness.audit.stability import between, within

    shares = [m for m in asked if m.kind == "share"]
    if len(cases) > 1:
        return [(m.name, between(cases, m, by)) for m in shares]
    return [(m.name, within(case, m, corpus, by)) for case in cases.values() for m in shares if corpus]
