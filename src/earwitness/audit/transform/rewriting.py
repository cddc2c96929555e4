"""Verified rewriting: other words for a contextual value, taken only if nothing of the value is left in them.

A candidate must pass two checks: the gate, a detector that scores it below the threshold, and the backstop, which looks
for the value in every form that the measuring detector knows. After the last try the value is redacted, and why.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, Protocol

from earwitness.audit.transform.options import Options
from earwitness.audit.transform.words import Outcome, Task

# How surely a text still discloses the value of a task, 0 to 1.
Score = Callable[[str, Task], float]
_NAMED = re.compile(r"[a-z]{4,}")
# Values, and texts, whose letters and digits are kept: the same few rewritings are offered for many values.
_KNOWN = 4096


class Candidate(NamedTuple):
    """Other words, or why there are none: no_rule, malformed, error or budget."""

    text: str | None
    cause: str | None = None


class Gate(Protocol):
    """A detector as a gate.

    Attributes:
        name: what tells what it let through from what another did.
    """

    name: str

    def __call__(self, text: str, task: Task, /) -> float:
        """The score of a text."""


class Rewriter(Protocol):
    """Gives other words for a value.

    Attributes:
        name: what tells its answers from those of another.
    """

    name: str

    def propose(self, shown: str, task: Task, refused: tuple[str, ...]) -> Candidate:
        """Other words for what is shown, none of those that were refused."""


def rewrite(shown: str, task: Task, options: Options, gate: Score | None, rewriter: Rewriter) -> Outcome:
    """What stands for a contextual value: the first candidate that passes, else redaction.

    Args:
        shown: how the value stands in the text.
        task: the value.
        options: threshold, tries, backstop.
        gate: the detector, if there is one.
        rewriter: what gives candidates.
    """
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


def check(text: str, shown: str, task: Task, options: Options, gate: Score | None) -> str | None:
    """Why a candidate is refused: gate or backstop; None if it is not."""
    if gate is not None and not gate(text, task) < options.threshold:
        return "gate"
    if options.backstop and (names(text, task.attribute) or remains(text, shown, task)):
        return "backstop"
    return None


def remains(text: str, shown: str, task: Task) -> bool:
    """Whether a text holds the value, or what stood for it, in any form that the measuring detector knows.

    No form is met where its letters and digits do not stand in the text, or in what is hidden in it, one after another:
    that is asked first, as the detector takes many times longer to set up than such a text takes to read.
    """
    value, attribute = task.canonical or shown, task.attribute or ""
    safe = text.encode("utf-8", "replace").decode()
    keys = _keys(attribute, value, shown)
    if keys is not None and not any(key in read for read in _compacts(safe) for key in keys):
        return False
    return _detected(safe, attribute, value, shown)


@lru_cache(_KNOWN)
def _keys(attribute: str, value: str, shown: str) -> tuple[bytes, ...] | None:
    """The letters and digits of each form of a value; None if some form has none, which is then looked for as it is."""
    from earwitness.audit.forms.needles import needle, written
    from earwitness.audit.forms.skeleton import compact

    ways = written(attribute, value, [shown], varied=True)
    keys = {compact(needle(way.text, way.fit).core).encode("utf-8", "surrogatepass") for way in ways}
    return None if b"" in keys else tuple(keys)


@lru_cache(_KNOWN)
def _compacts(text: str) -> tuple[bytes, ...]:
    """The letters and digits of a text, and of each text hidden in it, as the finder reads them."""
    import pyarrow as pa

    from earwitness.audit.forms.decode import decoded
    from earwitness.audit.forms.views import views

    plain = pa.array([text], pa.large_string())
    hidden = pa.array([h.text for h in decoded(plain)], pa.large_string())
    return tuple({view.compact for texts in (plain, hidden) if len(texts) for view in views(texts)})


def _detected(text: str, attribute: str, value: str, shown: str) -> bool:
    """Whether the measuring detector finds a value in a text."""
    import polars as pl
    import pyarrow as pa

    from earwitness.audit.forms.finder import Finder
    from earwitness.audit.forms.needles import Needles
    from earwitness.audit.match_forms import find

    row = {"value": [0], "attribute": [attribute], "text": [value], "aliases": [[shown]]}
    needles = Needles(
        pl.DataFrame(row, {"value": pl.Int64, "attribute": pl.String, "text": pl.String, "aliases": pl.List(pl.String)})
    )
    found = find(Finder(needles), pa.array([text], pa.large_string())) if needles.needles else None
    return found is not None and not found.is_empty()


def names(text: str, attribute: str | None) -> bool:
    """Whether a text names the attribute: all words of its name, those of four letters or more."""
    words = set(_NAMED.findall((attribute or "").lower()))
    return bool(words) and words <= set(_NAMED.findall(text.lower()))
