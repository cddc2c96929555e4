"""Intervals for proportions."""

from math import sqrt
from statistics import NormalDist


def wilson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of k successes in n trials, as fractions (Wilson 1927).

    Written out here because loading a statistics library would cost more time than most audits take; the tests
    hold it against `scipy.stats.binomtest`.

    Raises:
        ValueError: k is not between 0 and n, or n is 0.
    """
    if n <= 0 or not 0 <= k <= n:
        raise ValueError("an interval needs 0 <= k <= n and n > 0")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    centre = (k + z * z / 2) / (n + z * z)
    reach = z * sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    return max(centre - reach, 0.0) if k else 0.0, min(centre + reach, 1.0) if k < n else 1.0
