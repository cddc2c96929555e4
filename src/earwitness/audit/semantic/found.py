"""What a method found, and how contents belong to groups: the shapes that pass between the parts of the tier."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from earwitness.audit.semantic.words import Ints

Floats = npt.NDArray[np.float64]


class Held(NamedTuple):
    """Which texts of a batch belong to which group: parallel arrays, sorted by text.

    Attributes:
        rows: number of the text.
        groups: a group it belongs to.
    """

    rows: Ints
    groups: Ints


class Found(NamedTuple):
    """Sentences that may tell a value, at most one place for each text and value.

    Attributes:
        rows: the text.
        values: the value.
        scores: how near, 0 to 1.
        firsts: the first sentence.
        lasts: the last sentence.
    """

    rows: Ints
    values: Ints
    scores: Floats
    firsts: Ints
    lasts: Ints


def nothing() -> Found:
    """No sentence at all."""
    none = np.zeros(0, np.int64)
    return Found(none, none, np.zeros(0), none, none)


def join(parts: list[Found]) -> Found:
    """Several findings as one, the best place for each text and value."""
    parts = parts or [nothing()]
    return best(
        Found(
            np.concatenate([p.rows for p in parts]),
            np.concatenate([p.values for p in parts]),
            np.concatenate([p.scores for p in parts]),
            np.concatenate([p.firsts for p in parts]),
            np.concatenate([p.lasts for p in parts]),
        )
    )


def best(found: Found) -> Found:
    """The best place for each text and value: the nearest, among equals the shortest, then the first."""
    length = found.lasts - found.firsts
    order = np.lexsort((found.firsts, length, -found.scores, found.values, found.rows))
    rows, values = found.rows[order], found.values[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])
    chosen = order[new]
    return Found(rows[new], values[new], found.scores[chosen], found.firsts[chosen], found.lasts[chosen])
