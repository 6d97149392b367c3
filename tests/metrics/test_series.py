"""Points to show, against a plain model in dictionaries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.series import (
    AttemptColumns,
    Columns,
    visible_points,
)


def columns(*points: tuple[int, float]) -> Columns:
    return Columns.of((step, value, 0.0) for step, value in points)


def shown(*chunks: AttemptColumns) -> list[tuple[int, float, int]]:
    visible = visible_points(chunks)
    return list(
        zip(
            visible.columns.steps.tolist(),
            visible.columns.values.tolist(),
            visible.attempts.tolist(),
            strict=True,
        )
    )


def test_a_newer_attempt_wins_from_its_first_step_on() -> None:
    first = AttemptColumns(1, columns((1, 1.0), (2, 1.0), (3, 1.0), (5, 1.0)))
    second = AttemptColumns(2, columns((3, 2.0), (4, 2.0)))

    assert shown(first, second) == [(1, 1.0, 1), (2, 1.0, 1), (3, 2.0, 2), (4, 2.0, 2)]


def test_a_third_attempt_that_goes_back_further_hides_the_second() -> None:
    chunks = [AttemptColumns(n, columns((start, n * 1.0))) for n, start in ((1, 0), (2, 4), (3, 2))]

    assert shown(*chunks) == [(0, 1.0, 1), (2, 3.0, 3)]


def test_repeated_and_unordered_steps_of_one_attempt() -> None:
    chunks = (
        AttemptColumns(1, columns((4, 1.0), (2, 1.0))),
        AttemptColumns(1, columns((2, 9.0), (3, 1.0))),
    )

    assert shown(*chunks) == [(2, 9.0, 1), (3, 1.0, 1), (4, 1.0, 1)]


def test_nothing_stored_shows_nothing() -> None:
    assert shown() == []
    assert shown(AttemptColumns(1, columns())) == []


CHUNKS = st.lists(
    st.tuples(st.integers(1, 3), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)))),
    max_size=6,
)


@given(CHUNKS)
def test_visible_points_against_a_model(chunks: list[tuple[int, list[tuple[int, int]]]]) -> None:
    expected: dict[int, tuple[float, int]] = {}
    for attempt in (1, 2, 3):
        logged = {step: value for n, points in chunks if n == attempt for step, value in points}
        expected = {s: v for s, v in expected.items() if not logged or s < min(logged)}
        expected |= {step: (float(value), attempt) for step, value in logged.items()}

    stored = [AttemptColumns(n, columns(*((s, float(v)) for s, v in p))) for n, p in chunks]
    assert shown(*stored) == [(s, *expected[s]) for s in sorted(expected)]
    assert visible_points(stored).columns.steps.dtype == np.int64
