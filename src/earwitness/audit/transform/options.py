"""How values are transformed: all that can be chosen, with the defaults of the program."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

Cipher = Literal["FF1", "FF3-1"]


class Range(NamedTuple):
    """Numbers of one kind.

    Attributes:
        unit: distance that the privacy parameter stands for; the noise has the scale `unit / epsilon`.
        low: no release is below, and
        high: none above.
    """

    unit: float
    low: float
    high: float


# Units: 1,000 of a currency; one of what is counted; 10 points; 30 days (dates are counted from their first year).
RANGES: Mapping[str, Range] = MappingProxyType(
    {
        "amount": Range(1_000.0, -1e15, 1e15),
        "count": Range(1.0, 0.0, 1e15),
        "score": Range(10.0, 0.0, 1e6),
        "date": Range(30.0, 0.0, 3.7e6),
    }
)


@dataclass(frozen=True)
class Options:
    """How values are transformed.

    Attributes:
        cipher: of format-preserving encryption; FF3-1 is for comparison only.
        check_digits: recompute the check digits of cards and IBANs, so that ciphertexts pass the same checks.
        first_year: dates are encrypted among all dates from the first of January of this year
        last_year: to the end of this one; fewer than 1,000,000 days are a recorded exception.
        epsilon: privacy parameter of one noisy release.
        noise: unit and bounds by kind (amount, count, score, date), or by attribute, which goes first.
        seeded: the same value always gets the same noise, so that repeating a release tells nothing new.
        threshold: a rewriting that the gate scores from here on is refused.
        tries: most candidates for one rewriting.
        backstop: refuse a rewriting that still holds the value in any form; off only for comparison.
    """

    cipher: Cipher = "FF1"
    check_digits: bool = True
    first_year: int = 1000
    last_year: int = 9999
    epsilon: float = 1.0
    noise: Mapping[str, Range] = field(default_factory=lambda: RANGES)
    seeded: bool = True
    threshold: float = 0.5
    tries: int = 3
    backstop: bool = True
