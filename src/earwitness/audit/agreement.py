"""Agreement between two who labelled the same things, beyond what chance would give."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Agreement(NamedTuple):
    """How far two labellings of the same things agree.

    Attributes:
        n: things both have labelled.
        agree: of these labelled alike.
        kappa: Cohen's kappa; None where it is undefined (nothing in common, or both used one and the same label only).
    """

    n: int
    agree: int
    kappa: float | None


def agreement(pairs: Iterable[tuple[str, str]], without: Sequence[str] = ()) -> Agreement:
    """Agreement of two labellings.

    Args:
        pairs: the label of the first and of the second, one pair a thing.
        without: labels that are no decision; a thing for which either gave one is left out.
    """
    kept = [(a, b) for a, b in pairs if a not in without and b not in without]
    return Agreement(len(kept), sum(a == b for a, b in kept), cohen_kappa(Counter(kept)))


def cohen_kappa(counts: Counter[tuple[str, str]]) -> float | None:
    """Cohen's kappa of a table of counts by (first label, second label) (Cohen 1960)."""
    n = counts.total()
    if not n:
        return None
    first: Counter[str] = Counter()
    second: Counter[str] = Counter()
    for (a, b), k in counts.items():
        first[a] += k
        second[b] += k
    observed = sum(k for (a, b), k in counts.items() if a == b) / n
    expected = sum(first[label] * second[label] for label in first) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)
