"""Takes points into the series store, inside the caller's transaction."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.metrics import repository
from app.metrics.columns import Columns, to_milliseconds, unpack, unpack_many
from app.metrics.growth import Grown, SeriesState, Todo, amend, grow, redo
from app.metrics.repository import ChunkRow
from app.metrics.series import AttemptColumns
from app.metrics.summaries import SeriesSummary

# Series whose older points are read at once; and how many points of them.
_SERIES_AT_ONCE = 200
_POINTS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One logged value. `time` is in Unix seconds; NaN and infinities are kept as such."""

    key: str
    step: int
    value: float
    time: float


async def ingest(
    session: AsyncSession, run_id: UUID, attempt: int, points: Iterable[MetricPoint]
) -> int:
    """As `ingest_columns`, for points one by one."""
    return await ingest_columns(session, run_id, attempt, columns_by_key(points))


async def ingest_columns(
    session: AsyncSession,
    run_id: UUID,
    attempt: int,
    columns: Mapping[str, Columns],
    *,
    admit: repository.Admit | None = None,
) -> int:
    """Appends points, by key, to the run's series and brings their summaries up to date.

    Returns how many were stored. Costs a few statements however many keys there are. Points that
    were stored before are read again only near steps that come late or again, and as a whole when
    a new attempt goes back. Times are kept to the millisecond. `admit` is asked before the
    run gets new keys.
    """
    given = {key: points for key, points in columns.items() if len(points)}
    if not given:
        return 0
    await repository.begin_append(session, run_id)
    states = await repository.states_of(session, run_id, list(given), admit=admit)
    grown = await asyncio.to_thread(_grow, states, attempt, given)
    await repository.add_chunks(session, [chunk for each in grown for chunk in each.chunks])
    await _finish(session, grown)
    await repository.save_states(session, [each.state for each in grown])
    return sum(len(points) for points in given.values())


async def ingest_new(session: AsyncSession, given: Mapping[UUID, Mapping[str, Columns]]) -> int:
    """As `ingest_columns` of attempt 1, for runs by id that have no points yet and whose rows
    nobody else knows.

    Three statements and those for new keys, however many runs there are.
    """
    named = [(run_id, key) for run_id, columns in given.items() for key in columns]
    points = [given[run_id][key] for run_id, key in named]
    filled = [place for place, each in enumerate(points) if len(each)]
    grown = await asyncio.to_thread(_grow_new, [(named[i][1], points[i]) for i in filled])
    await repository.add_series(session, [(named[i][0], grown[n]) for n, i in enumerate(filled)])
    return sum(map(len, points))


def columns_by_key(points: Iterable[MetricPoint]) -> dict[str, Columns]:
    rows: dict[str, list[tuple[int, float, float]]] = {}
    for point in points:
        rows.setdefault(point.key, []).append((point.step, point.value, point.time))
    return {key: Columns.of(triples) for key, triples in rows.items()}


def columns_of(chunks: Sequence[ChunkRow]) -> list[AttemptColumns]:
    """The points of stored chunks, in the order of their storing."""
    columns = unpack_many([chunk.payload for chunk in chunks])
    return [
        AttemptColumns(chunk.attempt, part) for chunk, part in zip(chunks, columns, strict=True)
    ]


def _grow(
    states: Mapping[str, SeriesState], attempt: int, given: Mapping[str, Columns]
) -> list[Grown]:
    return [grow(states[key], attempt, _as_kept(points)) for key, points in given.items()]


def _grow_new(given: Sequence[tuple[str, Columns]]) -> list[Grown]:
    found = []
    for key, points in given:
        each = grow(SeriesState(0, key, SeriesSummary()), 1, _as_kept(points))
        if each.todo is not Todo.NOTHING:
            sealed = [AttemptColumns(1, unpack(chunk.payload)) for chunk in each.chunks]
            redo(each.state, sealed)
        found.append(each)
    return found


def _as_kept(points: Columns) -> Columns:
    return Columns(points.steps, points.values, to_milliseconds(points.times), points.excess)


async def _finish(session: AsyncSession, grown: Sequence[Grown]) -> None:
    """Sums up what the new points alone do not tell."""
    late = [each for each in grown if each.todo is Todo.AMEND]
    whole = [each.state for each in grown if each.todo is Todo.REDO]
    for start in range(0, len(late), _SERIES_AT_ONCE):
        some = late[start : start + _SERIES_AT_ONCE]
        near = await repository.chunks_near(session, [_place(each) for each in some])
        whole += await asyncio.to_thread(_amend, some, near)
    for states in _of_few_points(whole):
        chunks = await repository.chunks_of(session, [(state.id, 0) for state in states])
        await asyncio.to_thread(_redo, states, chunks)


def _place(grown: Grown) -> repository.Place:
    """Where the older points lie that the new ones may replace."""
    state, steps = grown.state, grown.new.steps
    sealed = state.chunk_count - len(grown.chunks)
    return repository.Place(
        state.id, sealed, state.newest_attempt, int(steps.min()), int(steps.max())
    )


def _amend(late: Sequence[Grown], near: Mapping[int, Sequence[ChunkRow]]) -> list[SeriesState]:
    """Amends what can be; returns the rest."""
    left = []
    for each in late:
        chunks = columns_of(near.get(each.state.id, ()))
        if not amend(each, [chunk.columns for chunk in chunks]):
            left.append(each.state)
    return left


def _redo(states: Sequence[SeriesState], chunks: Mapping[int, Sequence[ChunkRow]]) -> None:
    for state in states:
        redo(state, columns_of(chunks.get(state.id, ())))


def _of_few_points(states: Sequence[SeriesState]) -> Iterator[list[SeriesState]]:
    """Groups that are read together, so that thousands of long series do not fill the memory."""
    group: list[SeriesState] = []
    count = 0
    for state in states:
        if group and (len(group) == _SERIES_AT_ONCE or count > _POINTS_AT_ONCE):
            yield group
            group, count = [], 0
        group.append(state)
        count += state.stored_count
    if group:
        yield group
