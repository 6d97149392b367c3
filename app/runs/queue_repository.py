"""Queries on the queues of clusters: what is under way, what waits, what a sweep holds back."""

from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, case, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Cluster, Run, RunStatus, Sweep

_ACTIVE = (RunStatus.SUBMITTING, RunStatus.PENDING, RunStatus.RUNNING, RunStatus.STOPPING)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued run. `sweep_limit`: of its sweep, if that has as many runs under way or before."""

    run_id: UUID
    sweep_limit: int | None


async def queued_before(session: AsyncSession, run: Run) -> int:
    """How many runs the cluster takes before this queued one: active and queued ones.

    Whatever became of its row, a run that is under way takes its place. One that is held back by
    its sweep takes none, so that others need not wait for it.
    """
    ahead = or_(
        Run.status.in_(_ACTIVE),
        and_(_is_queued(), Run.id < run.id, Run.id.not_in(_held())),
    )
    query = select(func.count(Run.id)).where(
        Run.cluster_id == run.cluster_id, Run.id != run.id, ahead
    )
    return await session.scalar(query) or 0


async def active_by_cluster(session: AsyncSession) -> dict[UUID, int]:
    """How many runs each cluster is busy with."""
    return {row[0]: row[1] for row in await session.execute(_active())}


async def queued_by_cluster(session: AsyncSession) -> dict[UUID, list[Waiting]]:
    """The runs that wait for each cluster, the next one first."""
    found: dict[UUID, list[Waiting]] = {}
    for row in (await session.execute(_waiting())).all():
        found.setdefault(row[0], []).append(Waiting(row[1], row[2]))
    return found


async def sweep_limit(session: AsyncSession, run: Run) -> int | None:
    """The limit of the queued run's sweep, if as many others are under way or queued before it."""
    queue = _queue().where(Run.sweep_id == run.sweep_id).subquery()
    query = select(queue.c.sweep_limit).where(
        queue.c.run_id == run.id, queue.c.ahead >= queue.c.sweep_limit
    )
    return await session.scalar(query)


@cache
def _active() -> Select[UUID, int]:
    # Making these two takes longer than running them, and each page with a cluster on it asks.
    return (
        select(Cluster.id, func.count(Run.id))
        .join(Run, Run.cluster_id == Cluster.id)
        .where(Run.status.in_(_ACTIVE))
        .group_by(Cluster.id)
    )


@cache
def _waiting() -> Select[Any]:
    queue = _queue().subquery()
    limit: ColumnElement[int | None] = case(
        (queue.c.ahead >= queue.c.sweep_limit, queue.c.sweep_limit)
    )
    return select(queue.c.cluster_id, queue.c.run_id, limit).order_by(queue.c.run_id)


def _queue() -> Select[Any]:
    """Queued runs with the limit of their sweep, and how many of the sweep's runs go before them.

    Those are the runs under way and the queued ones that were made earlier.
    """
    under_way = (
        select(Run.sweep_id, func.count(Run.id).label("count"))
        .where(Run.sweep_id.is_not(None), Run.status.in_(_ACTIVE))
        .group_by(Run.sweep_id)
        .subquery()
    )
    place = func.row_number().over(partition_by=Run.sweep_id, order_by=Run.id)
    ahead = place - 1 + func.coalesce(under_way.c.count, 0)
    return (
        select(
            Run.cluster_id,
            Run.id.label("run_id"),
            Sweep.max_running_runs.label("sweep_limit"),
            ahead.label("ahead"),
        )
        .outerjoin(Sweep, Sweep.id == Run.sweep_id)
        .outerjoin(under_way, under_way.c.sweep_id == Run.sweep_id)
        .where(_is_queued(), Run.cluster_id.is_not(None))
    )


def _held() -> Select[tuple[UUID]]:
    """The ids of queued runs that wait for others of their sweep."""
    queue = _queue().where(Run.sweep_id.is_not(None)).subquery()
    return select(queue.c.run_id).where(queue.c.ahead >= queue.c.sweep_limit)


def _is_queued() -> ColumnElement[bool]:
    return and_(Run.status == RunStatus.QUEUED, Run.deleted_at.is_(None))
