"""Who waits for what: places in the queue of a cluster, and what each cluster is busy with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Run, RunStatus
from app.runs import queue_repository


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    """`active_count` runs are under way; `queued` are the ids of those that wait, next first.

    `held` wait for other runs of their sweep, and keep no place in the queue until then: the
    number of runs that their sweep may have under way, by run id.
    """

    active_count: int = 0
    queued: Sequence[UUID] = ()
    held: Mapping[UUID, int] = field(default_factory=dict)

    @property
    def waiting_count(self) -> int:
        return len(self.queued) + len(self.held)

    def position(self, run_id: UUID) -> int | None:
        """As `queue_position` says it; None if the run does not wait here."""
        place = list(self.queued).index(run_id) if run_id in self.queued else None
        return None if place is None else self.active_count + place + 1


async def queue_position(session: AsyncSession, run: Run) -> int | None:
    """1 for the run that the cluster takes next while nothing runs.

    None if it is not queued, or held back by its sweep.
    """
    if run.status is not RunStatus.QUEUED or await sweep_limit(session, run) is not None:
        return None
    return await queue_repository.queued_before(session, run) + 1


async def sweep_limit(session: AsyncSession, run: Run) -> int | None:
    """How many runs its sweep may have under way, if that is why the queued run waits."""
    if run.sweep_id is None or run.status is not RunStatus.QUEUED:
        return None
    return await queue_repository.sweep_limit(session, run)


async def loads(session: AsyncSession) -> dict[UUID, ClusterLoad]:
    """What each cluster is busy with and what waits for it, by cluster id, in two queries."""
    active = await queue_repository.active_by_cluster(session)
    waiting = await queue_repository.queued_by_cluster(session)
    return {
        cluster_id: ClusterLoad(
            active.get(cluster_id, 0),
            [each.run_id for each in waiting.get(cluster_id, ()) if each.sweep_limit is None],
            {
                each.run_id: each.sweep_limit
                for each in waiting.get(cluster_id, ())
                if each.sweep_limit is not None
            },
        )
        for cluster_id in active.keys() | waiting.keys()
    }
