"""What the commands that work with labels share."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from earwitness.schema.errors import CaseError

if TYPE_CHECKING:
    from rich.console import Console

    from earwitness.schema.case import Case


@contextmanager
def audited(path: Path) -> Iterator["Case"]:
    """An audited case.

    Raises:
        CaseError: it has not been audited.
    """
    from earwitness.schema.case import Case

    with Case(path, create=False) as case:
        if not case.count("rulings"):
            raise CaseError(f"{path}: has not been audited; run `earwitness audit --case {path}`")
        yield case


def source(labels: str) -> Path | str:
    """Where labels come from: a word of ours, or a file."""
    from earwitness.audit.labelfile import ADJUDICATED, INSIDE

    return labels if labels in (INSIDE, ADJUDICATED) else Path(labels)


def console() -> "Console":
    """A console as wide as the terminal, or 100 columns."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 100)
