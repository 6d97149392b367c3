"""Shares of episodes: intervals, tests of pairs, k-of-n estimates."""

from collections.abc import Iterable
from math import comb, sqrt
from statistics import NormalDist


def wilson_interval(k: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for `k` successes in `n` trials, without continuity correction.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    JASA 22 (1927). No trials give (0, 1). Raises `ValueError` unless 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} successes in {n} trials are impossible")
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * sqrt(k * (n - k) / n + z * z / 4)
    # At the ends the bound is exact; rounding must not carry it past 0, 1 or k / n.
    return (0.0 if k == 0 else centre - half), (1.0 if k == n else centre + half)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate that one of `k` samples passes, when `c` of `n` did.

    1 − C(n−c, k) / C(n, k), from M. Chen et al., "Evaluating large language models trained on
    code" (2021). Raises `ValueError` unless 0 <= c <= n and 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass_at_{k} of {c} passes in {n} samples is not defined")
    return 1.0 - comb(n - c, k) / comb(n, k)


def mean_pass_at_k(counts: Iterable[tuple[int, int]], *, k: int) -> float | None:
    """`pass_at_k`, averaged over mazes, each given as (samples, passes).

    None without mazes. Raises `ValueError` where a maze has fewer than `k` samples.
    """
    estimates = [pass_at_k(n, c, k) for n, c in counts]
    return sum(estimates) / len(estimates) if estimates else None


def mcnemar_exact(gained: int, lost: int) -> float:
    """Two-sided p-value of McNemar's exact test on pairs that differ, `gained` one way of them.

    Under no difference each such pair falls either way like a fair coin, so this is the binomial
    test of `gained` in `gained + lost` (Q. McNemar, Psychometrika 12 (1947), in its exact form).
    1.0 where no pair differs. Raises `ValueError` for negative counts.
    """
    if gained < 0 or lost < 0:
        raise ValueError(f"{gained} and {lost} are no counts of pairs")
    n = gained + lost
    tail = sum(comb(n, k) for k in range(min(gained, lost) + 1))
    # Whole numbers to the end: Python divides them without overflow, rounded once.
    p_value: float = 2 * tail / 2**n
    return min(1.0, p_value)
