"""A series that grows piece by piece says the same as one that is summed up as a whole."""

import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics import growth
from app.metrics.charts import direction_of
from app.metrics.columns import Columns, unpack
from app.metrics.growth import Chunk, SeriesState, Todo, amend, grow, redo
from app.metrics.series import AttemptColumns, visible_points
from app.metrics.summaries import SeriesSummary, summarise

SMALL = 4
VALUES = st.sampled_from([math.nan, math.inf, -math.inf, -1.0, 0.0, 0.5, 1.0, 2.0])
PIECE = st.tuples(
    st.integers(1, 3), st.lists(st.tuples(st.integers(-3, 12), VALUES), min_size=1, max_size=9)
)
PIECES = st.lists(PIECE, max_size=8)


@pytest.fixture(autouse=True, scope="module")
def small_chunks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "CHUNK_POINTS", SMALL)
        yield


def columns(points: list[tuple[int, float]]) -> Columns:
    return Columns.of((step, value, 0.0) for step, value in points)


def add(state: SeriesState, chunks: list[Chunk], attempt: int, new: Columns) -> None:
    """As `app/metrics/ingest.py` does it, with the chunks in a list."""
    sealed = list(chunks)
    grown = grow(state, attempt, new)
    chunks += grown.chunks
    near = [
        unpack(chunk.payload)
        for chunk in sealed
        if chunk.attempt == state.newest_attempt
        and chunk.last_step >= new.steps.min()
        and chunk.first_step <= new.steps.max()
    ]
    if grown.todo is Todo.REDO or (grown.todo is Todo.AMEND and not amend(grown, near)):
        redo(state, parts_of(chunks))


def parts_of(chunks: list[Chunk]) -> list[AttemptColumns]:
    return [AttemptColumns(chunk.attempt, unpack(chunk.payload)) for chunk in chunks]


@given(PIECES, st.sampled_from(["score", "timing/step"]))
def test_piece_by_piece_is_the_whole(
    pieces: list[tuple[int, list[tuple[int, float]]]], key: str
) -> None:
    state, chunks = SeriesState(1, key, SeriesSummary()), list[Chunk]()
    for attempt, points in pieces:
        add(state, chunks, attempt, columns(points))
    logged = [AttemptColumns(attempt, columns(points)) for attempt, points in pieces]
    shown = visible_points(logged)
    assert state.summary == summarise(shown.columns, direction=direction_of(key))

    tail = state.tail_points()
    stored = parts_of(chunks) + ([AttemptColumns(state.tail_attempt, tail)] if tail else [])
    again = visible_points(stored)
    assert again.columns.steps.tolist() == shown.columns.steps.tolist()
    assert again.attempts.tolist() == shown.attempts.tolist()
    assert [chunk.seq for chunk in chunks] == list(range(state.chunk_count))
    firsts = [0]
    for part in stored:
        firsts.append(firsts[-1] + len(part.columns))
    assert [chunk.first_index for chunk in chunks] == firsts[: len(chunks)]
    assert state.stored_count == firsts[-1] == sum(len(points) for _, points in pieces)


def test_full_chunks_are_sealed_and_the_rest_stays() -> None:
    state, chunks = SeriesState(1, "score", SeriesSummary()), list[Chunk]()
    for step in range(2 * SMALL + 1):
        add(state, chunks, 1, columns([(step, float(step))]))
    assert [chunk.n for chunk in chunks] == [SMALL, SMALL]
    assert state.tail_count == 1


def test_a_step_that_comes_late_looks_at_few_points() -> None:
    state, chunks = SeriesState(1, "score", SeriesSummary()), list[Chunk]()
    add(state, chunks, 1, columns([(step, step / 10) for step in range(0, 40, 2)]))
    grown = grow(state, 1, columns([(35, 0.1)]))
    assert grown.todo is Todo.AMEND
    assert amend(grown, [])
    assert (state.summary.count, state.summary.last_step) == (21, 38)
