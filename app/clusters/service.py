"""Clusters that runs may be submitted to. What is seen of them is written by the worker."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.clusters import repository
from app.clusters.embedded_policy import Decision
from app.errors import NotFound
from app.models import Cluster, ClusterKind, ClusterStatus, CredentialKind, Worker

EMBEDDED = "embedded"
WAY_BACK = "way_back"
"""In a cluster's details."""
_WORKER_SILENCE = timedelta(seconds=30)


async def get(session: AsyncSession, slug: str) -> Cluster:
    """Raises `NotFound`."""
    cluster = await repository.find_by_slug(session, slug)
    if cluster is None:
        raise NotFound(f"there is no cluster {slug}")
    return cluster


async def list_all(session: AsyncSession) -> Sequence[Cluster]:
    return await repository.list_all(session)


async def set_consents(
    session: AsyncSession,
    cluster: Cluster,
    *,
    runs_member_code: bool | None = None,
    shows_secrets: bool | None = None,
    actor: Actor,
) -> Cluster:
    """Writes what an administrator agrees to; None leaves it as it is. See `Cluster`."""
    before = _consents(cluster)
    if runs_member_code is not None:
        cluster.runs_member_code = runs_member_code
    if shows_secrets is not None:
        cluster.shows_secrets = shows_secrets
    after = _consents(cluster)
    if after != before:
        target = Target("cluster", cluster.slug)
        audit.record(
            session,
            actor,
            Action.CLUSTER_CHANGE,
            target,
            before=before,
            after=after,
            details={"now": after},
        )
        await session.flush()
    return cluster


async def decide_embedded(session: AsyncSession, decision: Decision) -> Cluster:
    """Writes down at a start of `skydeck up` whether the embedded cluster comes up, and why not.

    One that is off is due never: no worker looks after it until a start turns it on again.
    """
    cluster = await ensure_embedded(session)
    if not decision.is_on:
        cluster.status, cluster.message, cluster.due_at = ClusterStatus.STOPPED, decision.why, None
    elif is_off(cluster):
        cluster.status, cluster.message = ClusterStatus.STARTING, "Ray has not been started yet"
        cluster.due_at = utcnow()
    return cluster


def is_off(cluster: Cluster) -> bool:
    """Whether this is the embedded cluster and `skydeck up` decided not to start it.

    No worker looks after it then; its message says why.
    """
    is_stopped = cluster.kind is ClusterKind.EMBEDDED and cluster.status is ClusterStatus.STOPPED
    return is_stopped and cluster.due_at is None


def note_way_back(cluster: Cluster, *, is_open: bool) -> None:
    """Writes whether a check found that jobs there reach Skydeck."""
    cluster.details = cluster.details | {WAY_BACK: is_open}


def has_way_back(cluster: Cluster) -> bool | None:
    """Whether jobs there reach Skydeck; None while no check has said."""
    found = cluster.details.get(WAY_BACK)
    return found if isinstance(found, bool) else None


def gpus_by_node(cluster: Cluster) -> tuple[int, ...]:
    """GPUs of each node that was alive when last looked at; empty while none was seen."""
    nodes = [node for node in cluster.details.get("nodes", []) if node.get("is_alive", True)]
    return tuple(int(node.get("gpu_count") or 0) for node in nodes)


async def list_workers(session: AsyncSession) -> Sequence[Worker]:
    """Workers that were alive within the last half minute; none means that nothing moves."""
    return await repository.workers_seen_since(session, utcnow() - _WORKER_SILENCE)


async def ensure_embedded(session: AsyncSession) -> Cluster:
    """The row of the cluster that `skydeck up` starts, made on first use."""
    found = await repository.find_by_slug(session, EMBEDDED)
    if found is not None:
        return found
    cluster = not_yet_started()
    try:
        async with session.begin_nested():
            session.add(cluster)
    except IntegrityError:
        # Another process made it between our look and our insert.
        return await get(session, EMBEDDED)
    return cluster


def not_yet_started() -> Cluster:
    """The embedded cluster as it is before anybody asked for it; in no session."""
    now = utcnow()
    return Cluster(
        slug=EMBEDDED,
        name="Embedded",
        kind=ClusterKind.EMBEDDED,
        address=EMBEDDED,
        status=ClusterStatus.STARTING,
        message="Ray has not been started yet",
        details={},
        max_running_runs=1,
        runs_member_code=False,
        shows_secrets=False,
        credential=CredentialKind.NONE,
        access={},
        created_at=now,
        due_at=now,
    )


def _consents(cluster: Cluster) -> dict[str, bool]:
    return {
        "runs_member_code": cluster.runs_member_code,
        "shows_secrets": cluster.shows_secrets,
    }
