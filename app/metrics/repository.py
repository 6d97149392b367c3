"""Queries on metric series, their chunks, and evaluations made while training."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import and_, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import MetricChunk, MetricSeries, Run, TrainingEvaluation

# SQLite takes 32,766 parameters in a statement; stay well below.
_BATCH = 5_000


async def begin_append(session: AsyncSession, run_id: UUID) -> None:
    """Counts the append, and with it lets one writer at a time add to a run's series."""
    counted = update(Run).where(Run.id == run_id)
    await session.execute(counted.values(metrics_revision=Run.metrics_revision + 1))


async def find_series(
    session: AsyncSession, run_ids: Sequence[UUID], keys: Sequence[str]
) -> list[MetricSeries]:
    """The series of the given keys in the given runs, in no order."""
    found: list[MetricSeries] = []
    for start in range(0, len(keys), _BATCH):
        query = select(MetricSeries).where(
            MetricSeries.run_id.in_(run_ids), MetricSeries.key.in_(keys[start : start + _BATCH])
        )
        found.extend(await session.scalars(query))
    return found


async def count_series(session: AsyncSession, run_id: UUID) -> int:
    query = select(func.count()).select_from(MetricSeries).where(MetricSeries.run_id == run_id)
    return int(await session.scalar(query) or 0)


async def list_series(session: AsyncSession, run_id: UUID) -> Sequence[MetricSeries]:
    """All series of a run by key."""
    query = select(MetricSeries).where(MetricSeries.run_id == run_id).order_by(MetricSeries.key)
    return (await session.scalars(query)).all()


async def newest_chunks(
    session: AsyncSession, series_ids: Sequence[UUID]
) -> dict[UUID, MetricChunk]:
    """The chunk with the highest number of each series."""
    found: dict[UUID, MetricChunk] = {}
    for start in range(0, len(series_ids), _BATCH):
        newest = (
            select(MetricChunk.series_id, func.max(MetricChunk.seq).label("seq"))
            .where(MetricChunk.series_id.in_(series_ids[start : start + _BATCH]))
            .group_by(MetricChunk.series_id)
            .subquery()
        )
        query = select(MetricChunk).join(
            newest,
            and_(MetricChunk.series_id == newest.c.series_id, MetricChunk.seq == newest.c.seq),
        )
        found |= {chunk.series_id: chunk for chunk in await session.scalars(query)}
    return found


async def chunks_of(
    session: AsyncSession, after: Sequence[tuple[UUID, int]]
) -> dict[UUID, list[MetricChunk]]:
    """Chunks in order, by series, that hold points at or after a stored index: (series, index)."""
    if not after:
        return {}
    whole = [series_id for series_id, index in after if index == 0]
    wanted = [MetricChunk.series_id.in_(whole)] + [
        and_(MetricChunk.series_id == series_id, MetricChunk.first_index + MetricChunk.n > index)
        for series_id, index in after
        if index > 0
    ]
    query = select(MetricChunk).where(or_(*wanted)).order_by(MetricChunk.series_id, MetricChunk.seq)
    found: dict[UUID, list[MetricChunk]] = {}
    for chunk in await session.scalars(query):
        found.setdefault(chunk.series_id, []).append(chunk)
    return found


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
