"""Checks of a cluster's connection that somebody asked for."""

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from app.clusters import registry
from app.clusters.registry import ClusterAccess
from app.db import ReadSession, WriteSession
from app.models import CheckStatus, Cluster, ClusterCheck
from app.ray.checkup import Finding, examine
from app.ray.connect import Connector
from app.ray.errors import RayError
from worker.reconciler import Reconciler
from worker.reconcilers.gateways import Gateways


@dataclass(frozen=True, slots=True)
class Subject:
    check_id: UUID
    access: ClusterAccess


class ChecksReconciler(Reconciler[Subject, list[Finding]]):
    """Looks anew, by a connection of its own: what an open one remembers is not what is asked."""

    model = ClusterCheck

    def __init__(self, gateways: Gateways, connector: Connector) -> None:
        self._gateways = gateways
        self._connector = connector

    async def load(self, session: ReadSession, row_id: UUID) -> Subject:
        check = await session.get_one(ClusterCheck, row_id)
        cluster = await session.get_one(Cluster, check.cluster_id)
        return Subject(check.id, await registry.access(session, cluster))

    async def observe(self, subject: Subject) -> list[Finding]:
        access = subject.access
        if access.target is None:  # the embedded one, or one whose credential cannot be had
            try:
                return await examine(self._gateways.get(access), access.address)
            except RayError as error:
                return [Finding("connection", ok=False, message=error.message)]
        client = self._connector.open(access.target)
        try:
            return await examine(client, access.address)
        finally:
            await client.aclose()

    async def apply(
        self, session: WriteSession, subject: Subject, observed: list[Finding], *, now: datetime
    ) -> datetime | None:
        check = await session.get_one(ClusterCheck, subject.check_id)
        check.status, check.ended_at = CheckStatus.DONE, now
        check.findings = [asdict(finding) for finding in observed]
        # What is shown of the cluster itself is looked at again, too.
        cluster = await session.get_one(Cluster, check.cluster_id)
        if cluster.due_at is not None:
            cluster.due_at = min(cluster.due_at, now)
        return None
