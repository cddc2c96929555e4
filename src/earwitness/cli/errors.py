"""The one place where errors become messages."""

import os
import sys

import click

from earwitness.cli import BAD_INPUT, INTERRUPTED
from earwitness.schema.errors import EarwitnessError


def guarded(command: click.Command) -> int:
    """Run a command and give its exit code."""
    try:
        return int(command.main(standalone_mode=False) or 0)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        return _say("interrupted; the case is as it was before this command", INTERRUPTED)
    except EarwitnessError as error:
        return _say(str(error), BAD_INPUT)
    except BrokenPipeError:
        # The reader of our output went away; that is its right.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _say(f"{error.filename or 'output'}: {error.strerror or type(error).__name__}", BAD_INPUT)


def _say(message: str, code: int) -> int:
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in message)
    click.echo(f"earwitness: {shown}", err=True)
    return code
