"""Metric local differential privacy for numbers, amounts and dates: the Laplace mechanism under the l1 metric.

Two values at distance d are told apart by a release with odds of at most exp(epsilon * d / unit): the unit is the
distance that the privacy parameter stands for. Bounds and rounding come after the noise and cost nothing.
A seeded release depends on key, attribute and value alone: releasing one value again gives the same number, so that
nobody can average the noise away; its guarantee is that of the key.
"""

import hmac
import math
import re
import secrets
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from earwitness.audit.transform.days import Day, read_day, write_day
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.options import Options, Range

Floats = npt.NDArray[np.float64]
_GROUP = r"[,'’ \u00a0\u202f]"
_AMOUNT = re.compile(
    rf"(?P<pre>[^\w+-]{{0,3}}(?:[A-Z]{{2,3}} ?)?[^\w+-]{{0,3}})(?P<sign>[-+]?)(?P<pre2>[$€£¥]?)"
    rf"(?P<whole>[0-9]{{1,3}}(?:{_GROUP}[0-9]{{3}})+|[0-9]{{1,15}})(?P<part>\.[0-9]{{1,9}})?"
    r"(?P<post> ?[A-Za-z%€$£¥]{0,9})"
)
_POINTED = re.compile(
    r"(?P<pre>[^\w+-]{0,3}(?:[A-Z]{2,3} ?)?[^\w+-]{0,3})(?P<sign>[-+]?)(?P<pre2>[$€£¥]?)"
    r"(?P<whole>[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]{1,15})(?P<part>,[0-9]{1,2})?(?P<post> ?[A-Za-z%€$£¥]{0,9})"
)
_MONEY = re.compile(
    r"salary|amount|balance|income|price|cost|revenue|budget|pay|bonus|wage|debt|loan|fee|worth|total|limit"
)
_SCORE = re.compile(r"score|rating|percent|rate|pressure|level")
_SIGNS = re.compile(r"[$€£¥]|\b(?:USD|EUR|GBP|CHF|JPY)\b")


class Shown(NamedTuple):
    """A number as it is written: what stands around it, how its thousands are parted, how many decimals it has."""

    before: str
    sign: str
    number: Decimal
    group: str
    point: str
    places: int
    after: str


class Released(NamedTuple):
    """One line of the ledger.

    Attributes:
        attribute: of the value.
        fingerprint: keyed hash of the value.
        releases: distinct noisy numbers that were made of it.
        epsilon: what they cost together, by sequential composition.
    """

    attribute: str
    fingerprint: str
    releases: int
    epsilon: float


@dataclass
class Ledger:
    """Counts distinct releases of each value and sums what they cost."""

    _spent: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def enter(self, attribute: str, fingerprint: str, epsilon: float) -> None:
        """Enter one release that was not made before."""
        self._spent.setdefault((attribute, fingerprint), []).append(epsilon)

    def lines(self) -> list[Released]:
        """All values released, in the order of their first release."""
        return [Released(a, f, len(spent), math.fsum(spent)) for (a, f), spent in self._spent.items()]

    @property
    def epsilon(self) -> float:
        """The most that was spent on one value."""
        return max((line.epsilon for line in self.lines()), default=0.0)


