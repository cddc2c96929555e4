"""`earwitness inspect`."""

import sys
from pathlib import Path
from typing import Any

import click

from earwitness.cli import BAD_INPUT
from earwitness.cli.common import JOBS, MAP, PATH, loader, print_json, scratch_case, watching


@click.command("inspect")
@click.argument("files", nargs=-1, required=True, type=PATH)
@MAP
@JOBS
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line for each file.")
@click.pass_context
def command(ctx: click.Context, files: tuple[Path, ...], mapping: Path | None, jobs: int | None, as_json: bool) -> None:
    """Say what files hold: container, formats, actors, channels, and the outcome of every record. Never content.

    \b
    Examples:
      earwitness inspect traces.jsonl
      earwitness inspect --json runs/ more.tar.gz

    \b
    In Python:
      Loader(case).load([Path("traces.jsonl")]); list(inspect(case))
    """
    from earwitness.reports.inspection import inspect

    with scratch_case() as case, watching(quiet=as_json) as progress:
        loader(case, progress, mapping, jobs).load(list(files))
        found = list(inspect(case))
    for report in found:
        print_json(report) if as_json else _print(report)
    ctx.exit(0 if any(r["outcomes"].get("mapped") for r in found) else BAD_INPUT)


def _print(report: dict[str, Any]) -> None:
    from rich.console import Console

    from earwitness.reports.linked import sentence
    from earwitness.reports.text import plain

    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    console.print(f"[bold]{plain(report['file'])}[/bold]")
    lines = {
        "container": report["container"] + (f" ({report['members']:,} members)" if report["members"] else ""),
        "formats": ", ".join(report["dialects"]) or "none known",
        "records": f"{report['records']:,}: " + _counts(report["outcomes"]),
        "not mapped": _counts(report["not_mapped"]),
        "events": f"{report['events']:,}: " + _counts(report["channels"]),
        "sightings": f"{report['sightings']:,}",
        "recipients": _counts(report["recipients"]),
        "actors": _actors(report["actors"]),
        "losses": _counts(report["losses"]),
        "traces": sentence(report["links"]),
        "problems": "; ".join(report["problems"]),
    }
    for name, text in lines.items():
        if text.strip(": "):
            console.print(f"  {name:<11} {plain(text)}")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counts.items() if n)


def _actors(actors: list[dict[str, Any]]) -> str:
    """Names grouped by the evidence that gave them."""
    rungs: dict[str, list[str]] = {}
    for actor in actors:
        rungs.setdefault(actor["evidence"] or "unknown", []).append(f"{actor['actor']} ({actor['kind']})")
    return "; ".join(
        f"by {rung}: {', '.join(names[:12])}{' ...' if len(names) > 12 else ''}" for rung, names in rungs.items()
    )
