"""Whether draws of the mechanism look as its guarantee says: a diagnostic by histogram, no proof."""

import math
from typing import NamedTuple

import numpy as np

from earwitness.audit.stats import wilson
from earwitness.audit.transform.noise import laplace
from earwitness.audit.transform.options import Range

_FREE = 1e300


class Diagnostic(NamedTuple):
    """What the histograms of two neighbouring values say.

    Attributes:
        bins: compared bins.
        held: those whose odds may be within the bound, by their intervals.
        plain: those whose observed odds are within it; by chance some are not, whatever the mechanism.
        worst: greatest observed odds, and
        bound: the greatest allowed.
    """

    bins: int
    held: int
    plain: int
    worst: float
    bound: float


def dp_inequality(
    span: Range, epsilon: float, distance: float, *, claimed: float | None = None, draws: int = 20_000, bins: int = 24
) -> Diagnostic:
    """Compare the releases of two values, bin by bin, both ways.

    Args:
        span: unit of the mechanism; its bounds are left aside, since cutting only hides.
        epsilon: the privacy parameter of the mechanism.
        distance: how far the two values are apart.
        claimed: the parameter that is claimed for it, if another.
        draws: releases of each value.
        bins: bins of equal weight.
    """
    generator = np.random.Generator(np.random.PCG64(0))
    free = Range(span.unit, -_FREE, _FREE)
    one, other = (laplace(value, free, epsilon, generator.random(draws)) for value in (0.0, distance))
    edges = np.quantile(np.concatenate([one, other]), np.linspace(0, 1, bins + 1))
    counts = [np.histogram(drawn, edges)[0].tolist() for drawn in (one, other)]
    bound = math.exp((epsilon if claimed is None else claimed) * distance / span.unit)
    pairs = list(zip(*counts, strict=True))
    odds = [max((a + 0.5) / (b + 0.5), (b + 0.5) / (a + 0.5)) for a, b in pairs]
    # All comparisons together are to be wrong once in twenty times at most.
    level = 1 - 0.05 / (2 * bins)
    held = sum(_within(a, b, draws, bound, level) and _within(b, a, draws, bound, level) for a, b in pairs)
    return Diagnostic(bins, held, sum(o <= bound for o in odds), max(odds), bound)


def _within(count: int, other: int, draws: int, bound: float, level: float) -> bool:
    """Whether the odds may be within the bound: the low end of one share against the high end of the other."""
    low, high = wilson(count, draws, level)[0], wilson(other, draws, level)[1]
    return low <= bound * high