class Noise:
    """Releases numbers with noise under one key, and keeps the ledger.

    Args:
        keys: the key of the seeds.
        options: epsilon, units and bounds, seeded or not.
    """

    def __init__(self, keys: Keys, options: Options) -> None:
        self.options, self.ledger = options, Ledger()
        self._key = keys.derive("noise")
        self._made: dict[tuple[str, str], float] = {}

    def __repr__(self) -> str:
        return f"Noise({len(self._made)} released)"

    def release(self, canonical: str, shown: str, attribute: str | None) -> str | None:
        """A noisy number or date in the form in which the value stands; None for what is neither."""
        name = (attribute or "").strip().lower()
        if day := read_day(shown.strip(), self.options):
            return self._date(*day, name)
        written = read_amount(shown)
        if written is None:
            return None
        known = read_amount(canonical)
        value = known.number if known else written.number
        noisy = Decimal(repr(self.number(value, name, kind_of(name, shown))))
        return write_amount(written, noisy / _factor(value, written.number))

    def number(self, value: Decimal, attribute: str, kind: str) -> float:
        """The noisy value, within the bounds of its kind; the same each time if releases are seeded."""
        span = self.options.noise.get(attribute) or self.options.noise[kind]
        key = attribute, f"{kind}/{value.normalize():f}"
        if self.options.seeded and key in self._made:
            return self._made[key]
        uniform = self._uniform("/".join(key)) if self.options.seeded else (secrets.randbits(53) + 0.5) / 2**53
        noisy = float(laplace(float(value), span, self.options.epsilon, np.array([uniform]))[0])
        self.ledger.enter(attribute, self._mark("/".join(key)), self.options.epsilon)
        self._made[key] = noisy
        return noisy

    def _date(self, day: Day, number: int, attribute: str) -> str | None:
        """A date some days off, in the same layout; its time of day stays."""
        units = day.bound // day.years[1]
        at, rest = divmod(number, units)
        noisy = round(self.number(Decimal(at), attribute, "date"))
        for step in (0, 1, -1, 2, -2, 3, -3, *range(4, 40)):  # a layout of one digit cannot write every day
            moved = min(max(noisy + step, 0), day.years[1] - 1)
            written = write_day(day, moved * units + rest)
            if written is not None and read_day(written, self.options) == (day, moved * units + rest):
                return written
        return None

    def _uniform(self, name: str) -> float:
        """A number between 0 and 1, neither included, of 53 bits."""
        drawn = hmac.digest(self._key, name.encode("utf-8", "surrogatepass"), "sha256")
        return ((int.from_bytes(drawn[:8], "big") >> 11) + 0.5) / 2**53

    def _mark(self, name: str) -> str:
        return hmac.digest(self._key, b"mark/" + name.encode("utf-8", "surrogatepass"), "sha256").hex()[:12]


def laplace(value: float, span: Range, epsilon: float, uniform: Floats) -> Floats:
    """The Laplace mechanism: the value with noise of scale `unit / epsilon`, cut to the bounds.

    Args:
        value: the true value.
        span: unit and bounds.
        epsilon: the privacy parameter.
        uniform: numbers between 0 and 1, one a release; the noise is the inverse of its distribution at them.
    """
    centred = uniform - 0.5
    noise = -(span.unit / epsilon) * np.sign(centred) * np.log1p(-2 * np.abs(centred))
    cut: Floats = np.clip(value + noise, span.low, span.high)
    return cut


def kind_of(attribute: str, shown: str) -> str:
    """amount, score or count, told by the attribute or by a currency."""
    if _SCORE.search(attribute):
        return "score"
    return "amount" if _MONEY.search(attribute) or _SIGNS.search(shown) else "count"


def read_amount(text: str) -> Shown | None:
    """A number taken apart; None for anything else. `95.000` is 95 in English and 95,000 elsewhere: here it is 95."""
    stripped = text.strip()
    for pattern, point, others in ((_AMOUNT, ".", r"[^0-9]"), (_POINTED, ",", r"\.")):
        if match := pattern.fullmatch(stripped):
            whole = match["whole"]
            number = Decimal(re.sub(others, "", whole) + "." + (match["part"] or ".0")[1:])
            group = next((c for c in whole if not c.isdigit()), "")
            places = len(match["part"] or ".") - 1
            sign = -1 if match["sign"] == "-" else 1
            lead = text[: len(text) - len(text.lstrip())] + match["pre"]
            tail = match["post"] + text[len(text.rstrip()) :]
            return Shown(lead + "\0" + match["pre2"], match["sign"], sign * number, group, point, places, tail)
    return None


def write_amount(shown: Shown, number: Decimal) -> str:
    """A number in the form of another."""
    rounded = number.quantize(Decimal(1).scaleb(-shown.places), rounding=ROUND_HALF_EVEN)
    whole, _, part = f"{abs(rounded):f}".partition(".")
    if shown.group:
        whole = f"{int(whole):,}".replace(",", shown.group)
    negative = rounded < 0
    sign = "-" if negative else "+" if shown.sign == "+" else ""
    return shown.before.replace("\0", sign) + whole + (shown.point + part if part else "") + shown.after


def _factor(value: Decimal, shown: Decimal) -> Decimal:
    """How many the number shown is written in: 1000 for 95 in `95k`."""
    for power in (3, 6, 9):
        if shown and abs(value / shown / 10**power - 1) < Decimal("0.06"):
            return Decimal(10) ** power
    return Decimal(1)
