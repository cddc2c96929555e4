"""The words of the transform layer: actions, what is asked for one span, what came of it."""

from typing import Literal, NamedTuple, get_args

# Weakest first, by what is left of the value for a reader without the key: where tasks overlap the strongest wins.
Action = Literal["allow", "mldp", "fpe", "pseudonym", "rewrite", "redact", "block"]
# short_domain: a keyed permutation instead of a cipher; length: not as long as the value; long: FF1 instead of FF3-1;
# collision: a pseudonym was taken, or a replacement was another known value, and the next one stands; structure: a span
# over several JSON tokens, or a part of one.
Exception_ = Literal["short_domain", "length", "long", "collision", "structure"]
# Why a fallback to redaction was taken.
# format: no form that the operation can keep; encoded: the value stands inside an encoding; number: no number came out
# where one must stand; key: the value is a key of a JSON object; collision: all that was made was another known value;
# gate, backstop, no_rule, malformed, error, budget: of rewriting.
Cause = Literal[
    "format", "encoded", "number", "key", "collision", "gate", "backstop", "no_rule", "malformed", "error", "budget"
]

ACTIONS: tuple[Action, ...] = get_args(Action)
EXCEPTIONS: tuple[str, ...] = get_args(Exception_)
CAUSES: tuple[str, ...] = get_args(Cause)
STRENGTH: dict[str, int] = {action: n for n, action in enumerate(ACTIONS)}

MARK = "[REDACTED]"
# Where brackets would break a URL or a program.
BARE_MARK = "REDACTED"
BLOCKED = "[BLOCKED]"


class Task(NamedTuple):
    """What is to be done with one span of a text.

    Attributes:
        start: first code point of the span, and
        stop: the one behind its last.
        attribute: what the value is, as policy or detector call it; tweaks and pseudonyms depend on it.
        entity: kind of value as a recognizer calls it, if one found it.
        value_type: format_dependent, value_dependent or contextual.
        canonical: the value itself: as the registry or the recognizer gives it, whatever form stands in the text.
        action: one of `ACTIONS`.
    """

    start: int
    stop: int
    attribute: str | None
    entity: str | None
    value_type: str
    canonical: str
    action: str


class Piece(NamedTuple):
    """What came of one or more tasks.

    Attributes:
        start: first code point of the replacement in the new text, and
        stop: the one behind its last.
        asked: the action asked for; of overlapping tasks the strongest.
        done: the action that was carried out.
        exception: what is not as the operation promises, one of `EXCEPTIONS`.
        cause: why it fell back to redaction, one of `CAUSES`.
        tries: candidates that were made, 0 where nothing was.
        reversible: whether the key gives the value back from the new text.
        tasks: numbers of the tasks it answers, in the order they were given.
    """

    start: int
    stop: int
    asked: str
    done: str
    exception: str | None = None
    cause: str | None = None
    tries: int = 1
    reversible: bool = False
    tasks: tuple[int, ...] = ()


class Changed(NamedTuple):
    """A text after its tasks."""

    text: str
    pieces: tuple[Piece, ...]


class Outcome(NamedTuple):
    """What stands for one value.

    Attributes:
        text: the replacement; the other fields are as in `Piece`.
    """

    text: str
    done: str
    exception: str | None = None
    cause: str | None = None
    tries: int = 1
    reversible: bool = False
