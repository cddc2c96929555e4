"""A logistic regression under grouped cross-validation, and what it reaches on shuffled labels. Extra `[study]`."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from earwitness.audit.semantic.found import Floats
from earwitness.audit.semantic.words import Ints
from earwitness.schema.errors import MissingExtraError

EXTRA = "pip install 'earwitness[study]'"
FOLDS = 5
_RESAMPLED = 1000
_HALF = 0.5


class Advantage(NamedTuple):
    """How far beyond guessing, with its null.

    Attributes:
        estimate: accuracy - 0.5, out of fold.
        low: lower end of the 95 % interval, by resampling scenarios.
        high: upper end.
        null: mean advantage on shuffled labels.
        null_low: its 2.5 % quantile.
        null_high: its 97.5 % quantile.
        p: share of shuffled labels that did as well, the true ones among them.
        n: pairs.
    """

    estimate: float
    low: float
    high: float
    null: float
    null_low: float
    null_high: float
    p: float
    n: int


def require() -> None:
    """Raise where scikit-learn is not installed.

    Raises:
        MissingExtraError: saying how to install it.
    """
    if find_spec("sklearn") is None:
        raise MissingExtraError(f"classifiers need scikit-learn: {EXTRA}")


def advantage(one: Floats, two: Floats, groups: Ints, permutations: int, seed: int) -> Advantage:
    """How well the sides of pairs are told apart.

    Args:
        one: features of one side, a row a pair.
        two: features of the other side.
        groups: the scenario of each pair; it lies in one fold as a whole.
        permutations: how often labels are shuffled within pairs.
        seed: of folds and shuffling.

    Raises:
        MissingExtraError: scikit-learn is not installed.
        ValueError: fewer than two scenarios.
    """
    model, splits = _model(), _splits(np.concatenate([groups, groups]), seed)
    folds = [_scaled(np.concatenate([one, two]), train, test) for train, test in splits]
    rng = np.random.default_rng(seed)

    def hits(flipped: npt.NDArray[np.bool_]) -> Floats:
        labels = np.concatenate([flipped, ~flipped])
        right: Floats = np.zeros(len(labels))
        for (train, test), (known, asked) in zip(splits, folds, strict=True):
            right[test] = model().fit(known, labels[train]).predict(asked) == labels[test]
        return right

    right = hits(np.zeros(len(one), np.bool_))
    by_pair: Floats = (right[: len(one)] + right[len(one) :]) / 2
    null = np.array([hits(rng.random(len(one)) < _HALF).mean() - _HALF for _ in range(permutations)])
    estimate = float(by_pair.mean() - _HALF)
    p = (1 + int((null >= estimate - 1e-12).sum())) / (permutations + 1)
    low, high = _resampled(by_pair - _HALF, groups, rng)
    bounds = np.quantile(null, [0.025, 0.975]) if permutations else (np.nan, np.nan)
    mean = float(null.mean()) if permutations else np.nan
    return Advantage(estimate, low, high, mean, float(bounds[0]), float(bounds[1]), p, len(one))


def _model() -> Callable[[], Any]:
    """Makes a regression that has learned nothing yet."""
    require()
    regression: Any = import_module("sklearn.linear_model").LogisticRegression
    return lambda: regression(solver="newton-cholesky")


def _scaled(rows: Floats, train: Ints, test: Ints) -> tuple[Floats, Floats]:
    """Rows to learn from and to try, by mean and deviation of the former; what does not vary there is left out."""
    mean, spread = rows[train].mean(axis=0), rows[train].std(axis=0)
    varies = spread > 1e-12 * np.maximum(np.abs(mean), 1.0)
    # One feature that says nothing, where none varies: a regression needs one.
    columns = varies if varies.any() else np.arange(rows.shape[1]) == 0
    scale = np.where(spread > 0, spread, 1.0)
    told = (rows - mean) / scale
    return told[train][:, columns], told[test][:, columns]


def _splits(groups: Ints, seed: int) -> list[tuple[Ints, Ints]]:
    """Rows to learn from and rows to try, fold by fold; scenarios are dealt to folds at random."""
    names = np.unique(groups)
    if len(names) < 2:
        raise ValueError("grouped cross-validation needs two scenarios or more")
    dealt = np.random.default_rng(seed).permutation(len(names)) % min(FOLDS, len(names))
    fold = dealt[np.searchsorted(names, groups)]
    return [(np.flatnonzero(fold != n), np.flatnonzero(fold == n)) for n in range(int(fold.max()) + 1)]


def _resampled(values: Floats, groups: Ints, rng: np.random.Generator) -> tuple[float, float]:
    """95 % interval of the mean, scenarios drawn with replacement."""
    _, number = np.unique(groups, return_inverse=True)
    sums, sizes = np.bincount(number, values), np.bincount(number)
    drawn = rng.integers(0, len(sums), (_RESAMPLED, len(sums)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), [0.025, 0.975])
    return float(low), float(high)
