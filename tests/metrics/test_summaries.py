"""Summaries: extended piece by piece they equal the summary of the whole."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.columns import Columns
from app.metrics.summaries import Direction, SeriesSummary, summarise

VALUES = st.lists(
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0]) | st.floats(-9, 9), max_size=30
)


def columns(values: list[float], *, start: int = 0) -> Columns:
    return Columns.of((start + i, value, 0.0) for i, value in enumerate(values))


def test_summary_of_a_series_with_gaps() -> None:
    summary = summarise(columns([0.5, math.nan, 0.9, 0.9, 0.1, math.inf]), direction=Direction.MAX)

    assert summary == SeriesSummary(
        count=6, non_finite=2, last=None, last_step=5, best=0.9, best_step=2, min=0.1, max=0.9
    )


def test_direction_decides_what_is_best() -> None:
    summary = summarise(columns([3.0, 1.0, 2.0]), direction=Direction.MIN)

    assert (summary.best, summary.best_step, summary.last) == (1.0, 1, 2.0)


@pytest.mark.parametrize("direction", Direction)
@given(values=VALUES, cut=st.integers(0, 30))
def test_extending_equals_the_whole(direction: Direction, values: list[float], cut: int) -> None:
    whole = summarise(columns(values), direction=direction)
    first = summarise(columns(values[:cut]), direction=direction)
    rest = columns(values[cut:], start=len(values[:cut]))

    assert first.continues(rest)
    assert first.extend(rest, direction=direction) == whole
    assert summarise(rest, direction=direction).merge(first, direction=direction) == whole


def test_merging_interleaved_parts_keeps_the_first_best_step() -> None:
    outer = summarise(Columns.of([(1, 9.0, 0.0), (10, 2.0, 0.0)]), direction=Direction.MAX)
    inner = summarise(Columns.of([(5, 9.0, 0.0)]), direction=Direction.MAX)
    merged = inner.merge(outer, direction=Direction.MAX)

    assert (merged.best_step, merged.last_step, merged.last, merged.count) == (1, 10, 2.0, 3)


@pytest.mark.parametrize("steps", [[5], [7, 6], [6, 6]])
def test_points_that_do_not_continue_are_noticed(steps: list[int]) -> None:
    summary = summarise(columns([1.0] * 6), direction=Direction.MAX)

    assert not summary.continues(Columns.of((step, 0.0, 0.0) for step in steps))
    assert summary.continues(columns([], start=6))


def test_numbers_are_plain_python() -> None:
    summary = summarise(columns([1.0]), direction=Direction.MAX)

    assert not any(isinstance(getattr(summary, name), np.generic) for name in summary.__slots__)
