"""What is looked for: every way to write every value, and the letters and digits under which the automaton knows it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from earwitness.audit.forms.skeleton import SIGNS, compact, fold
from earwitness.audit.forms.variant import Fit, Variant
from earwitness.audit.forms.variants import variants

Ints = npt.NDArray[np.int64]

# More values than this are looked for as they are written (with other separators), not in other forms as well:
# their variants would be tens of millions of needles.
MOST_VARIED = 200_000
_AT_ONCE = 5000  # values that are varied at a time

_WAYS = {
    "told": pl.UInt32,
    "needle": pl.Int64,
    "form": pl.String,
    "confidence": pl.Float64,
    "part": pl.Int64,
    "parts": pl.Int64,
}


class Needle(NamedTuple):
    """A text to look for, the same for all values that are written so.

    Attributes:
        text: as given.
        bare: the same without the signs around its letters and digits.
        core: its skeleton from the first letter or digit to the last.
        lead: what the skeleton has before that, and
        trail: behind it.
        fit: how exactly it must stand in a content.
    """

    text: str
    bare: str
    core: str
    lead: str
    trail: str
    fit: Fit


class Needles:
    """The needles of a registry.

    Attributes:
        needles: distinct ones, by number.
        keys: distinct compact texts, by number of the pattern.
        of_pattern: the numbers of the needles of pattern p stand at `first[p]:first[p + 1]`.
        odd: needles without any letter or digit: number and text.
        owners: columns needle, value, form, confidence, part, parts.
    """

    def __init__(self, frame: pl.DataFrame, *, varied: bool = True) -> None:
        self.needles: list[Needle] = []
        self._numbers: dict[tuple[str, bool], int] = {}
        told = ["attribute", "text", "aliases"]
        distinct = frame.select(told).unique(maintain_order=True).with_row_index("told")
        some = [self._ways(values, varied) for values in distinct.iter_slices(_AT_ONCE)]
        ways = pl.concat([pl.DataFrame(schema=_WAYS), *some])
        values = frame.join(distinct, on=told, nulls_equal=True).select("value", "told")
        self.owners = values.join(ways, on="told").drop("told")
        self._numbers.clear()
        self._arrange()

    def _ways(self, distinct: pl.DataFrame, varied: bool) -> pl.DataFrame:
        """All ways to write some values."""
        rows = [
            (told, self._number(v.text, v.fit), v.form, v.confidence, v.part, v.parts)
            for told, attribute, text, aliases in distinct.iter_rows()
            for v in written(attribute, text, aliases, varied=varied)
        ]
        return pl.DataFrame(rows, _WAYS, orient="row")

    def _number(self, text: str, fit: Fit) -> int:
        key = text, fit in ("free", "item")
        if key not in self._numbers:
            self._numbers[key] = len(self.needles)
            self.needles.append(needle(text, fit))
        return self._numbers[key]

    def _arrange(self) -> None:
        by_key: dict[str, list[int]] = {}
        self.odd: list[tuple[int, str]] = []
        for number, found in enumerate(self.needles):
            if key := compact(found.core):
                by_key.setdefault(key, []).append(number)
            elif found.text.strip():
                self.odd.append((number, found.text))
        self.keys = list(by_key)
        self.of_pattern: Ints = np.array([n for numbers in by_key.values() for n in numbers], np.int64)
        self.first: Ints = np.cumsum([0, *(len(numbers) for numbers in by_key.values())])


def needle(text: str, fit: Fit) -> Needle:
    """A text as a needle."""
    folded = fold(text)
    core = folded.strip(SIGNS)
    at = folded.index(core)
    return Needle(text, _bare(text), core, folded[:at].lstrip(), folded[at + len(core) :].rstrip(), fit)


def _bare(text: str) -> str:
    """A text without what is neither letter nor digit at its ends."""
    bare = text.strip(SIGNS)
    if bare.isascii():
        return bare
    solid = [n for n, c in enumerate(bare) if c.isalnum()] or [0, len(bare) - 1]
    return bare[solid[0] : solid[-1] + 1]


def written(attribute: str, text: str, aliases: list[str] | None, *, varied: bool) -> Iterator[Variant]:
    """A value as given, its aliases, and all other ways to write it; each text once, the surest way."""
    ways = [Variant(text, "verbatim", 1.0), *(Variant(a, "alias", 1.0) for a in aliases or ())]
    if varied:
        ways += variants(attribute, text)
    surest: dict[str, Variant] = {}
    for way in ways:
        if way.text.strip() and (way.text not in surest or way.confidence > surest[way.text].confidence):
            surest[way.text] = way
    yield from surest.values()
