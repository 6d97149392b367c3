"""What the pages about clusters are given."""

from dataclasses import dataclass

from app.web.cluster_line import ClusterLine
from app.web.forms import FormField


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
    """`ray_version` is empty until the cluster was reached. The last two: see `Cluster`."""

    line: ClusterLine
    kind: str
    ray_version: str
    nodes: list[NodeRow]
    is_embedded: bool
    runs_member_code: bool
    shows_secrets: bool


@dataclass(frozen=True, slots=True)
class ClustersPage:
    """`worker_count`: workers alive within the last half minute; none means nothing moves."""

    clusters: list[ClusterCard]
    worker_count: int
    can_manage: bool


@dataclass(frozen=True, slots=True)
class ConsentsPage:
    """What an administrator agrees to. Whoever allows more types the cluster's name."""

    slug: str
    name: str
    is_embedded: bool
    runs_member_code: bool
    shows_secrets: bool
    confirm_field: FormField
