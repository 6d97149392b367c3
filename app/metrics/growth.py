"""How a stored series grows: what is sealed, what stays in its tail, what its summary becomes.

Pure. A series is stored as sealed chunks of at most `CHUNK_POINTS` points of one attempt, in the
order in which they were logged, and a tail of the newest ones.
"""

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from app.metrics.charts import direction_of
from app.metrics.columns import Columns, pack, unpack
from app.metrics.series import CHUNK_POINTS, AttemptColumns, sorted_unique, visible_points
from app.metrics.summaries import SeriesSummary, summarise


@dataclass(slots=True)
class SeriesState:
    """A row of `metric_series` while points are added to it."""

    id: int
    key: str
    summary: SeriesSummary
    stored_count: int = 0
    newest_attempt: int = 1
    first_step: int | None = None
    chunk_count: int = 0
    tail_attempt: int = 1
    tail_count: int = 0
    tail: bytes = b""

    def tail_points(self) -> Columns | None:
        return unpack(self.tail) if self.tail_count else None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A row of `metric_chunk`."""

    series_id: int
    seq: int
    attempt: int
    first_index: int
    first_step: int
    last_step: int
    n: int
    payload: bytes


class Todo(Enum):
    """What a summary still needs of the points stored before."""

    NOTHING = auto()
    AMEND = auto()
    """Those near the new ones: a step came late or again."""
    REDO = auto()
    """All: a newer attempt hides some, or an older one adds what is not hidden."""


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """A series with points added. `before`: of its tail as it was, what is of the same attempt."""

    state: SeriesState
    chunks: list[Chunk]
    todo: Todo
    before: Columns | None
    new: Columns


def grow(state: SeriesState, attempt: int, new: Columns) -> Grown:
    """Adds points (at least one) of an attempt to `state`, which it changes."""
    tail = state.tail_points()
    before = tail if state.tail_attempt == attempt else None
    todo = _summarise(state, attempt, new)
    return Grown(state, _store(state, tail, attempt, new), todo, before, new)


def amend(grown: Grown, near: list[Columns]) -> bool:
    """Brings a summary up to date after points that came late or again.

    `near`: the sealed points of the same attempt around the new ones, in the order of their
    storing. False: a point that made the summary was replaced, so all points must be looked at.
    """
    summary, key = grown.state.summary, grown.state.key
    new = sorted_unique(grown.new)
    tail = [grown.before] if grown.before is not None else []
    known = sorted_unique(Columns.concatenate([*near, *tail]))
    replaced = known.take(np.isin(known.steps, new.steps))
    if _made_it(summary, replaced):
        return False
    merged = summary.merge(summarise(new, direction=direction_of(key)), direction=direction_of(key))
    lost = summarise(replaced, direction=direction_of(key))
    grown.state.summary = merged.without(lost)
    return True


def redo(state: SeriesState, chunks: list[AttemptColumns]) -> None:
    """Sums a series up from all its points: `chunks` are the sealed ones, in order."""
    tail = state.tail_points()
    last = [AttemptColumns(state.tail_attempt, tail)] if tail is not None else []
    shown = visible_points([*chunks, *last])
    state.summary = summarise(shown.columns, direction=direction_of(state.key))
    is_newest = shown.attempts == state.newest_attempt
    if is_newest.any():
        state.first_step = int(shown.columns.steps[is_newest][0])


def _summarise(state: SeriesState, attempt: int, new: Columns) -> Todo:
    first, newest = int(new.steps.min()), state.newest_attempt
    if attempt < newest:
        is_hidden = state.first_step is not None and first >= state.first_step
        return Todo.NOTHING if is_hidden else Todo.REDO
    state.newest_attempt = attempt
    if state.summary.continues(new):
        if attempt > newest or state.first_step is None:
            state.first_step = first
        state.summary = state.summary.extend(new, direction=direction_of(state.key))
        return Todo.NOTHING
    starts = state.first_step is None or first < state.first_step
    if attempt > newest or (starts and attempt > 1):
        return Todo.REDO
    if starts:
        state.first_step = first
    return Todo.AMEND


def _store(state: SeriesState, tail: Columns | None, attempt: int, new: Columns) -> list[Chunk]:
    chunks: list[Chunk] = []
    index = state.stored_count - state.tail_count
    if tail is not None and state.tail_attempt != attempt:
        chunks.append(_seal(state, tail, index))
        index, tail = index + len(tail), None
    state.tail_attempt = attempt
    columns = new if tail is None else tail.then(new)
    full = len(columns) - len(columns) % CHUNK_POINTS
    for start in range(0, full, CHUNK_POINTS):
        part = columns.take(slice(start, start + CHUNK_POINTS))
        chunks.append(_seal(state, part, index + start))
    rest = columns.take(slice(full, None))
    state.tail_count, state.tail = len(rest), pack(rest) if len(rest) else b""
    state.stored_count += len(new)
    return chunks


def _seal(state: SeriesState, part: Columns, index: int) -> Chunk:
    seq, state.chunk_count = state.chunk_count, state.chunk_count + 1
    return Chunk(
        series_id=state.id,
        seq=seq,
        attempt=state.tail_attempt,
        first_index=index,
        first_step=int(part.steps.min()),
        last_step=int(part.steps.max()),
        n=len(part),
        payload=pack(part),
    )


def _made_it(summary: SeriesSummary, replaced: Columns) -> bool:
    """Whether one of these points was the best, the smallest or the largest."""
    values = replaced.values
    is_end = (values == summary.min) | (values == summary.max)
    return bool(is_end.any() or (replaced.steps == summary.best_step).any())
