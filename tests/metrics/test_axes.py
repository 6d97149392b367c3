"""Points on any x axis, and the pieces of it that a chart zooms into."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.axes import Axis, AxisKind, Window, place
from app.metrics.columns import Columns

PLACES = st.lists(st.integers(-20, 20).map(float), max_size=40)


def points(*rows: tuple[int, float, float]) -> Columns:
    return Columns.of(rows)


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("step", Axis()),
        ("time", Axis(AxisKind.TIME)),
        ("metric:trainer/epoch", Axis(AxisKind.METRIC, "trainer/epoch")),
        ("metric:metric:x", Axis(AxisKind.METRIC, "metric:x")),
    ],
)
def test_axes_by_name(text: str, axis: Axis) -> None:
    assert Axis.parse(text) == axis


@pytest.mark.parametrize("text", ["", "age", "metric", "metric:", "STEP"])
def test_there_is_no_such_axis(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Axis.parse(text)


def test_a_point_stands_where_the_metric_was_at_its_step() -> None:
    loss = points((1, 0.9, 0.0), (2, 0.8, 0.0), (3, 0.7, 0.0), (9, 0.1, 0.0))
    epoch = points((1, 0.5, 0.0), (3, 1.5, 0.0), (4, 2.0, 0.0))
    placed = place(loss, Axis.parse("metric:epoch"), origin=0.0, metric=epoch)

    assert placed.x is not None
    assert (placed.x.tolist(), placed.columns.values.tolist()) == ([0.5, 1.5], [0.9, 0.7])
    assert placed.missing == 2


def test_a_metric_that_goes_back_and_forth_is_put_in_order() -> None:
    loss = points(*((step, float(step), 0.0) for step in range(5)))
    lr = points((0, 3.0, 0.0), (1, 1.0, 0.0), (2, math.nan, 0.0), (3, 1.0, 0.0), (4, 2.0, 0.0))
    placed = place(loss, Axis.parse("metric:lr"), origin=0.0, metric=lr)

    assert placed.x is not None
    assert placed.x.tolist() == [1.0, 1.0, 2.0, 3.0]
    assert placed.columns.steps.tolist() == [1, 3, 4, 0]
    assert placed.missing == 1


def test_a_metric_that_was_never_logged_places_nothing() -> None:
    placed = place(points((1, 1.0, 0.0)), Axis.parse("metric:no"), origin=0.0, metric=None)
    assert (len(placed.columns), placed.missing) == (0, 1)


def test_times_and_seconds_since_the_start() -> None:
    columns = points((1, 1.0, 1_000.25), (2, 2.0, math.nan), (3, 3.0, 1_002.5))
    absolute = place(columns, Axis.parse("time"), origin=1_000.0, metric=None)
    relative = place(columns, Axis.parse("relative"), origin=1_000.0, metric=None)

    assert absolute.places.tolist() == [1_000.25, 1_002.5]
    assert relative.places.tolist() == [0.25, 2.5]
    assert (absolute.missing, relative.missing) == (1, 1)


@given(PLACES, st.integers(-22, 22), st.integers(0, 10), st.booleans())
def test_a_window_against_a_model(x: list[float], start: int, width: int, is_sorted: bool) -> None:
    x = sorted(x) if is_sorted else x
    end = start + width
    sides = [-1 if at < start else 1 if at > end else 0 for at in x]
    expected = [
        i
        for i, side in enumerate(sides)
        if side == 0 or any(other == 0 or other == -side for other in sides[max(0, i - 1) : i + 2])
    ]
    assert Window(start, end).indices(np.array(x)).tolist() == expected


def test_a_window_that_is_none() -> None:
    for start, end in ((2.0, 1.0), (math.nan, 1.0), (0.0, math.nan)):
        with pytest.raises(ValueError, match="window"):
            Window(start, end)
    assert Window(1.0, 1.0).indices(np.array([0.0, 1.0, 2.0, 3.0])).tolist() == [0, 1, 2]
