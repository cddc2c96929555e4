"""Intervals, and tests for paired proportions.

Written out here because loading a statistics library would cost more time than most audits take; the tests hold each
against scipy and statsmodels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import erfc, exp, lgamma, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

RESAMPLES, SEED = 2000, 20_261_012


def wilson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of k successes in n trials, as fractions (Wilson 1927).

    Raises:
        ValueError: k is not between 0 and n, or n is 0.
    """
    if n <= 0 or not 0 <= k <= n:
        raise ValueError("an interval needs 0 <= k <= n and n > 0")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    centre = (k + z * z / 2) / (n + z * z)
    reach = z * sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    return max(centre - reach, 0.0) if k else 0.0, min(centre + reach, 1.0) if k < n else 1.0


def bootstrap(spread: Mapping[int, int], level: float = 0.95) -> tuple[float, float]:
    """Percentile bootstrap interval of a mean of counts (Efron 1979), always from the same seed.

    Args:
        spread: how many units have each count.
        level: coverage.

    Raises:
        ValueError: there is no unit.
    """
    counts, units = np.array(list(spread), np.float64), np.array(list(spread.values()), np.int64)
    n = int(units.sum())
    if n <= 0:
        raise ValueError("an interval needs a unit")
    # Drawing n units with replacement is drawing how many of each count there are.
    drawn = np.random.default_rng(SEED).multinomial(n, units / n, size=RESAMPLES)
    low, high = np.quantile(drawn @ counts / n, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def chi2_tail(x: float, df: int) -> float:
    """Probability that a chi-squared variable of `df` degrees of freedom is at least x.

    The finite sums for whole degrees of freedom (Abramowitz and Stegun 26.4.4 and 26.4.5), each term by its logarithm.

    Raises:
        ValueError: df is below 1, or x below 0.
    """
    if df < 1 or x < 0:
        raise ValueError("a tail needs df >= 1 and x >= 0")
    half, odd = x / 2, df % 2 / 2
    if half == 0:
        return 1.0
    terms = (exp(-half + (i + odd) * log(half) - lgamma(i + odd + 1)) for i in range(df // 2))
    return min(1.0, (erfc(sqrt(half)) if odd else 0.0) + sum(terms))


@dataclass(frozen=True)
class Outcome:
    """What a test gave; statistic and p are None where it is undefined, since no block varies."""

    statistic: float | None
    df: int | None
    p: float | None


def cochran_q(hits: NDArray[np.bool_]) -> Outcome:
    """Cochran's Q: whether k paired proportions are alike (Cochran 1950).

    Args:
        hits: blocks x k conditions, all of every block known.

    Raises:
        ValueError: there are fewer than two conditions.
    """
    blocks, k = hits.shape
    if k < 2:
        raise ValueError("a comparison needs two conditions")
    columns, rows = hits.sum(axis=0, dtype=np.int64), hits.sum(axis=1, dtype=np.int64)
    total = int(rows.sum())
    below = k * total - int((rows**2).sum())
    if not blocks or not below:
        return Outcome(None, k - 1, None)
    q = (k - 1) * (k * int((columns**2).sum()) - total**2) / below
    return Outcome(q, k - 1, chi2_tail(q, k - 1))


def mcnemar_exact(only_first: int, only_second: int) -> Outcome:
    """McNemar's test by the binomial distribution, two-sided (McNemar 1947).

    Args:
        only_first: pairs with the first outcome only.
        only_second: pairs with the second only.
    """
    n = only_first + only_second
    if not n:
        return Outcome(None, None, None)
    term, below = 1, 1
    for i in range(min(only_first, only_second)):
        term = term * (n - i) // (i + 1)
        below += term
    return Outcome(float(min(only_first, only_second)), None, min(1.0, 2 * below / 2**n))


def mcnemar_corrected(only_first: int, only_second: int) -> Outcome:
    """McNemar's test by chi-squared with continuity correction (Edwards 1948); arguments as `mcnemar_exact`."""
    n = only_first + only_second
    if not n:
        return Outcome(None, 1, None)
    x = max(abs(only_first - only_second) - 1, 0) ** 2 / n
    return Outcome(x, 1, chi2_tail(x, 1))
