"""Checks of a cluster's connection that somebody asked for."""

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from app.clusters import registry
from app.clusters import service as clusters
from app.clusters.registry import ClusterAccess
from app.db import ReadSession, WriteSession
from app.models import CheckStatus, Cluster, ClusterCheck
from app.ray.checkup import Finding, examine
from app.ray.connect import Connector
from app.ray.errors import RayError
from app.ray.gateway import RayGateway
from worker.reconciler import Reconciler
from worker.reconcilers import way_back
from worker.reconcilers.gateways import Gateways
from worker.reconcilers.way_back import Question, WayBack


@dataclass(frozen=True, slots=True)
class Subject:
    check_id: UUID
    access: ClusterAccess
    question: Question


class ChecksReconciler(Reconciler[Subject, list[Finding]]):
    """Looks anew, by a connection of its own: what an open one remembers is not what is asked."""

    model = ClusterCheck

    def __init__(self, gateways: Gateways, connector: Connector, way_back: WayBack) -> None:
        self._gateways = gateways
        self._connector = connector
        self._way_back = way_back

    async def load(self, session: ReadSession, row_id: UUID) -> Subject:
        check = await session.get_one(ClusterCheck, row_id)
        cluster = await session.get_one(Cluster, check.cluster_id)
        question = Question(check.slug, cluster.kind, registry.proof_of(session, check.slug))
        return Subject(check.id, await registry.access(session, cluster), question)

    async def observe(self, subject: Subject) -> list[Finding]:
        access = subject.access
        if access.target is None:  # the embedded one, or one whose credential cannot be had
            try:
                return await self._examine(self._gateways.get(access), subject)
            except RayError as error:
                return [Finding("connection", ok=False, message=error.message)]
        client = self._connector.open(access.target)
        try:
            return await self._examine(client, subject)
        finally:
            await client.aclose()

    async def apply(
        self, session: WriteSession, subject: Subject, observed: list[Finding], *, now: datetime
    ) -> datetime | None:
        check = await session.get_one(ClusterCheck, subject.check_id)
        check.status, check.ended_at = CheckStatus.DONE, now
        check.findings = [asdict(finding) for finding in observed]
        # Whoever looks after the cluster writes its details, too.
        cluster = await session.get_one(
            Cluster, check.cluster_id, with_for_update=True, populate_existing=True
        )
        tried = next((finding for finding in observed if finding.name == way_back.NAME), None)
        if tried is not None:
            is_open = tried.ok and self._way_back.address(cluster.kind) is not None
            clusters.note_way_back(cluster, is_open=is_open)
        # What is shown of the cluster itself is looked at again, too.
        if cluster.due_at is not None:
            cluster.due_at = min(cluster.due_at, now)
        return None

    async def _examine(self, gateway: RayGateway, subject: Subject) -> list[Finding]:
        found = await examine(gateway, subject.access.address)
        if all(finding.ok for finding in found):
            found.append(await self._way_back.look(gateway, subject.question))
        return found
