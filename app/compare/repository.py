"""Queries of a comparison: three, however many runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Float, and_, cast, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased, joinedload

from app.models import MetricKey, MetricSeries, Run, TrainingEvaluation


@dataclass(frozen=True, slots=True)
class Summary:
    """What a series of a run is summed up to; `best` as the key's direction says."""

    run_id: UUID
    key: str
    last: float | None
    last_step: int | None
    best: float | None
    best_step: int | None
    count: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """The newest or the best evaluation of a run, or both; `count` of it are shown in all."""

    row: TrainingEvaluation
    count: int
    is_last: bool
    is_best: bool


async def list_runs(session: AsyncSession, slugs: Sequence[str]) -> dict[str, Run]:
    """By slug, with experiment, config, cluster and attempts."""
    query = (
        select(Run)
        .where(Run.slug.in_(slugs))
        .options(
            joinedload(Run.experiment),
            joinedload(Run.config),
            joinedload(Run.cluster),
            joinedload(Run.attempts),
        )
    )
    return {run.slug: run for run in (await session.scalars(query)).unique()}


async def list_summaries(
    session: AsyncSession, run_ids: Sequence[UUID], keys: Sequence[str], *, limit: int
) -> list[Summary]:
    """Of `keys`, and of those keys besides that most of the runs have; at most `limit`."""
    counted = aliased(MetricSeries)
    shared = (
        select(counted.key_id)
        .where(counted.run_id.in_(run_ids))
        .group_by(counted.key_id)
        .order_by(func.count().desc(), counted.key_id)
        .limit(limit)
        .subquery()
    )
    series = MetricSeries
    query = (
        select(
            series.run_id,
            MetricKey.name,
            series.last,
            series.last_step,
            series.best,
            series.best_step,
            series.count,
        )
        .join(MetricKey, MetricKey.id == series.key_id)
        .where(series.run_id.in_(run_ids))
        .where(or_(series.key_id.in_(select(shared.c.key_id)), MetricKey.name.in_(keys)))
        .order_by(MetricKey.name)
    )
    return [Summary(*row) for row in await session.execute(query)]


async def list_chosen(session: AsyncSession, run_ids: Sequence[UUID]) -> list[Chosen]:
    """The newest evaluation of each run, and its best: with the largest share solved, the first
    of equals. What a newer attempt did again does not count.
    """
    shown = _shown(run_ids)
    share = cast(shown.c.solved_count, Float) / func.nullif(shown.c.n, 0)
    better = (func.coalesce(share, -1).desc(), shown.c.step)
    of_run = shown.c.run_id
    number = func.row_number()
    ranked = (
        select(
            shown.c.id,
            func.count().over(partition_by=of_run).label("count"),
            number.over(partition_by=of_run, order_by=shown.c.step.desc()).label("newest"),
            number.over(partition_by=of_run, order_by=better).label("best"),
        )
        .where(or_(shown.c.hidden_from.is_(None), shown.c.step < shown.c.hidden_from))
        .subquery()
    )
    is_last, is_best = ranked.c.newest == 1, ranked.c.best == 1
    query = select(TrainingEvaluation, ranked.c.count, is_last, is_best).join(
        ranked, and_(ranked.c.id == TrainingEvaluation.id, or_(is_last, is_best))
    )
    return [Chosen(*row) for row in await session.execute(query)]


class Place(NamedTuple):
    """One evaluation of a run, without what it holds."""

    id: UUID
    run_id: UUID
    step: int


async def list_places(session: AsyncSession, run_ids: Sequence[UUID]) -> list[Place]:
    """All evaluations that are shown, by step."""
    shown = _shown(run_ids)
    query = select(shown.c.id, shown.c.run_id, shown.c.step).where(
        or_(shown.c.hidden_from.is_(None), shown.c.step < shown.c.hidden_from)
    )
    return [Place(*row) for row in await session.execute(query.order_by(shown.c.step))]


async def list_evaluations(
    session: AsyncSession, ids: Sequence[UUID]
) -> Sequence[TrainingEvaluation]:
    """With their items, in no order."""
    query = select(TrainingEvaluation).where(TrainingEvaluation.id.in_(ids))
    return (await session.scalars(query)).all()


def _shown(run_ids: Sequence[UUID]) -> Any:
    """Evaluations, with the first step that a newer attempt evaluated: it hides them from there."""
    table = TrainingEvaluation
    hidden_from = func.min(table.step).over(
        partition_by=table.run_id, order_by=table.attempt_number.desc(), groups=(None, -1)
    )
    return (
        select(
            table.id,
            table.run_id,
            table.step,
            table.n,
            table.solved_count,
            hidden_from.label("hidden_from"),
        )
        .where(table.run_id.in_(run_ids))
        .subquery()
    )
