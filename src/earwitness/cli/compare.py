"""`earwitness compare`."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from earwitness.cli.common import PATH
from earwitness.cli.investigating import JSON, REVEAL, tell
from earwitness.schema.errors import CaseError

if TYPE_CHECKING:
    from earwitness.reports.compare import Told
    from earwitness.schema.case import Case

_BASELINE = click.option("--baseline", type=PATH, help="File of accepted exposures (`earwitness baseline write`).")


@click.command("compare")
@click.argument("left", metavar="A", type=PATH)
@click.argument("right", metavar="[B]", type=PATH, required=False)
@click.option("--by", metavar="COLUMN", help="Compare the runs of A by framework, model, topology, run, arm, ...")
@click.option("--reference", metavar="NAME", help="With --by: the group the others are held against; else the first.")
@_BASELINE
@click.option("--measure", "measures", multiple=True, metavar="NAME", help="Only this measure; may be given again.")
@click.option("--unpaired", is_flag=True, help="Take the sides as independent, whatever runs have partners.")
@click.option(
    "--fail-on",
    type=click.Choice(["never", "new", "worse", "any"]),
    help="When to exit with 1.  [default: new; never with --by]",
)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Rows of each table.")
@click.option("--markdown", "markdown_path", type=PATH, help="Also write Markdown to this file.")
@JSON
@REVEAL
def command(left: Path, right: Path | None, as_json: bool, limit: int, **asked: Any) -> None:
    """Hold two audited cases against each other, or the runs of one: rates, and exposures new, gone or moved.

    A is what was, B what is. Runs are paired by scenario, else by id. The exit code is 1 if something unauthorised is
    new in B.

    \b
    Examples:
      earwitness compare main.duckdb branch.duckdb --markdown comment.md
      earwitness compare main.duckdb branch.duckdb --fail-on worse
      earwitness compare runs.duckdb --by model --reference gpt-4o
      earwitness compare runs.duckdb --baseline accepted.json

    \b
    In Python:
      side = read_side(case, "A", key); compare([Told(side, Shown(case)), ...], Asked())
    """
    from earwitness.reports.compare import has_findings
    from earwitness.reports.compare_markdown import markdown
    from earwitness.reports.compare_text import print_compare

    if sum((right is not None, asked["by"] is not None)) > 1:
        raise click.UsageError("give a second case or --by, not both")
    if asked["by"] and asked["baseline"]:
        raise click.UsageError("a baseline is held against one case or two, not against the groups of --by")
    if asked["by"] == "policy":
        raise click.UsageError(
            "`earwitness policy diff OLD NEW --case A` judges one case by two policies; or compare two"
        )
    with ExitStack() as stack:
        report = _report(stack, left, right, asked)
    if asked["markdown_path"]:
        asked["markdown_path"].write_text(markdown(report, limit), encoding="utf-8")
    found = has_findings(report, asked["fail_on"] or ("never" if asked["by"] else "new"))
    tell(report, lambda console, told: print_compare(console, told, limit), as_json=as_json, found=found)


def _report(stack: ExitStack, left: Path, right: Path | None, asked: dict[str, Any]) -> dict[str, Any]:
    from datetime import UTC, datetime

    from earwitness.audit.compare.baselines import read_baseline
    from earwitness.reports.compare import Asked, accepted, compare

    baseline = (asked["baseline"], read_baseline(asked["baseline"])) if asked["baseline"] else None
    how = Asked(not asked["unpaired"], asked["by"], asked["reference"], baseline, datetime.now(UTC).date())
    if asked["by"]:
        told, silent = _groups(stack, left, asked)
        return compare(told, how, silent)
    if right is None and baseline is None:
        raise click.UsageError("name a second case, or give --by COLUMN or --baseline FILE")
    paths = [left] if right is None else [left, right]
    told = _told(stack, paths, asked)
    return accepted(told[0], asked["baseline"], how) if right is None else compare(told, how)


def _told(stack: ExitStack, paths: list[Path], asked: dict[str, Any]) -> "list[Told]":
    from secrets import token_hex

    from earwitness.audit.compare.sides import RUN, read_side
    from earwitness.audit.measure import named
    from earwitness.reports.compare import Told
    from earwitness.reports.shown import Shown

    key, measures = token_hex(16), named(asked["measures"]) if asked["measures"] else ()
    cases = [_open(stack, path) for path in paths]
    names = _names(paths)
    return [
        Told(read_side(case, name, key, asked["by"] or RUN, measures), Shown(case, reveal=asked["reveal"]))
        for case, name in zip(cases, names, strict=True)
    ]


def _names(paths: list[Path]) -> list[str]:
    """Names of files; where they are the same, whole paths; where these are the same too, their place."""
    for names in ([p.stem for p in paths], [str(p) for p in paths]):
        if len(set(names)) == len(names):
            return names
    return [f"{p} ({place})" for p, place in zip(paths, "AB", strict=True)]


def _groups(stack: ExitStack, path: Path, asked: dict[str, Any]) -> "tuple[list[Told], int]":
    """The groups of one case, the reference first."""
    from earwitness.audit.compare.sides import split
    from earwitness.reports.compare import Told

    (one,) = _told(stack, [path], asked)
    sides, silent = split(one.side, asked["by"])
    names = [s.name for s in sides]
    first = asked["reference"]
    if first is not None and first not in names:
        raise click.BadParameter(f"no group {first!r}; there are {', '.join(names)}", param_hint="--reference")
    sides.sort(key=lambda s: s.name != (first or names[0]))
    return [Told(side, one.shown) for side in sides], silent


def _open(stack: ExitStack, path: Path) -> "Case":
    """An audited case, which is not written to.

    Raises:
        CaseError: it has not been audited.
    """
    from earwitness.schema.case import Case

    case = stack.enter_context(Case(path, create=False, read_only=True))
    if not case.count("rulings"):
        raise CaseError(f"{path}: has not been audited; run `earwitness audit --case {path}`")
    return case
