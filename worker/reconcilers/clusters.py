"""Keeps what is shown of a cluster in line with what the cluster itself says."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from app.clusters import registry
from app.clusters import service as clusters
from app.clusters.registry import ClusterAccess
from app.db import ReadSession, WriteSession
from app.models import Cluster, ClusterKind, ClusterStatus
from app.ray.errors import RayError
from app.ray.gateway import ClusterInfo, NodeInfo
from app.ray.head_state import HeadPhase, read_head_state
from worker.reconciler import Reconciler
from worker.reconcilers.gateways import Gateways

# Each look asks for all nodes, and of a cluster that is well there is little news.
STEADY_POLLS = 5

_PHASES = {
    HeadPhase.STARTING: ClusterStatus.STARTING,
    HeadPhase.FAILED: ClusterStatus.FAILED,
    HeadPhase.STOPPED: ClusterStatus.STOPPED,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A cluster and how it is called."""

    cluster_id: UUID
    access: ClusterAccess


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is to be shown. `info` None: the cluster did not answer, or was not asked."""

    status: ClusterStatus
    message: str
    info: ClusterInfo | None = None
    nodes: tuple[NodeInfo, ...] = ()


class ClustersReconciler(Reconciler[Subject, Sighting]):
    """Reconciles clusters. `poll`: the pause between two looks at one that is not ready."""

    model = Cluster

    def __init__(self, gateways: Gateways, *, home: Path, poll: timedelta) -> None:
        self._gateways = gateways
        self._home = home
        self._poll = poll

    async def load(self, session: ReadSession, row_id: UUID) -> Subject:
        cluster = await session.get_one(Cluster, row_id)
        return Subject(cluster.id, await registry.access(session, cluster))

    async def observe(self, subject: Subject) -> Sighting:
        if subject.access.kind is ClusterKind.EMBEDDED and (early := self._before_ready()):
            return early
        try:
            gateway = self._gateways.get(subject.access)
            info, nodes = await gateway.cluster(), await gateway.nodes()
        except RayError as error:
            return Sighting(ClusterStatus.UNREACHABLE, error.message)
        return Sighting(ClusterStatus.READY, "", info, tuple(nodes))

    async def apply(
        self, session: WriteSession, subject: Subject, observed: Sighting, *, now: datetime
    ) -> datetime | None:
        cluster = await session.get_one(Cluster, subject.cluster_id)
        if cluster.removed_at is not None:
            return None
        cluster.status = observed.status
        cluster.message = observed.message
        cluster.observed_at = now
        if observed.info is not None:
            restarted_at = _restarted_at(cluster, observed.info.session_name, now)
            cluster.session_name = observed.info.session_name
            cluster.details = (
                _details(observed.info, observed.nodes) | restarted_at | _way_back(cluster)
            )
        is_slow = observed.status is ClusterStatus.READY or subject.access.target is not None
        return now + self._poll * (STEADY_POLLS if is_slow else 1)

    def _before_ready(self) -> Sighting | None:
        """What the embedded head's file says, unless it says that the head answers."""
        state = read_head_state(self._home)
        if state is None:
            return Sighting(ClusterStatus.STARTING, "Ray has not been started yet")
        if state.phase is HeadPhase.READY:
            return None
        return Sighting(_PHASES[state.phase], state.message)


def _restarted_at(cluster: Cluster, session_name: str, now: datetime) -> dict[str, str]:
    """When its head was last seen to be another one: whatever ran then is gone."""
    if cluster.session_name not in (None, session_name):
        return {"head_restarted_at": now.isoformat()}
    before = cluster.details.get("head_restarted_at")
    return {"head_restarted_at": before} if before else {}


def _way_back(cluster: Cluster) -> dict[str, bool]:
    """What a check found: it stays until the next one."""
    found = clusters.has_way_back(cluster)
    return {} if found is None else {clusters.WAY_BACK: found}


def _details(info: ClusterInfo, nodes: tuple[NodeInfo, ...]) -> dict[str, Any]:
    return {
        "ray_version": info.ray_version,
        "nodes": [
            {
                "node_id": node.node_id,
                "address": node.address,
                "hostname": node.hostname,
                "is_head": node.is_head,
                "is_alive": node.is_alive,
                "cpu_count": node.cpu_count,
                "gpu_count": node.gpu_count,
                "cpu_percent": node.cpu_percent,
                "memory_total_bytes": node.memory_total_bytes,
                "memory_used_bytes": node.memory_used_bytes,
            }
            for node in nodes
        ],
    }
