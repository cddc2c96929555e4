"""`earwitness reconstruct`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from earwitness.cli.common import PATH, watching
from earwitness.cli.investigating import CASE, JSON, REVEAL, tell

if TYPE_CHECKING:
    from earwitness.schema.case import Case

_AUDITOR = click.option("--auditor", required=True, help="Who decides.")
_SHARE = click.FloatRange(0, 1, min_open=True)


@click.group("reconstruct")
def command() -> None:
    """Could a value be put together from texts none of which discloses it?

    Three axes: one event alone (inference), two events on different channels, the views of two agents. Eligible
    instances are counted exactly; what scores high goes to a person, and only what a person accepts is confirmed.
    """


@command.command("find")
@CASE
@click.option(
    "--method",
    type=click.Choice(["containment", "static", "minilm"]),
    default="containment",
    show_default=True,
    help="How texts and contextual values are compared.",
)
@click.option("--threshold", type=_SHARE, help="Least score of a contextual value.  [default: the method's]")
@click.option("--exact", type=_SHARE, default=1.0, show_default=True, help="Least share of any other value's weight.")
@click.option("--judge", metavar="URL", help="OpenAI-compatible endpoint that is asked about the candidates.")
@click.option("--judge-model", metavar="NAME", help="Model of the judge; without --judge, verdicts at hand are used.")
@click.option("--judge-threshold", type=click.FloatRange(0, 1), default=0.5, show_default=True)
@click.option("--judge-calls", type=click.IntRange(min=1), metavar="N", help="Ask at most so often.")
@JSON
def find_(case_path: Path, as_json: bool, **asked: Any) -> None:
    """Count what is eligible, score it, and keep the candidates for an audit. Earlier decisions stay.

    \b
    Example:
      earwitness reconstruct find --case runs.duckdb

    \b
    In Python:
      find(case, SearchOptions())
    """
    from earwitness.audit.reconstruction.find import find
    from earwitness.cli.labelled import audited

    judge, options = _judge(asked), _options(asked)
    with audited(case_path) as case:
        with watching(quiet=as_json) as progress:
            find(case, options(progress))
            if judge:
                from earwitness.audit.reconstruction.judged import judge as ask

                ask(case, judge(progress))
        _report(case, as_json=as_json)


def _options(asked: dict[str, Any]) -> Any:
    from functools import partial

    from earwitness.audit.reconstruction.find import SearchOptions

    chosen = {name: asked[name] for name in ("method", "threshold", "exact")}
    return lambda progress: partial(SearchOptions, **chosen)(progress=progress)


def _judge(asked: dict[str, Any]) -> Any:
    """What makes the options of the judge, or None where none was asked for.

    Raises:
        click.UsageError: a judge without a model.
    """
    if asked["judge"] is None and asked["judge_model"] is None:
        return None
    if asked["judge_model"] is None:
        raise click.UsageError("--judge needs --judge-model NAME: the model as the endpoint knows it")
    from earwitness.audit.judge.options import JudgeOptions

    chosen = {"threshold": asked["judge_threshold"], "max_calls": asked["judge_calls"]}
    return lambda progress: JudgeOptions(asked["judge"], asked["judge_model"], progress=progress, **chosen)


@command.command("queue")
@CASE
@_AUDITOR
@click.option("--n", "number", type=click.IntRange(1), help="At most so many, the likeliest of each axis.")
@click.option("--out", type=PATH, required=True, help="File to write (JSONL).")
@REVEAL
def queue(case_path: Path, auditor: str, number: int | None, out: Path, reveal: bool) -> None:
    """Write the candidates that an auditor has not decided on to a file, to be filled in.

    Values are hidden; who has to compare meanings needs --reveal. Scores are not shown.

    \b
    Example:
      earwitness reconstruct queue --case runs.duckdb --auditor ana --out audit.jsonl --reveal

    \b
    In Python:
      cards(Shown(case), waiting(case, "ana"))
    """
    from earwitness.audit.reconstruction.decisions import waiting
    from earwitness.cli.labelled import audited
    from earwitness.reports.labelling import write_cards
    from earwitness.reports.reconstruction import cards
    from earwitness.reports.shown import Shown

    with audited(case_path) as case:
        every, drawn = waiting(case, auditor), waiting(case, auditor, number)
        write_cards(out, cards(Shown(case, reveal=reveal), drawn))
    click.echo(f"{out}: {len(drawn):,} of {len(every):,} candidates to decide on" + (" (REVEALED)" if reveal else ""))


@command.command("import")
@click.argument("file", type=PATH)
@_AUDITOR
@CASE
def take(file: Path, auditor: str, case_path: Path) -> None:
    """Put the decisions of a filled-in file on record: `decision` is accept or reject, with a `reason`.

    \b
    Example:
      earwitness reconstruct import audit.jsonl --auditor ana --case runs.duckdb

    \b
    In Python:
      record(case, "ana", read_decisions(case, Path("audit.jsonl")))
    """
    from earwitness.audit.reconstruction.decisions import read_decisions, record, waiting
    from earwitness.cli.labelled import audited

    with audited(case_path) as case:
        n = record(case, auditor, read_decisions(case, file))
        click.echo(f"{n:,} decisions on record; {len(waiting(case, auditor)):,} candidates are still to decide on")


@command.command("decide")
@click.argument("item")
@click.argument("decision", type=click.Choice(["accept", "reject"]))
@click.option("--reason", required=True, help="Why.")
@_AUDITOR
@CASE
def decide(item: str, decision: str, reason: str, auditor: str, case_path: Path) -> None:
    """Decide on one candidate.

    \b
    Example:
      earwitness reconstruct decide 3f2a9c01d4e5 reject --reason "another person's" --auditor ana --case runs.duckdb

    \b
    In Python:
      record(case, "ana", [Decided(item, "reject", "another person's")])
    """
    from earwitness.audit.reconstruction.decisions import checked, record, waiting
    from earwitness.cli.labelled import audited

    with audited(case_path) as case:
        left = waiting(case, auditor)
        known = {row[0] for row in case.rows("SELECT item FROM candidates")}
        record(case, auditor, [checked(known, item, decision, reason, "reconstruct decide")])
        click.echo(f"on record; {len(set(left) - {item}):,} candidates are still to decide on")


@command.command("report")
@CASE
@JSON
def report(case_path: Path, as_json: bool) -> None:
    """Tell eligible, positive, audited and confirmed instances of each axis. The exit code is 1 if any is confirmed.

    \b
    Example:
      earwitness reconstruct report --case runs.duckdb

    \b
    In Python:
      reconstruction(Shown(case)); tally(case)
    """
    from earwitness.cli.labelled import audited

    with audited(case_path) as case:
        _report(case, as_json=as_json)


def _report(case: "Case", *, as_json: bool) -> None:
    from earwitness.reports.reconstruction import has_findings, print_reconstruction, reconstruction
    from earwitness.reports.shown import Shown

    told = reconstruction(Shown(case))
    tell(told, print_reconstruction, as_json=as_json, found=has_findings(told))
