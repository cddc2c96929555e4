"""Protected values by their normal form, so that no replacement is another protected value of the same scenario.

A form is letters and digits in lower case, nothing else. Only hashes of forms are held, 16 bytes a form, by the hash of
this process: they are written nowhere.
"""

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

# A value that is protected everywhere.
EVERYWHERE = -1


class Known:
    """Normal forms of protected values and where each is protected.

    Args:
        texts: the values in any form, one row a value and place; NULLs are left out.
        places: numbers of the scenarios they belong to; `EVERYWHERE` for all.
        mark: what tells this set from another, and nothing about it.
    """

    def __init__(self, texts: "pl.Series", places: "pl.Series", mark: str = "") -> None:
        import polars as pl

        self.mark = mark
        forms = texts.str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", "")
        frame = pl.DataFrame({"form": _hashed(forms), "place": places.cast(pl.Int64), "told": forms})
        frame = frame.filter(pl.col("told") != "").select("form", "place").unique().sort("form", "place")
        self._forms, self._places = _packed(frame["form"]), _packed(frame["place"])
        words = texts.str.to_lowercase().str.extract_all(r"\p{L}{2,}").explode().drop_nulls().unique()
        self._words = _packed(_hashed(words).sort())

    def __repr__(self) -> str:
        return f"Known({len(self._forms)} forms)"

    def clash(self, value: str, text: str) -> bool:
        """Whether a text is a protected value that may stand where `value` stands: somewhere both are protected.

        Args:
            value: what is replaced; one that is not protected may stand anywhere.
            text: what would stand for it.
        """
        theirs = self._where(text)
        if not theirs:
            return False
        own = self._where(value)
        return not own or EVERYWHERE in own or EVERYWHERE in theirs or not own.isdisjoint(theirs)

    def anywhere(self, text: str) -> bool:
        """Whether a text is a protected value of any scenario."""
        return bool(self._where(text))

    def has_word(self, word: str) -> bool:
        """Whether a word stands in some protected value."""
        mark = hash(word.lower())
        at = bisect_left(self._words, mark)
        return at < len(self._words) and self._words[at] == mark

    def _where(self, text: str) -> frozenset[int]:
        """Where a form is protected."""
        mark = hash("".join(c for c in text.lower() if c.isalnum()))
        first = bisect_left(self._forms, mark)
        return frozenset(self._places[first : bisect_right(self._forms, mark, first)])


def _hashed(forms: "pl.Series") -> "pl.Series":
    import polars as pl

    return pl.Series(np.fromiter(map(hash, forms.to_list()), np.int64, len(forms)))


def _packed(numbers: "pl.Series") -> "array[int]":
    return array("q", numbers.to_numpy().tobytes())
