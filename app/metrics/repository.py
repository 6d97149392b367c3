"""Queries on metric series, their chunks, and evaluations made while training."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Select, and_, bindparam, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.interned import (
    PlainStatement,
    batches,
    execute_many,
    find_numbers,
    numbers_of,
    table_of,
)
from app.metrics.growth import Chunk, Grown, SeriesState
from app.metrics.summaries import SeriesSummary
from app.models import MetricChunk, MetricKey, MetricSeries, Run, TrainingEvaluation

# Alternatives in one condition: SQLite nests them, at most 1,000 deep.
_PLACES = 200
_SUMMARY = ("count", "non_finite", "last", "last_step", "best", "best_step", "min", "max")
_CHUNK = ("series_id", "seq", "attempt", "first_index", "first_step", "last_step", "n", "payload")
_STORED = (
    "stored_count",
    "newest_attempt",
    "first_step",
    "chunk_count",
    "tail_attempt",
    "tail_count",
    "tail",
)
_summary_values, _stored_values = attrgetter(*_SUMMARY), attrgetter(*_STORED)
_chunk_values = attrgetter(*_CHUNK)
_SERIES = table_of(MetricSeries)
_CHANGED: dict[str, Any] = {name: bindparam(name) for name in (*_SUMMARY, *_STORED)}
_SAVE = PlainStatement(
    update(_SERIES).where(_SERIES.c.id == bindparam("series_id")).values(_CHANGED),
    (*_SUMMARY, *_STORED, "series_id"),
)
_ADD = PlainStatement(insert(table_of(MetricChunk)), _CHUNK)


class SeriesRow(NamedTuple):
    """What reading a series wants of its row."""

    id: int
    run_id: UUID
    key: str
    stored_count: int
    newest_attempt: int
    last_step: int | None
    chunk_count: int
    tail_attempt: int
    tail_count: int
    tail: bytes


class ChunkRow(NamedTuple):
    """A sealed piece of a series, as it is stored; see `MetricChunk`."""

    series_id: int
    seq: int
    attempt: int
    first_index: int
    payload: bytes


_READ = select(
    _SERIES.c.id,
    _SERIES.c.run_id,
    _SERIES.c.key_id,
    *(_SERIES.c[name] for name in SeriesRow._fields[3:]),
).where(
    _SERIES.c.run_id.in_(bindparam("run_ids", expanding=True)),
    _SERIES.c.key_id.in_(bindparam("key_ids", expanding=True)),
)
_CHUNKS = table_of(MetricChunk)
_READ_CHUNKS = select(*(_CHUNKS.c[name] for name in ChunkRow._fields)).order_by(
    _CHUNKS.c.series_id, _CHUNKS.c.seq
)
_READ_WHOLE = _READ_CHUNKS.where(_CHUNKS.c.series_id.in_(bindparam("ids", expanding=True)))

Admit = Callable[[Sequence[str], int], Awaitable[None]]


class Place(NamedTuple):
    """Where sealed points lie: of an attempt, between two steps, in the first `chunks` chunks."""

    series_id: int
    chunks: int
    attempt: int
    first_step: int
    last_step: int


async def begin_append(session: AsyncSession, run_id: UUID) -> None:
    """Counts the append, and with it lets one writer at a time add to a run's series."""
    counted = update(Run).where(Run.id == run_id)
    await session.execute(
        counted.values(metrics_revision=Run.metrics_revision + 1),
        execution_options={"synchronize_session": False},
    )


async def states_of(
    session: AsyncSession, run_id: UUID, keys: Sequence[str], *, admit: Admit | None = None
) -> dict[str, SeriesState]:
    """The run's series of these keys; those that are missing are made, without points.

    `admit` is given the missing keys, and how many the run has already; it may refuse them.
    """
    found = await _find_states(session, run_id, keys)
    missing = [key for key in keys if key not in found]
    if missing:
        if admit is not None:
            await admit(missing, await _count(session, run_id))
        ids = await numbers_of(session, MetricKey, missing)
        rows = [_empty(run_id, key_id) for key_id in ids.values()]
        await execute_many(session, insert(table_of(MetricSeries)), rows)
        found |= await _find_states(session, run_id, missing)
    return found


