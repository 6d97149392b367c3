"""Queries on endpoints."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Endpoint


async def find_by_slug(session: AsyncSession, slug: str) -> Endpoint | None:
    """One that was not removed."""
    query = select(Endpoint).where(Endpoint.slug == slug, Endpoint.removed_at.is_(None))
    return await session.scalar(query)


async def find_by_name(session: AsyncSession, name: str) -> Endpoint | None:
    query = select(Endpoint).where(Endpoint.name == name, Endpoint.removed_at.is_(None))
    return await session.scalar(query)


async def list_all(session: AsyncSession) -> Sequence[Endpoint]:
    """The embedded one first, then by age."""
    query = select(Endpoint).where(Endpoint.removed_at.is_(None))
    # "embedded" sorts before "openai".
    return (await session.scalars(query.order_by(Endpoint.kind, Endpoint.id))).all()


async def set_due(session: AsyncSession, slug: str, at: datetime) -> None:
    """Brings the next look forward to `at`, if it is later."""
    is_later = or_(Endpoint.due_at.is_(None), Endpoint.due_at > at)
    change = update(Endpoint).where(Endpoint.slug == slug, Endpoint.removed_at.is_(None), is_later)
    await session.execute(
        change.values(due_at=at), execution_options={"synchronize_session": False}
    )
