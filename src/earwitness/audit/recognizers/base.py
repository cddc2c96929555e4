"""What a recognizer is, and the few tools that several of them share."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple, Protocol

from earwitness.schema.words import ValueType


class Found(NamedTuple):
    """A span that may be a protected value.

    Attributes:
        start: first code point of the text.
        stop: one past the last.
        confidence: 0 to 1.
        canonical: the value as it would be stored: separators gone, escapes undone.
        strong: a checksum holds or the shape is unmistakable; everything else is only possible.
        entity: where it is not the one the recognizer is named for.
        attribute: name of the attribute, where the text tells it.
        value_type: where it is not the recognizer's own.
    """

    start: int
    stop: int
    confidence: float
    canonical: str
    strong: bool = False
    entity: str | None = None
    attribute: str | None = None
    value_type: ValueType | None = None


class Find(Protocol):
    """Looks at one region of a text; spans count from the beginning of the text."""

    def __call__(self, text: str, start: int, stop: int, /) -> Iterator[Found]:
        """What is found between `start` and `stop`."""
        ...


@dataclass(frozen=True)
class Recognizer:
    """One kind of value.

    Attributes:
        name: as reports call it; the golden table of its tests has the same name.
        entity: what is found, in the capitals sanitizers use.
        value_type: its class.
        prefilter: a regular expression in the common subset of `re` and Rust's `regex`, without assertions and
            without groups that capture. A text it does not match holds nothing to find, and what is to find lies
            within `reach` of a match.
        look: finds the spans.
        reach: how many code points before and behind a match of `prefilter` have to be looked at.
        whole: what is found may run over several lines; otherwise a text is looked at line by line.
        seeds: what it finds is looked for in the rest of the run as well.
    """

    name: str
    entity: str
    value_type: ValueType
    prefilter: str
    look: Find
    reach: tuple[int, int] = (48, 80)
    seeds: bool = False
    whole: bool = False

    def find(self, text: str, start: int = 0, stop: int | None = None) -> Iterator[Found]:
        """Everything of this kind in a text, or in a region of it."""
        return self.look(text, start, len(text) if stop is None else stop)


def words(name: str) -> frozenset[str]:
    """A list of words that stands beside this module: words apart by blanks, lines with `#` are remarks."""
    lines = files(__package__).joinpath("words", f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def near(cue: re.Pattern[str], text: str, start: int, back: int = 40) -> bool:
    """Whether a keyword stands shortly before a position, in the same line or the one above it."""
    return cue.search(text, max(0, start - back), start) is not None


def digits(text: str) -> str:
    """The ASCII digits of a text."""
    return "".join(c for c in text if c in "0123456789")


def luhn(number: str) -> bool:
    """Whether a string of digits carries a Luhn check digit. One digit over and over does, and is no number."""
    if len(set(number)) < 2:
        return False
    total = 0
    for place, char in enumerate(reversed(number)):
        digit = int(char) * (1 + place % 2)
        total += digit - 9 if digit > 9 else digit
    return total % 10 == 0


def by_pattern(pattern: re.Pattern[str], judge: Callable[[str, "re.Match[str]"], Found | None]) -> Find:
    """A finder that asks `judge` about every match of a pattern."""

    def look(text: str, start: int, stop: int, /) -> Iterator[Found]:
        for match in pattern.finditer(text, start, stop):
            found = judge(text, match)
            if found is not None:
                yield found

    return look
