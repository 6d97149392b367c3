"""A cluster in one line, as pages of several features show it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.models import Cluster, Run
from app.runs.queue import ClusterLoad
from app.runs.shown import ShownRun


@dataclass(frozen=True, slots=True)
class ClusterLine:
    """A cluster in one line. `status` as in `ClusterStatus`; `limit` of runs at once."""

    slug: str
    name: str
    status: str
    message: str
    observed_at: datetime | None
    running_count: int
    queued_count: int
    limit: int


def cluster_line(cluster: Cluster, load: ClusterLoad) -> ClusterLine:
    return ClusterLine(
        slug=cluster.slug,
        name=cluster.name,
        status=cluster.status,
        message=cluster.message,
        observed_at=cluster.observed_at,
        running_count=load.active_count,
        queued_count=load.waiting_count,
        limit=cluster.max_running_runs,
    )


def load_of(run: Run | ShownRun, loads: Mapping[UUID, ClusterLoad]) -> ClusterLoad:
    """What the run's cluster is busy with."""
    return loads.get(run.cluster_id, ClusterLoad()) if run.cluster_id else ClusterLoad()
