"""Numbers of runs and returns of episodes: spread, intervals, rank correlation. By scipy.

scipy takes a second and 80 MiB to import, so it is imported when a function here is first called.
Call them in a thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from statistics import fmean, stdev

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 2_000
_PERMUTATIONS = 9_999
# Any fixed number: the same data must say the same on each look.
_SEED = 20_261_130


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, sample standard deviation (over n - 1) and n; of one number there is no deviation."""

    mean: float
    deviation: float | None
    n: int


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rho over `n` pairs, and its two-sided p-value by permutation."""

    rho: float
    p_value: float
    n: int


def spread(values: Sequence[float]) -> Spread | None:
    """None without values."""
    if not values:
        return None
    return Spread(fmean(values), stdev(values) if len(values) > 1 else None, len(values))


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Student's 95 % interval of the mean of independent numbers, such as runs of several seeds.

    None for fewer than two.
    """
    found = spread(values)
    if found is None or found.deviation is None:
        return None
    from scipy.stats import t

    half = t.ppf((1 + CONFIDENCE) / 2, found.n - 1) * found.deviation / sqrt(found.n)
    return found.mean - float(half), found.mean + float(half)


@lru_cache(maxsize=4_096)
def bootstrap_mean(values: tuple[float, ...]) -> tuple[float, float] | None:
    """The 95 % bootstrap interval (BCa) of a mean whose distribution nobody knows: of returns.

    The same for the same numbers. None for fewer than two numbers, and where all are equal: then
    nothing can be resampled. Source: B. Efron, "Better bootstrap confidence intervals", JASA 82
    (1987).
    """
    if len(set(values)) < 2:
        return None
    from scipy.stats import bootstrap

    found = bootstrap(
        (np.asarray(values),),
        np.mean,
        confidence_level=CONFIDENCE,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(_SEED),
    ).confidence_interval
    return float(found.low), float(found.high)


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> RankCorrelation | None:
    """Spearman's rank correlation of pairs. None for fewer than three, or where one side is flat.

    The p-value is that of a permutation test, exact for up to seven pairs: the usual one supposes
    hundreds of them.
    """
    if len(x) < 3 or len(set(x)) < 2 or len(set(y)) < 2:
        return None
    from scipy.stats import permutation_test, rankdata

    ranks_x, ranks_y = _standardised(rankdata(x)), _standardised(rankdata(y))

    def rho(shuffled: np.ndarray, axis: int = -1) -> np.ndarray:
        product: np.ndarray = np.sum(shuffled * ranks_y, axis=axis)
        return product

    found = permutation_test(
        (ranks_x,),
        rho,
        permutation_type="pairings",
        vectorized=True,
        n_resamples=_PERMUTATIONS,
        rng=np.random.default_rng(_SEED),
    )
    return RankCorrelation(float(found.statistic), float(found.pvalue), len(x))


def _standardised(ranks: np.ndarray) -> np.ndarray:
    """Centred and of length one: the product of two such rows is their correlation."""
    centred = ranks - ranks.mean()
    row: np.ndarray = centred / np.linalg.norm(centred)
    return row
