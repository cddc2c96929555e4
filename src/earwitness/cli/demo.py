"""`earwitness demo`."""

from pathlib import Path

import click

from earwitness.cli.common import PATH, load, new_case, watching
from earwitness.schema.errors import InputError


@click.command("demo")
@click.option(
    "-o", "--output", type=PATH, default=Path("demo-report"), show_default=True, help="Folder for the report."
)
def command(output: Path) -> None:
    """Audit the bundled traces: one task in four topologies, with a policy beside it.

    \b
    Example:
      earwitness demo -o demo-report
    """
    from earwitness.audit.pipeline import audit, read_request
    from earwitness.audit.rulesets import DEFAULT
    from earwitness.cli.audit import show, write_reports
    from earwitness.reports.summary import summary

    bundled = bundled_traces()
    output.mkdir(parents=True, exist_ok=True)
    request = read_request(bundled / "policy.yaml", None, DEFAULT)
    with watching(quiet=False) as progress:
        traces = (bundled / "traces.jsonl",)
        with new_case(output / "case.duckdb", lambda case: load(case, traces, progress), replace=True) as case:
            audit(case, request)
            report = summary(case)
            write_reports(case, report, output)
            show(report, as_json=False, output=output)


def bundled_traces() -> Path:
    """The folder of the bundled corpus.

    Raises:
        InputError: this copy of the program has none.
    """
    folder = Path(__file__).parent.parent / "sample_traces" / "topologies"
    if not folder.is_dir():
        raise InputError(
            f"{folder}: the bundled traces are missing; "
            "in a checkout without symbolic links audit sample_traces/topologies"
        )
    return folder
