"""Intervals and estimates against published or enumerated values.

SciPy is imported where it is the judge: at the head it would cost each process that collects tests.
"""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.statistics import mcnemar_exact, pass_at_k, wilson_interval


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    # R's prop.test(k, n, correct = FALSE).
    [
        (62, 64, 0.8930, 0.9914),
        (5, 10, 0.2366, 0.7634),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
    ],
)
def test_wilson_interval(k: int, n: int, low: float, high: float) -> None:
    assert wilson_interval(k, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_holds_the_share_within_bounds(case: tuple[int, int]) -> None:
    k, n = case
    low, high = wilson_interval(k, n)

    assert 0 <= low <= k / n <= high <= 1


def test_wilson_interval_widens_with_confidence_and_knows_nothing_without_trials() -> None:
    assert wilson_interval(5, 10, confidence=0.99)[0] < wilson_interval(5, 10)[0]
    assert wilson_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="impossible"):
        wilson_interval(k, n)


@given(
    st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))
)
def test_pass_at_k_is_the_mean_over_all_choices(case: tuple[int, int, int]) -> None:
    n, c, k = case
    choices = list(combinations([True] * c + [False] * (n - c), k))

    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, choices)) / len(choices))


@pytest.mark.parametrize(("n", "c", "k"), [(4, 5, 1), (4, 1, 5), (4, 1, 0), (4, -1, 1)])
def test_pass_at_k_refuses_what_is_undefined(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="not defined"):
        pass_at_k(n, c, k)


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    # Tails counted by hand.
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (12, 1, 28 / 2**13), (6, 6, 1.0), (3, 4, 1.0)],
)
def test_mcnemars_exact_test(gained: int, lost: int, p: float) -> None:
    assert mcnemar_exact(gained, lost) == p
    assert mcnemar_exact(lost, gained) == p


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemars_exact_test_is_the_binomial_test(gained: int, lost: int) -> None:
    from scipy.stats import binomtest

    if gained + lost:
        expected = binomtest(gained, gained + lost, 0.5).pvalue
        assert mcnemar_exact(gained, lost) == pytest.approx(expected, rel=1e-9)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_is_that_of_scipy(case: tuple[int, int]) -> None:
    from scipy.stats import binomtest

    k, n = case
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert wilson_interval(k, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_mcnemars_exact_test_refuses_what_is_no_count() -> None:
    with pytest.raises(ValueError, match="no counts"):
        mcnemar_exact(-1, 3)
