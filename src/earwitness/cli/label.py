"""`earwitness label`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from earwitness.cli.common import PATH

if TYPE_CHECKING:
    from earwitness.schema.case import Case

_CASE = click.option("--case", "case_path", type=PATH, required=True, help="An audited case.")
_ANNOTATOR = click.option("--annotator", required=True, help="Who labels.")
_REVEAL = click.option("--reveal", is_flag=True, help="Show texts and protected values in clear.")
_BATCH = 25
_KEYS = {"l": "leak", "n": "no-leak", "u": "unsure"}


@click.group("label")
def command() -> None:
    """Label findings by hand: draw, annotate twice, adjudicate.

    A label says whether the text discloses the value, whoever may know it. Two people label independently; on what
    they see differently somebody decides.
    """


@command.command("queue")
@_CASE
@click.option("--n", "number", type=click.IntRange(1), default=300, show_default=True, help="Pairs to draw.")
@click.option("--out", type=PATH, required=True, help="File to write (JSONL).")
@click.option("--seed", default="1", show_default=True, help="The same seed draws the same pairs.")
@_REVEAL
def queue(case_path: Path, number: int, out: Path, seed: str, reveal: bool) -> None:
    """Draw pairs of event and value evenly over strata, channels and value types, and write them to a file.

    Values are hidden; annotators who must compare meanings need --reveal.

    \b
    Example:
      earwitness label queue --case runs.duckdb --n 300 --out queue.jsonl

    \b
    In Python:
      draw(case, 300)
    """
    from earwitness.audit.labelqueue import draw
    from earwitness.cli.labelled import audited
    from earwitness.reports.labelling import cards, write_cards

    with audited(case_path) as case:
        drawn, sizes = draw(case, number, seed)
        write_cards(out, cards(case, [d.item for d in drawn], reveal=reveal))
    told = ", ".join(f"{name} {n:,}" for name, n in sizes.items())
    click.echo(f"{out}: {len(drawn):,} pairs, drawn from {told}" + (" (REVEALED)" if reveal else ""))


@command.command("add")
@click.argument("file", type=PATH)
@_ANNOTATOR
@_CASE
def add(file: Path, annotator: str, case_path: Path) -> None:
    """Put the labels of a filled-in queue file on record: `label` is leak, no-leak or unsure.

    \b
    Example:
      earwitness label add queue.jsonl --annotator ana --case runs.duckdb

    \b
    In Python:
      record(case, "ana", read_said(case, Path("queue.jsonl")))
    """
    from earwitness.audit.annotations import read_said, record, waiting
    from earwitness.audit.labelfile import ADJUDICATED
    from earwitness.cli.labelled import audited

    if annotator == ADJUDICATED:
        raise click.UsageError("decisions are put on record by `earwitness label adjudicate`")
    with audited(case_path) as case:
        n = record(case, annotator, read_said(case, file))
        click.echo(f"{n:,} labels on record; {len(waiting(case, annotator)):,} of the queue are still to label")


@command.command("next")
@_ANNOTATOR
@_CASE
@_REVEAL
def next_(annotator: str, case_path: Path, reveal: bool) -> None:
    """Label pairs of the queue one after the other at the terminal; each answer is kept at once.

    \b
    Example:
      earwitness label next --annotator ben --case runs.duckdb --reveal

    \b
    In Python:
      waiting(case, "ben"); record(case, "ben", [Said(...)])
    """
    from earwitness.audit.annotations import waiting
    from earwitness.cli.labelled import audited

    with audited(case_path) as case:
        items = waiting(case, annotator)
        _ask(case, annotator, items, reveal=reveal)
        click.echo(f"{len(waiting(case, annotator)):,} of the queue are still to label")


@command.command("adjudicate")
@_CASE
@click.option("--decisions", type=PATH, help="File (JSONL, CSV) with `item` and `label`.")
@click.option("--ask", is_flag=True, help="Decide at the terminal.")
@click.option("--out", type=PATH, help="Write what awaits a decision to this file.")
@_REVEAL
def adjudicate(case_path: Path, decisions: Path | None, ask: bool, out: Path | None, reveal: bool) -> None:
    """Show where annotators agree, settle what they agree on, and take decisions on the rest.

    The next audit of the case follows what is settled: `leak` confirms a possible finding, `no-leak` rejects one.

    \b
    Examples:
      earwitness label adjudicate --case runs.duckdb --out open.jsonl
      earwitness label adjudicate --case runs.duckdb --decisions open.jsonl

    \b
    In Python:
      adjudicate_agreed(case); disagreements(case); agreements(case)
    """
    from earwitness.audit.annotations import adjudicate_agreed, decide, disagreements, read_said
    from earwitness.audit.labelfile import ADJUDICATED
    from earwitness.cli.labelled import audited

    with audited(case_path) as case:
        click.echo(f"{adjudicate_agreed(case):,} settled by agreement")
        if decisions:
            click.echo(f"{decide(case, read_said(case, decisions)):,} decisions on record")
        if ask:
            _ask(case, ADJUDICATED, [d.item for d in disagreements(case) if d.item], reveal=reveal)
        _tell(case)
        if out:
            _write_open(case, out, reveal=reveal)


def _ask(case: "Case", annotator: str, items: list[str], *, reveal: bool) -> None:
    """Show pairs and put the answers on record."""
    from earwitness.audit.annotations import Said, record
    from earwitness.reports.labelling import cards

    pairs = {r[0]: r for r in case.rows("SELECT item, trace, event, attribute, fingerprint FROM queue")}
    for n, item in enumerate(items):
        # What hides values is made anew for each batch: that takes longer than hiding them.
        if n % _BATCH == 0:
            batch = {card["item"]: card for card in cards(case, items[n : n + _BATCH], reveal=reveal)}
        _show(batch[item], n + 1, len(items))
        answer = click.prompt("[l]eak, [n]o leak, [u]nsure, [s]kip, [q]uit", type=click.Choice([*_KEYS, "s", "q"]))
        if answer == "q":
            break
        if answer in _KEYS:
            _, trace, event, attribute, mark = pairs[item]
            record(case, annotator, [Said(trace, event, attribute, mark, _KEYS[answer])])


def _show(card: dict[str, Any], n: int, of: int) -> None:
    value = card.get("value", "hidden; --reveal shows it")
    lines = (f"--- {n} of {of}  {card['item']}  {card['channel']}", f"{card['attribute']} (value: {value})")
    for line in (*lines, card["excerpt"]):
        click.echo("".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in str(line)))


def _tell(case: "Case") -> None:
    """Agreement of the annotators, and what awaits a decision."""
    from earwitness.audit.annotations import agreements, disagreements
    from earwitness.cli.labelled import console
    from earwitness.reports.mask import Mask
    from earwitness.reports.scores import kappa
    from earwitness.reports.text import plain

    mask, out = Mask(case), console()
    for names, found in agreements(case).items():
        for way, a in found.items():
            out.print(f"{plain(names)}, {way.replace('_', '-')}: {a.agree:,} of {a.n:,} alike, kappa {kappa(a.kappa)}")
    waiting = disagreements(case)
    out.print(f"{len(waiting):,} await a decision")
    for d in waiting[:20]:
        said = ", ".join(f"{who}: {label}" for who, label in d.labels.items())
        out.print(f"  {d.item or '-'}  {plain(mask(d.attribute))} #{d.fingerprint[:8]}  {plain(said)}")


def _write_open(case: "Case", out: Path, *, reveal: bool) -> None:
    from earwitness.audit.annotations import disagreements
    from earwitness.reports.labelling import cards, write_cards

    said = {d.item: d.labels for d in disagreements(case) if d.item}
    write_cards(out, [card | {"said": said[card["item"]]} for card in cards(case, list(said), reveal=reveal)])
    click.echo(f"{out}: {len(said):,} pairs to decide on; fill in `label`")
