"""What the pages about clusters are given."""

from dataclasses import dataclass
from datetime import datetime

from app.models import Cluster
from app.runs.service import ClusterLoad


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


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A machine of the cluster, as the worker last saw it. `cpu_percent` is of the machine."""

    name: str
    is_head: bool
    is_alive: bool
    cpu_count: float
    cpu_percent: float
    memory_used_bytes: int
    memory_total_bytes: int


@dataclass(frozen=True, slots=True)
class ClusterCard:
    """`ray_version` is empty until the cluster was reached."""

    line: ClusterLine
    kind: str
    ray_version: str
    nodes: list[NodeRow]


@dataclass(frozen=True, slots=True)
class ClustersPage:
    """`worker_count`: workers alive within the last half minute; none means nothing moves."""

    clusters: list[ClusterCard]
    worker_count: int


def cluster_line(cluster: Cluster, load: ClusterLoad) -> ClusterLine:
    return ClusterLine(
        slug=cluster.slug,
        name=cluster.name,
        status=cluster.status,
        message=cluster.message,
        observed_at=cluster.observed_at,
        running_count=load.active_count,
        queued_count=len(load.queued),
        limit=cluster.max_running_runs,
    )
