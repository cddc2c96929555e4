"""`earwitness audit`."""

import sys
from pathlib import Path
from typing import Any

import click

from earwitness.cli import FINDINGS
from earwitness.cli.cells import ATTRIBUTES, manifests, set_attributes
from earwitness.cli.common import JOBS, MAP, PATH, load, new_case, print_json, watching
from earwitness.cli.tiers import tier_options, tiers_of
from earwitness.schema.errors import CaseError


@click.command("audit")
@click.argument("traces", nargs=-1, type=PATH)
@click.option("--policy", type=PATH, help="Policy file (YAML): who may learn what.")
@click.option("--values", type=PATH, help="Vault file with the protected values (CSV, JSONL, Parquet).")
@click.option(
    "--rules",
    type=click.Choice(["default", "literal"]),
    default="default",
    show_default=True,
    help="How values are matched.",
)
@click.option(
    "--case", "case_path", type=PATH, help="Keep the case in this DuckDB file; without TRACES, judge it again."
)
@MAP
@ATTRIBUTES
@JOBS
@tier_options
@click.option("-o", "--output", type=PATH, help="Folder for report.html, report.json and case.duckdb.")
@click.option("--replace", is_flag=True, help="Write over an existing case.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option(
    "--baseline",
    type=PATH,
    help="Case of baseline runs: agents that are not in the one of the scenario are introduced.",
)
@click.option("--labels", type=click.Choice(["compare"]), help="Compare findings with labels inside the files.")
@click.option("--fidelity", is_flag=True, help="Measure whether values are told on as they are.")
@click.option("--reveal", is_flag=True, help="Show protected values in clear; the output is stamped.")
def command(
    traces: tuple[Path, ...],
    case_path: Path | None,
    output: Path | None,
    replace: bool,
    **asked: Any,
) -> None:
    """Audit traces: import, detect, decide, graph, measure, report.

    TRACES are files, folders or archives in any supported format. The exit code is 1 if anything was
    disclosed to someone who may not know it.

    \b
    Examples:
      earwitness audit runs/ --policy policy.yaml -o out/
      earwitness audit traces.tar.xz --rules literal --labels compare --json
      earwitness audit --case out/case.duckdb --policy stricter.yaml

    \b
    In Python:
      Loader(case).load([Path("runs")]); audit(case, Request(policy=...)); summary(case)
    """
    found = _reaudit(case_path, output, asked) if not traces else _fresh(traces, case_path, output, replace, asked)
    click.get_current_context().exit(FINDINGS if found else 0)


def _fresh(
    traces: tuple[Path, ...], case_path: Path | None, output: Path | None, replace: bool, asked: dict[str, Any]
) -> bool:
    request, tables = _request(asked), manifests(asked["attributes"])
    if output:
        output.mkdir(parents=True, exist_ok=True)
    place = case_path or (output / "case.duckdb" if output else None)
    with watching(quiet=asked["as_json"]) as progress:

        def fill(case: Any) -> None:
            load(case, traces, progress, asked["mapping"], asked["jobs"])
            set_attributes(case, tables)

        with new_case(place, fill, replace=replace or case_path is None) as case:
            return _judge(case, request, output, asked, progress, kept=place is not None)


def _reaudit(case_path: Path | None, output: Path | None, asked: dict[str, Any]) -> bool:
    from earwitness.schema.case import Case

    if case_path is None:
        raise click.UsageError("give TRACES to audit, or --case FILE to judge a case again")
    request, tables = _request(asked), manifests(asked["attributes"])
    with Case(case_path, create=False) as case, watching(quiet=asked["as_json"]) as progress:
        if not case.count("traces"):
            raise CaseError(
                f"{case_path}: holds no traces; import some with `earwitness import TRACES --case ... --replace`"
            )
        set_attributes(case, tables)
        return _judge(case, request, output, asked, progress, kept=True)


def _request(asked: dict[str, Any]) -> Any:
    """Policy and values are read before the traces: a mistake in them should not cost an import."""
    from dataclasses import replace

    from earwitness.audit.pipeline import read_request
    from earwitness.audit.rulesets import RULE_SETS

    request = read_request(asked["policy"], asked["values"], RULE_SETS[asked["rules"]], tiers_of(asked))
    return replace(request, fidelity=asked["fidelity"])


def _judge(case: Any, request: Any, output: Path | None, asked: dict[str, Any], progress: Any, *, kept: bool) -> bool:
    from dataclasses import replace

    from earwitness.audit.pipeline import audit
    from earwitness.reports.summary import has_findings, summary

    if asked["baseline"]:
        _place(case, asked["baseline"])
    audit(case, replace(request, progress=progress))
    report = summary(case, labels=asked["labels"] == "compare", reveal=asked["reveal"])
    report["case"] = report["case"] if kept else None
    if output:
        write_reports(case, report, output)
    show(report, as_json=asked["as_json"], output=output)
    return has_findings(case)


def _place(case: Any, baseline: Path) -> None:
    """Tell introduced agents by a baseline, and say so."""
    from earwitness.graph.baseline import introduce_from_baseline
    from earwitness.schema.case import Case

    with Case(baseline, create=False, read_only=True) as before:
        placed = introduce_from_baseline(case, before)
    click.echo(
        f"baseline: {placed.original:,} agents original, {placed.introduced:,} introduced, "
        f"{placed.unknown_traces:,} traces with agents of unknown position",
        err=True,
    )


def write_reports(case: Any, report: dict[str, Any], output: Path) -> None:
    """The page and the object, into a folder."""
    import msgspec

    from earwitness.reports.html import write_page

    output.mkdir(parents=True, exist_ok=True)
    write_page(case, report, output / "report.html")
    (output / "report.json").write_bytes(msgspec.json.encode(report, enc_hook=str) + b"\n")


def show(report: dict[str, Any], *, as_json: bool, output: Path | None) -> None:
    """Print a report, as JSON or as tables."""
    if as_json:
        print_json(report)
        return
    from rich.console import Console

    from earwitness.reports.terminal import print_audit

    console = Console(width=None if sys.stdout.isatty() else 100)
    print_audit(console, report)
    if output:
        console.print(f"report: {output / 'report.html'}")
