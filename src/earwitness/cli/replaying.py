"""What the commands that replay share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from earwitness.audit.replay.condition import Setting

F = TypeVar("F", bound=Callable[..., Any])

MODE = click.option(
    "--mode",
    type=click.Choice(["independent", "propagate"]),
    default="independent",
    show_default=True,
    help="Each event by itself, or with what was sanitized not passed on.",
)


def recipients(default: str, *others: str) -> Callable[[F], F]:
    """The option that says in which settings: `default`, or one of the others; `both` is each in turn."""
    return click.option(
        "--recipients",
        "setting",
        type=click.Choice([name for name in ("paper", "extended", "both") if name in (default, *others)]),
        default=default,
        show_default=True,
        help="Which recipients count as known.",
    )


def settings_of(setting: str) -> "tuple[Setting, ...]":
    """The settings that a choice stands for."""
    from earwitness.audit.replay.condition import SETTINGS

    return tuple(s for s in SETTINGS if setting in (s, "both"))
