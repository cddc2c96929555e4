"""What the commands that investigate a case share."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from earwitness.cli import FINDINGS
from earwitness.cli.common import PATH, print_json

if TYPE_CHECKING:
    from rich.console import Console

CASE = click.option("--case", "case_path", type=PATH, required=True, help="An audited case.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
REVEAL = click.option("--reveal", is_flag=True, help="Show protected values in clear; the output is stamped.")


def tell(
    report: dict[str, Any], show: "Callable[[Console, dict[str, Any]], None]", *, as_json: bool, found: bool
) -> None:
    """Print a report and leave with 1 if it has findings."""
    if as_json:
        print_json(report)
    else:
        from rich.console import Console

        # Names come from traces: `:bomb:` stays what it is.
        console = Console(width=None if sys.stdout.isatty() else 100, highlight=False, emoji=False)
        show(console, report)
    click.get_current_context().exit(FINDINGS if found else 0)


def ask(what: str) -> str:
    """What should not stand in the history of a shell: from a prompt that shows nothing, or a line of stdin."""
    if sys.stdin.isatty():
        return str(click.prompt(what, hide_input=True, err=True))
    return sys.stdin.buffer.readline().decode("utf-8", "replace").rstrip("\r\n")
