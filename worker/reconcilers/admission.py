"""Which queued run may start: those that came first, while the cluster has room."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Cluster, ClusterStatus, Run, RunStatus

_ACTIVE = (RunStatus.SUBMITTING, RunStatus.PENDING, RunStatus.RUNNING, RunStatus.STOPPING)


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a run has to wait, and its place: 1 would be the next while nothing runs."""

    reason: str
    position: int


async def find_wait(session: AsyncSession, run: Run) -> Wait | None:
    """What the queued run waits for, or None: it may start now.

    Holds the cluster's row until the transaction ends, so that two workers cannot both give the
    last free place away.
    """
    query = select(Cluster).where(Cluster.id == run.cluster_id).with_for_update()
    cluster = (await session.scalars(query)).one()
    active = await _count(session, run, Run.status.in_(_ACTIVE))
    earlier = await _count(session, run, Run.status == RunStatus.QUEUED, Run.id < run.id)
    position = active + earlier + 1
    if cluster.status is not ClusterStatus.READY:
        what = f"cluster {cluster.name} to be ready (it is {cluster.status})"
    elif position > cluster.max_running_runs:
        what = f"{'1 run' if position == 2 else f'{position - 1} runs'} before it"
    else:
        return None
    return Wait(f"waits for {what}, position {position}", position)


async def _count(session: AsyncSession, run: Run, *conditions: ColumnElement[bool]) -> int:
    others = (Run.cluster_id == run.cluster_id, Run.id != run.id, Run.deleted_at.is_(None))
    query = select(func.count(Run.id)).where(*others, *conditions)
    return await session.scalar(query) or 0
