"""Geometry: where runs lie on axes, and the mean curves of groups."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.compare.curves import GRID, mean_curves
from app.compare.differences import NOT_SET
from app.compare.groups import Group
from app.compare.mean_picture import bands
from app.compare.pictures import category_axis, number_axis, parallel, scatter
from app.metrics.columns import Columns

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def columns(*points: tuple[int, float]) -> Columns:
    return Columns.of([(step, value, 0.0) for step, value in points])


def test_learning_rates_lie_on_a_logarithmic_axis() -> None:
    axis = number_axis("lr", [1e-6, 1e-5, 1e-4, None])

    assert axis.is_log
    assert axis.places == pytest.approx((0.0, 0.5, 1.0, None))
    assert [tick.text for tick in axis.ticks] == ["1e-06", "1e-05", "0.0001"]


def test_a_grid_is_marked_at_its_values_and_many_values_at_round_ones() -> None:
    assert [tick.text for tick in number_axis("rank", [8, 16, 8]).ticks] == ["8", "16"]
    many = number_axis("steps", [0, 13, 27, 39, 58, 71, 103], log=False)
    assert [tick.text for tick in many.ticks] == ["0", "50", "103"]


@given(st.lists(st.one_of(st.none(), FINITE), min_size=1, max_size=12), st.booleans())
def test_any_numbers_lie_between_the_ends(numbers: list[float | None], log: bool) -> None:
    axis = number_axis("x", numbers, log=log)
    places = [place for place in axis.places if place is not None]

    assert len(places) == sum(number is not None for number in numbers)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    assert all(-1e-9 <= tick.place <= 1 + 1e-9 for tick in axis.ticks)


def test_categories_are_apart_by_meaning() -> None:
    axis = category_axis("kind", ["a", 1, 1.0, NOT_SET, True])

    assert axis.places == pytest.approx((1 / 6, 1 / 2, 1 / 2, None, 5 / 6))
    assert [tick.text for tick in axis.ticks] == ["a", "1", "true"]


def test_a_line_is_broken_where_a_value_is_missing() -> None:
    axes = [number_axis("a", [1, None, None]), number_axis("b", [1, 2, None])]
    drawn = parallel([*axes, number_axis("m", [0.1, 0.2, 0.3])])

    assert drawn.paths[0].count("M") == 1
    assert drawn.paths[1].count("L") == 1
    assert drawn.paths[2] == ""


def test_the_metric_stays_when_there_are_too_many_axes() -> None:
    axes = [number_axis(str(n), [1, 2]) for n in range(30)]
    drawn = parallel([*axes, number_axis("metric", [1, 2])])

    assert len(drawn.axes) == 8
    assert drawn.axes[-1].axis.title == "metric"


def test_a_dot_needs_both_values() -> None:
    drawn = scatter(number_axis("x", [1, 2, None]), number_axis("y", [1, None, 3]))
    assert [dot.run for dot in drawn.dots] == [0]


def test_the_mean_of_a_group_at_steps_that_not_all_logged() -> None:
    runs = {0: columns((0, 0.0), (10, 1.0)), 1: columns((0, 1.0), (5, 1.0), (20, 1.0))}
    [curve] = mean_curves([Group("g", (0, 1, 2))], runs)

    assert curve.runs == 2
    assert curve.steps.tolist() == [0, 5, 10, 20]
    assert curve.mean.tolist() == [0.5, 0.75, 1.0, 1.0]
    assert curve.deviation == pytest.approx([math.sqrt(0.5), math.sqrt(0.125), 0, 0])


def test_what_is_not_finite_takes_no_part() -> None:
    runs = {0: columns((0, 1.0), (1, math.nan), (2, 3.0)), 1: columns((0, math.inf))}
    [curve] = mean_curves([Group("g", (0, 1)), Group("none", (1,))], runs)

    assert curve.label == "g"
    assert curve.mean.tolist() == [1.0, 3.0]


def test_long_curves_are_thinned_with_both_ends() -> None:
    long = columns(*((step, float(step)) for step in range(5_000)))
    [curve] = mean_curves([Group("g", (0,))], {0: long})

    assert len(curve.steps) == GRID
    assert (curve.steps[0], curve.steps[-1]) == (0, 4_999)
    assert np.array_equal(curve.mean, curve.steps)


def test_bands_stay_inside_of_their_picture() -> None:
    runs = {n: columns(*((step, n * step * 1.0) for step in range(9))) for n in range(3)}
    drawn = bands(mean_curves([Group("a", (0, 1)), Group("b", (2,))], runs))

    assert drawn is not None
    for band in drawn.bands:
        for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", band.line + band.area):
            assert drawn.left <= float(x) <= drawn.right
            assert 12 <= float(y) <= drawn.bottom
    assert bands([]) is None


def test_one_flat_curve_is_drawn_in_the_middle() -> None:
    drawn = bands(mean_curves([Group("flat", (0,))], {0: columns((3, 1.0))}))

    assert drawn is not None
    assert drawn.bands[0].line == "M336.0 146.0"