async def save_states(session: AsyncSession, states: Sequence[SeriesState]) -> None:
    """Writes what `states_of` gave, changed, in one statement."""
    rows = [(*_summary_values(state.summary), *_stored_values(state), state.id) for state in states]
    await _SAVE.execute(session, rows)


async def add_series(session: AsyncSession, made: Sequence[tuple[UUID, Grown]]) -> None:
    """New series of runs by id, with their chunks; the states get no id."""
    if not made:
        return
    numbers = await numbers_of(session, MetricKey, list({each.state.key for _, each in made}))
    rows = [
        {"run_id": run_id, "key_id": numbers[each.state.key]}
        | dict(zip(_SUMMARY, _summary_values(each.state.summary), strict=True))
        | dict(zip(_STORED, _stored_values(each.state), strict=True))
        for run_id, each in made
    ]
    await execute_many(session, insert(_SERIES), rows)
    ids = await _ids_of(session, list({run_id for run_id, _ in made}))
    chunks = [
        replace(chunk, series_id=ids[run_id, numbers[each.state.key]])
        for run_id, each in made
        for chunk in each.chunks
    ]
    await add_chunks(session, chunks)


async def add_chunks(session: AsyncSession, chunks: Sequence[Chunk]) -> None:
    await _ADD.execute(session, [_chunk_values(chunk) for chunk in chunks])


async def read_rows(
    session: AsyncSession, run_ids: Sequence[UUID], keys: Sequence[str]
) -> list[SeriesRow]:
    """The series of the given keys in the given runs, in no order."""
    numbers = await find_numbers(session, MetricKey, keys)
    names = {number: name for name, number in numbers.items()}
    found: list[SeriesRow] = []
    for some in batches(list(names)):
        rows = await session.execute(_READ, {"run_ids": run_ids, "key_ids": some})
        found.extend(
            SeriesRow(number, run_id, names[key_id], *rest)
            for number, run_id, key_id, *rest in rows
        )
    return found


async def list_series(session: AsyncSession, run_id: UUID) -> Sequence[MetricSeries]:
    """All series of a run by key."""
    query = (
        select(MetricSeries)
        .join(MetricSeries.metric_key)
        .where(MetricSeries.run_id == run_id)
        .order_by(MetricKey.name)
    )
    return (await session.scalars(query)).all()


async def list_series_of(
    session: AsyncSession, run_ids: Sequence[UUID]
) -> dict[UUID, list[MetricSeries]]:
    """All series by run, in one query."""
    query = select(MetricSeries).where(MetricSeries.run_id.in_(run_ids))
    found: dict[UUID, list[MetricSeries]] = {}
    for series in await session.scalars(query.order_by(MetricSeries.id)):
        found.setdefault(series.run_id, []).append(series)
    return found


async def chunks_of(
    session: AsyncSession, after: Sequence[tuple[int, int]]
) -> dict[int, list[ChunkRow]]:
    """Chunks in order, by series, that hold points at or after a stored index: (series, index)."""
    found: dict[int, list[ChunkRow]] = {}
    whole = [series_id for series_id, index in after if index == 0]
    for some in batches(whole):
        await _collect(session, found, _READ_WHOLE, {"ids": some})
    parts = [
        and_(MetricChunk.series_id == series_id, MetricChunk.first_index + MetricChunk.n > index)
        for series_id, index in after
        if index > 0
    ]
    for start in range(0, len(parts), _PLACES):
        await _collect(session, found, _READ_CHUNKS.where(or_(*parts[start : start + _PLACES])))
    return found


async def chunks_near(session: AsyncSession, places: Sequence[Place]) -> dict[int, list[ChunkRow]]:
    """Chunks in order, by series, with points at those places; at most 200 places."""
    found: dict[int, list[ChunkRow]] = {}
    wanted = [
        and_(
            MetricChunk.series_id == place.series_id,
            MetricChunk.seq < place.chunks,
            MetricChunk.attempt == place.attempt,
            MetricChunk.last_step >= place.first_step,
            MetricChunk.first_step <= place.last_step,
        )
        for place in places
        if place.chunks
    ]
    if wanted:
        await _collect(session, found, _READ_CHUNKS.where(or_(*wanted)))
    return found


async def _count(session: AsyncSession, run_id: UUID) -> int:
    query = select(func.count()).select_from(MetricSeries).where(MetricSeries.run_id == run_id)
    return int(await session.scalar(query) or 0)


