"""Which queued run may start: those that came first, while cluster and sweep have room."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.clusters import service as clusters
from app.models import Cluster, ClusterStatus, Run
from app.runs import queue


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a run has to wait, and its place: 1 would be the next while nothing runs.

    `position` is None where its sweep holds it back.
    """

    reason: str
    position: int | None


async def find_wait(session: AsyncSession, run: Run) -> Wait | None:
    """What the queued run waits for, or None: it may start now.

    Holds the cluster's row until the transaction ends, so that two workers cannot both give the
    last free place away. All runs of a sweep are of one cluster, so that this holds for them, too.
    """
    query = select(Cluster).where(Cluster.id == run.cluster_id).with_for_update()
    # What was read of it before the lock may be old by now.
    query = query.execution_options(populate_existing=True)
    cluster = (await session.scalars(query)).one()
    limit = await queue.sweep_limit(session, run)
    position = await queue.queue_position(session, run)
    if clusters.is_off(cluster):
        what = f"cluster {cluster.name}, which is off ({cluster.message})"
    elif cluster.status is not ClusterStatus.READY:
        what = f"cluster {cluster.name} to be ready (it is {cluster.status})"
    elif limit is not None:
        what = f"other runs of its sweep, which runs {limit} at a time"
    elif position is not None and position > cluster.max_running_runs:
        what = f"{'1 run' if position == 2 else f'{position - 1} runs'} before it"
    else:
        return None
    place = f", position {position}" if position is not None else ""
    return Wait(f"waits for {what}{place}", position)
