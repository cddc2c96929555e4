"""The `earwitness` command. Commands are thin: open, call one library function, print.

Exit codes: 0 clean, 1 findings, 2 bad input.
"""

import sys
from importlib import import_module

import click

from earwitness import __version__

FINDINGS, BAD_INPUT, INTERRUPTED = 1, 2, 130

_COMMANDS = {
    "audit": "earwitness.cli.audit",
    "baseline": "earwitness.cli.baseline",
    "calibrate": "earwitness.cli.calibrate",
    "compare": "earwitness.cli.compare",
    "demo": "earwitness.cli.demo",
    "distinguish": "earwitness.cli.distinguish",
    "dossier": "earwitness.cli.dossier",
    "evaluate": "earwitness.cli.evaluate",
    "export": "earwitness.cli.export",
    "exposure": "earwitness.cli.exposure",
    "graph": "earwitness.cli.graph",
    "guards": "earwitness.cli.guards",
    "import": "earwitness.cli.imports",
    "inspect": "earwitness.cli.inspect",
    "judge": "earwitness.cli.judge",
    "label": "earwitness.cli.label",
    "map": "earwitness.cli.map",
    "measures": "earwitness.cli.measures",
    "paths": "earwitness.cli.paths",
    "policy": "earwitness.cli.policy",
    "reconstruct": "earwitness.cli.reconstruct",
    "replay": "earwitness.cli.replay",
    "report": "earwitness.cli.report",
    "schema": "earwitness.cli.schema",
    "subject": "earwitness.cli.subject",
    "topology": "earwitness.cli.topology",
    "what-if": "earwitness.cli.whatif",
}


class LazyGroup(click.Group):
    """Imports a command only when it is asked for, so that starting costs little."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        module = _COMMANDS.get(cmd_name)
        command = import_module(module).command if module else None
        return command if isinstance(command, click.Command) else None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="earwitness")
def cli() -> None:
    """Who learned which protected value, by which path, and was it allowed?

    Earwitness reads recorded traces of multi-agent LLM systems, offline, and reports with evidence.

    Exit codes: 0 clean, 1 findings, 2 bad input.
    """


def main() -> None:
    """Run the command line; every error a user can mend ends in one line on stderr and exit code 2."""
    from earwitness.cli.errors import guarded

    sys.exit(guarded(cli))
