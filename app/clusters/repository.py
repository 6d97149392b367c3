"""Queries on clusters and workers."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Cluster, ClusterCheck, Worker


async def find_by_slug(session: AsyncSession, slug: str) -> Cluster | None:
    """Not one that was removed."""
    query = select(Cluster).where(Cluster.slug == slug, Cluster.removed_at.is_(None))
    return await session.scalar(query)


async def list_all(session: AsyncSession) -> Sequence[Cluster]:
    """Without those that were removed, the oldest first."""
    query = select(Cluster).where(Cluster.removed_at.is_(None)).order_by(Cluster.id)
    return (await session.scalars(query)).all()


async def find_check(session: AsyncSession, slug: str) -> tuple[ClusterCheck, Cluster] | None:
    query = select(ClusterCheck, Cluster).join(Cluster, Cluster.id == ClusterCheck.cluster_id)
    row = (await session.execute(query.where(ClusterCheck.slug == slug))).first()
    return None if row is None else (row[0], row[1])


async def newest_check(session: AsyncSession, cluster_id: UUID) -> ClusterCheck | None:
    query = select(ClusterCheck).where(ClusterCheck.cluster_id == cluster_id)
    return await session.scalar(query.order_by(ClusterCheck.id.desc()).limit(1))


async def forget_checks(session: AsyncSession, cluster_id: UUID, before: datetime) -> None:
    """Deletes the checks of a cluster that ended before that moment."""
    is_old = (ClusterCheck.cluster_id == cluster_id, ClusterCheck.ended_at < before)
    await session.execute(delete(ClusterCheck).where(*is_old))


async def workers_seen_since(session: AsyncSession, since: datetime) -> Sequence[Worker]:
    query = select(Worker).where(Worker.seen_at >= since).order_by(Worker.id)
    return (await session.scalars(query)).all()
