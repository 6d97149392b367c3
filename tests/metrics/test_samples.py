"""Statistics of runs and returns, held against SciPy's own answers and published examples."""

import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.statistics import (
    bootstrap_mean,
    holm,
    mean_interval,
    mean_pass_at_k,
    rank_correlation,
    spread,
)


def test_spread_is_that_of_a_sample() -> None:
    found = spread([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])

    assert found is not None
    assert (found.mean, found.n) == (5.0, 8)
    assert found.deviation == pytest.approx(2.13809, abs=1e-5)


def test_one_run_has_no_deviation_and_none_no_mean() -> None:
    one = spread([0.5])
    assert one is not None
    assert one.deviation is None
    assert spread([]) is None
    assert mean_interval([0.5]) is None


def test_the_interval_of_a_mean_is_students() -> None:
    # Student's sleep data, drug 1: R's t.test gives these.
    drug = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]

    assert mean_interval(drug) == pytest.approx((-0.5297804, 2.0297804), abs=1e-6)


def test_three_equal_runs_have_an_interval_of_no_width() -> None:
    assert mean_interval([0.5, 0.5, 0.5]) == (0.5, 0.5)


def test_the_bootstrap_is_the_same_each_time_and_holds_the_mean() -> None:
    chance = random.Random(1)
    returns = tuple(chance.choice((1.0, -0.25)) for _ in range(64))
    low, high = bootstrap_mean(returns) or (0.0, 0.0)
    bootstrap_mean.cache_clear()

    assert bootstrap_mean(returns) == (low, high)
    assert low < fmean(returns) < high


def test_the_bootstrap_covers_the_true_mean_about_as_often_as_it_says() -> None:
    chance = random.Random(2)
    samples = [tuple(chance.expovariate(1.0) for _ in range(40)) for _ in range(60)]
    intervals = [bootstrap_mean(sample) or (0.0, 0.0) for sample in samples]
    hits = sum(low <= 1.0 <= high for low, high in intervals)

    assert hits >= 50


@pytest.mark.parametrize("values", [(), (1.0,), (0.5,) * 20])
def test_nothing_is_resampled_where_nothing_varies(values: tuple[float, ...]) -> None:
    assert bootstrap_mean(values) is None


def test_rank_correlation_sees_any_rise() -> None:
    x = [1e-6, 3e-6, 1e-5, 1e-4, 1e-3]
    found = rank_correlation(x, [0.1, 0.2, 0.3, 0.4, 0.9])

    assert found is not None
    assert found.rho == pytest.approx(1.0)
    # Two of the 120 orders are as extreme.
    assert found.p_value == pytest.approx(2 / 120)
    assert found.n == 5


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=20))
def test_rank_correlation_is_spearmans_with_ties(pairs: list[tuple[int, int]]) -> None:
    from scipy.stats import spearmanr

    x, y = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    found = rank_correlation(x, y)
    if len(set(x)) < 2 or len(set(y)) < 2:
        assert found is None
    else:
        assert found is not None
        assert found.rho == pytest.approx(spearmanr(x, y).statistic, abs=1e-9)
        assert 0 < found.p_value <= 1


def test_two_runs_have_no_rank_correlation() -> None:
    assert rank_correlation([1, 2], [3, 4]) is None


def test_holm_multiplies_and_never_falls() -> None:
    # The example of R's p.adjust: c(0.01, 0.02, 0.03, 0.04), method "holm".
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.04, 0.01]) == pytest.approx([0.04, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_pass_at_k_is_averaged_over_mazes_not_over_samples() -> None:
    assert mean_pass_at_k([(1, 1), (3, 0)], k=1) == pytest.approx(0.5)
    assert mean_pass_at_k([], k=1) is None
    with pytest.raises(ValueError, match="pass_at_2"):
        mean_pass_at_k([(1, 1)], k=2)
