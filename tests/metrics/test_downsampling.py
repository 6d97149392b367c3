"""Thinning keeps the ends, the extremes and the gaps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.downsampling import MIN_DOWNSAMPLED_POINTS, downsample

VALUES = st.lists(st.sampled_from([math.nan, math.inf, -math.inf]) | st.floats(-9, 9), max_size=300)


@given(VALUES, st.integers(MIN_DOWNSAMPLED_POINTS, 120))
def test_thinned_points(values: list[float], max_points: int) -> None:
    array = np.array(values, dtype=np.float64)
    steps = np.arange(array.size, dtype=np.int64) * 3
    kept, is_sampled = downsample(steps, array, max_points=max_points)

    assert kept.size <= max_points
    assert is_sampled == (array.size > max_points)
    assert (np.diff(kept) > 0).all()
    if is_sampled:
        assert {0, array.size - 1} <= set(kept.tolist())
        finite = array[np.isfinite(array)]
        if finite.size:
            assert {finite.min(), finite.max()} <= set(array[kept].tolist())
    else:
        assert kept.tolist() == list(range(array.size))


def test_each_kind_of_gap_is_kept() -> None:
    values = np.sin(np.arange(100_000) / 500)
    values[1_000:2_000] = math.nan
    values[1_500] = math.inf
    values[70_000] = -math.inf
    kept, _ = downsample(np.arange(values.size), values, max_points=200)

    assert {1_000, 1_500, 1_501, 70_000} <= set(kept.tolist())
    assert kept.size > 150


def test_many_gaps_are_thinned_evenly() -> None:
    values = np.where(np.arange(10_000) % 2, math.nan, np.arange(10_000.0))
    kept, _ = downsample(np.arange(values.size), values, max_points=100)

    gaps = np.flatnonzero(np.isnan(values[kept]))
    assert 20 <= gaps.size <= 26
    assert kept.size <= 100


def test_a_series_without_a_finite_value() -> None:
    kept, is_sampled = downsample(np.arange(500), np.full(500, math.nan), max_points=100)

    assert (kept.tolist(), is_sampled) == ([0, 499], True)


def test_too_few_points_are_refused() -> None:
    with pytest.raises(ValueError, match="at least"):
        downsample(np.arange(500), np.zeros(500), max_points=MIN_DOWNSAMPLED_POINTS - 1)
