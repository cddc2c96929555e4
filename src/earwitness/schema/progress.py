"""How long work tells how far it is."""

from collections.abc import Callable

# Told what is being done and how many bytes or rows of it are done.
Progress = Callable[[str, int], None]


def silent(what: str, done: int) -> None:
    """Progress nobody watches."""
