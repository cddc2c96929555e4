"""A way to write a value, and how exactly it must stand in a text to count."""

from typing import Literal, NamedTuple

# free: separators may come, go and change as `gaps` allows; gapped: they stand where the variant has them, whatever
# they are; exact: as written; cued: as written, after words that say it is the end of a longer number;
# item: free, but only part of its value.
Fit = Literal["free", "gapped", "exact", "cued", "item"]

CONFIRMED = 0.7


class Variant(NamedTuple):
    """One way to write a value.

    Attributes:
        form: name of the form, as reports give it.
        confidence: that a text which holds this holds the value, 0 to 1; below `CONFIRMED` it is only possible.
        part: number of the part of the value that this is, for lists; their count in `parts`.
    """

    text: str
    form: str
    confidence: float
    fit: Fit = "free"
    part: int = 0
    parts: int = 1
