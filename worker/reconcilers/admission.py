"""Which queued run may start: those that came first, while the cluster has room."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Cluster, ClusterStatus, Run, RunStatus

_ACTIVE = (RunStatus.SUBMITTING, RunStatus.PENDING, RunStatus.RUNNING, RunStatus.STOPPING)


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a run has to wait, and its place in the queue, from 1."""

    reason: str
    position: int


async def find_wait(session: AsyncSession, run: Run) -> Wait | None:
    """What the queued run waits for, or None: it may start now.

    Holds the cluster's row until the transaction ends, so that two workers cannot both give the
    last free place away.
    """
    query = select(Cluster).where(Cluster.id == run.cluster_id).with_for_update()
    cluster = (await session.scalars(query)).one()
    position = 1 + await _count(session, run, Run.status == RunStatus.QUEUED, Run.id < run.id)
    if cluster.status is not ClusterStatus.READY:
        what = f"cluster {cluster.name} to be ready (it is {cluster.status})"
        return Wait(f"waits for {what}, position {position}", position)
    active = await _count(session, run, Run.status.in_(_ACTIVE))
    if active + position > cluster.max_running_runs:
        others = "another run" if active == 1 else f"{active} runs"
        what = f"{others} on cluster {cluster.name}" if active else "earlier runs"
        return Wait(f"waits for {what}, position {position}", position)
    return None


async def _count(session: AsyncSession, run: Run, *conditions: object) -> int:
    query = select(func.count(Run.id)).where(
        Run.cluster_id == run.cluster_id, Run.id != run.id, Run.deleted_at.is_(None)
    )
    for condition in conditions:
        query = query.where(condition)  # type: ignore[arg-type]
    return await session.scalar(query) or 0
