"""Verified rewriting: other words for a contextual value, taken only if nothing of the value is left in them.

A candidate must pass two checks: the gate, a detector that scores it below the threshold, and the backstop, which looks
for the value in every form that the measuring detector knows. After the last try the value is redacted, and why.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

from earwitness.audit.transform.options import Options
from earwitness.audit.transform.words import Outcome, Task

# How surely a text still discloses the value of a task, 0 to 1.
Gate = Callable[[str, Task], float]
_NAMED = re.compile(r"[a-z]{4,}")


class Candidate(NamedTuple):
    """Other words, or why there are none: no_rule, error or budget."""

    text: str | None
    cause: str | None = None


class Rewriter(Protocol):
    """Gives other words for a value."""

    def propose(self, shown: str, task: Task, refused: tuple[str, ...]) -> Candidate:
        """Other words for what is shown, none of those that were refused."""


def rewrite(shown: str, task: Task, options: Options, gate: Gate | None, rewriter: Rewriter | None) -> Outcome:
    """What stands for a contextual value: the first candidate that passes, else redaction.

    Args:
        shown: how the value stands in the text.
        task: the value.
        options: threshold, tries, backstop.
        gate: the detector, if there is one.
        rewriter: the local generaliser if none is given.
    """
    from earwitness.audit.transform.generaliser import Generaliser

    rewriter = rewriter or Generaliser()
    refused: tuple[str, ...] = ()
    cause = "no_rule"
    for tries in range(1, options.tries + 1):
        told = rewriter.propose(shown, task, refused)
        if told.text is None:
            # What no further candidate comes for was refused for the reason of the last one.
            return Outcome(
                "", "redact", cause=cause if refused and told.cause == "no_rule" else told.cause, tries=tries
            )
        fault = check(told.text, shown, task, options, gate)
        if fault is None:
            return Outcome(told.text, "rewrite", tries=tries)
        refused, cause = (*refused, told.text), fault
    return Outcome("", "redact", cause=cause, tries=options.tries)


def check(text: str, shown: str, task: Task, options: Options, gate: Gate | None) -> str | None:
    """Why a candidate is refused: gate or backstop; None if it is not."""
    if gate is not None and not gate(text, task) < options.threshold:
        return "gate"
    if options.backstop and (names(text, task.attribute) or remains(text, shown, task)):
        return "backstop"
    return None


def remains(text: str, shown: str, task: Task) -> bool:
    """Whether a text holds the value, or what stood for it, in any form that the measuring detector knows."""
    import polars as pl
    import pyarrow as pa

    from earwitness.audit.forms.finder import Finder
    from earwitness.audit.forms.needles import Needles
    from earwitness.audit.match_forms import find

    value = [task.canonical or shown]
    row = {"value": [0], "attribute": [task.attribute or ""], "text": value, "aliases": [[shown]]}
    safe = text.encode("utf-8", "replace").decode()
    needles = Needles(
        pl.DataFrame(row, {"value": pl.Int64, "attribute": pl.String, "text": pl.String, "aliases": pl.List(pl.String)})
    )
    found = find(Finder(needles), pa.array([safe], pa.large_string())) if needles.needles else None
    return found is not None and not found.is_empty()


def names(text: str, attribute: str | None) -> bool:
    """Whether a text names the attribute: all words of its name, those of four letters or more."""
    words = set(_NAMED.findall((attribute or "").lower()))
    return bool(words) and words <= set(_NAMED.findall(text.lower()))
