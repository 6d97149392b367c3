"""Queries on clusters and workers."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Cluster, Worker


async def find_by_slug(session: AsyncSession, slug: str) -> Cluster | None:
    return await session.scalar(select(Cluster).where(Cluster.slug == slug))


async def list_all(session: AsyncSession) -> Sequence[Cluster]:
    return (await session.scalars(select(Cluster).order_by(Cluster.id))).all()


async def workers_seen_since(session: AsyncSession, since: datetime) -> Sequence[Worker]:
    query = select(Worker).where(Worker.seen_at >= since).order_by(Worker.id)
    return (await session.scalars(query)).all()
