"""What the pages about clusters are given."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.web.cluster_line import ClusterLine
from app.web.forms import FormField


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A machine of the cluster, as the worker last saw it. `cpu_percent` is of the machine."""

    name: str
    is_head: bool
    is_alive: bool
    cpu_count: float
    gpu_count: float
    cpu_percent: float
    memory_used_bytes: int
    memory_total_bytes: int


@dataclass(frozen=True, slots=True)
class ClusterCard:
    """`ray_version` is empty until the cluster was reached. The last two: see `Cluster`."""

    line: ClusterLine
    kind: str
    address: str
    ray_version: str
    head_restarted_at: datetime | None
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
class FindingRow:
    """One thing that a check looked at; `message` says what to do if it is not well."""

    name: str
    ok: bool
    message: str


@dataclass(frozen=True, slots=True)
class CheckCard:
    """The newest check; no `ended_at`: the worker has not looked yet."""

    asked_by: str
    created_at: datetime
    ended_at: datetime | None
    findings: Sequence[FindingRow]


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """`facts` are label and text of its credential, for administrators alone, as is `check`."""

    card: ClusterCard
    facts: Sequence[tuple[str, str]]
    check: CheckCard | None
    worker_count: int
    can_manage: bool


@dataclass(frozen=True, slots=True)
class ClusterForm:
    """A cluster to add or change. `parts`: the fields that each kind of credential needs.

    `problems` are (control id or empty, sentence).
    """

    title: str
    action_url: str
    back_url: str
    button: str
    fields: Sequence[FormField]
    credential: FormField
    parts: Sequence[tuple[str, str, Sequence[FormField]]]
    kubeconfig_problem: str
    keeps_kubeconfig: bool
    more: Sequence[FormField]
    problems: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class RemovePage:
    """Whoever removes a cluster types its name. `busy_count`: runs that stand in the way."""

    slug: str
    name: str
    busy_count: int
    confirm_field: FormField


@dataclass(frozen=True, slots=True)
class ConsentsPage:
    """What an administrator agrees to. Whoever allows more types the cluster's name."""

    slug: str
    name: str
    is_embedded: bool
    runs_member_code: bool
    shows_secrets: bool
    confirm_field: FormField