async def _ids_of(session: AsyncSession, run_ids: Sequence[UUID]) -> dict[tuple[UUID, int], int]:
    """Numbers of all series of the runs, by run id and number of the key."""
    columns = _SERIES.c
    query = select(columns.run_id, columns.key_id, columns.id).where(columns.run_id.in_(run_ids))
    return {(run_id, key_id): number for run_id, key_id, number in await session.execute(query)}


async def _collect(
    session: AsyncSession,
    found: dict[int, list[ChunkRow]],
    query: Select[Any],
    parameters: dict[str, Any] | None = None,
) -> None:
    for row in await session.execute(query, parameters):
        chunk = ChunkRow(*row)
        found.setdefault(chunk.series_id, []).append(chunk)


async def _find_states(
    session: AsyncSession, run_id: UUID, keys: Sequence[str]
) -> dict[str, SeriesState]:
    series = table_of(MetricSeries).c
    names = (*_SUMMARY, *_STORED)
    found: dict[str, SeriesState] = {}
    for some in batches(keys):
        query = (
            select(series.id, MetricKey.name, *(series[name] for name in names))
            .join(MetricKey, MetricKey.id == series.key_id)
            .where(series.run_id == run_id, MetricKey.name.in_(some))
        )
        for series_id, key, *values in await session.execute(query):
            summary = SeriesSummary(*values[: len(_SUMMARY)])
            found[key] = SeriesState(series_id, key, summary, *values[len(_SUMMARY) :])
    return found


def _empty(run_id: UUID, key_id: int) -> dict[str, Any]:
    counts = ("count", "non_finite", "stored_count", "chunk_count", "tail_count")
    row: dict[str, Any] = dict.fromkeys(counts, 0)
    return row | {
        "run_id": run_id,
        "key_id": key_id,
        "newest_attempt": 1,
        "tail_attempt": 1,
        "tail": b"",
    }


async def find_newest_evaluation(session: AsyncSession, run_id: UUID) -> TrainingEvaluation | None:
    query = (
        select(TrainingEvaluation)
        .where(TrainingEvaluation.run_id == run_id)
        .order_by(TrainingEvaluation.attempt_number.desc(), TrainingEvaluation.step.desc())
        .limit(1)
    )
    return await session.scalar(query)


async def find_evaluation(
    session: AsyncSession, run_id: UUID, step: int, *, attempt: int | None
) -> TrainingEvaluation | None:
    query = (
        select(TrainingEvaluation)
        .where(TrainingEvaluation.run_id == run_id, TrainingEvaluation.step == step)
        .order_by(TrainingEvaluation.attempt_number.desc())
        .limit(1)
    )
    if attempt is not None:
        query = query.where(TrainingEvaluation.attempt_number == attempt)
    return await session.scalar(query)


class SolveCount(NamedTuple):
    """What one evaluation counted, without its items."""

    step: int
    solved: int
    n: int
    attempt: int


async def list_solve_counts(
    session: AsyncSession, run_ids: Sequence[UUID]
) -> dict[UUID, list[SolveCount]]:
    """The evaluations to show by run, by step: the newest attempt's from its first one on."""
    table = TrainingEvaluation
    query = (
        select(table.run_id, table.step, table.solved_count, table.n, table.attempt_number)
        .where(table.run_id.in_(run_ids))
        .order_by(table.attempt_number, table.step)
    )
    found: dict[UUID, list[SolveCount]] = {}
    for run_id, *values in await session.execute(query):
        count = SolveCount(*values)
        rows = found.setdefault(run_id, [])
        while rows and rows[-1].attempt < count.attempt and rows[-1].step >= count.step:
            rows.pop()
        rows.append(count)
    return found


class EvaluationCount(NamedTuple):
    """What one evaluation of one attempt counted: solved, and rewarded at all."""

    step: int
    attempt: int
    solved: int
    passed: int
    n: int


async def list_evaluation_counts(session: AsyncSession, run_id: UUID) -> list[EvaluationCount]:
    """All evaluations of a run, by attempt and step, those that a newer attempt hides included."""
    table = TrainingEvaluation
    query = (
        select(table.step, table.attempt_number, table.solved_count, table.passed_count, table.n)
        .where(table.run_id == run_id)
        .order_by(table.attempt_number, table.step)
    )
    return [EvaluationCount(*row) for row in await session.execute(query)]
