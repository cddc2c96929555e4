"""Intervals and tests for the difference of two proportions, paired or not, as right minus left.

Written out because loading a statistics library would cost more time than the comparison; the tests hold them against
scipy and statsmodels.
"""

from math import inf, sqrt
from statistics import NormalDist
from typing import NamedTuple

from earwitness.audit.stats import wilson

LEVEL = 0.95
_HALVINGS = 60


class Interval(NamedTuple):
    """Ends of an interval as fractions, and the method that made it: tango, newcombe or clustered."""

    low: float
    high: float
    method: str


def tango(left_only: int, right_only: int, pairs: int, level: float = LEVEL) -> Interval:
    """Score interval for paired proportions (Tango 1998, Statistics in Medicine 17).

    Args:
        left_only: pairs in which only the left side shows it.
        right_only: pairs in which only the right side does.
        pairs: all pairs.
        level: confidence.

    Raises:
        ValueError: there are fewer pairs than differ, or none.
    """
    if pairs <= 0 or min(left_only, right_only) < 0 or left_only + right_only > pairs:
        raise ValueError("an interval needs pairs, and no more of them may differ than there are")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    # The lower end is the upper one of the mirror image: then swapping the sides mirrors the interval to the last bit.
    return Interval(-_upper(right_only, left_only, pairs, z), _upper(left_only, right_only, pairs, z), "tango")


def _upper(left_only: int, right_only: int, pairs: int, z: float) -> float:
    low, high = (right_only - left_only) / pairs, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _score(middle, left_only, right_only, pairs) > -z else (low, middle)
    return high


def _score(delta: float, y: int, x: int, n: int) -> float:
    """The score statistic of `delta`, with the likeliest share of left-only pairs under it."""
    b = -x - y + (2 * n - x + y) * delta
    share = (sqrt(max(b * b + 8 * n * y * delta * (1 - delta), 0.0)) - b) / (4 * n)
    variance = n * (2 * share + delta * (1 - delta))
    over = x - y - n * delta
    if variance <= 0:
        return inf if over > 0 else -inf if over < 0 else 0.0
    return over / sqrt(variance)


def newcombe(k_left: int, n_left: int, k_right: int, n_right: int, level: float = LEVEL) -> Interval:
    """Hybrid score interval for independent proportions (Newcombe 1998, Statistics in Medicine 17, method 10).

    Raises:
        ValueError: a side has no trials.
    """
    p, q = k_left / n_left, k_right / n_right
    (low_p, high_p), (low_q, high_q) = wilson(k_left, n_left, level), wilson(k_right, n_right, level)
    below = sqrt((q - low_q) ** 2 + (high_p - p) ** 2)
    above = sqrt((high_q - q) ** 2 + (p - low_p) ** 2)
    return Interval(q - p - below, q - p + above, "newcombe")


def clustered(difference: float, variance: float, level: float = LEVEL) -> Interval:
    """Normal interval around a difference of ratios whose variance was taken between clusters of units."""
    reach = NormalDist().inv_cdf(0.5 + level / 2) * sqrt(variance)
    return Interval(max(difference - reach, -1.0), min(difference + reach, 1.0), "clustered")
