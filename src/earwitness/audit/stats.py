"""Intervals for proportions."""

from functools import cache


@cache
def wilson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of k successes in n trials, as fractions (Wilson 1927).

    Raises:
        ValueError: k is not between 0 and n, or n is 0.
    """
    from scipy.stats import binomtest

    if n <= 0 or not 0 <= k <= n:
        raise ValueError("an interval needs 0 <= k <= n and n > 0")
    interval = binomtest(int(k), int(n)).proportion_ci(confidence_level=level, method="wilson")
    return float(interval.low), float(interval.high)
