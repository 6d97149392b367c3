"""Queries of the hosts that administrators allowed."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import AllowedHost


async def list_hosts(session: AsyncSession) -> list[AllowedHost]:
    """All of them, by name."""
    return list(await session.scalars(select(AllowedHost).order_by(AllowedHost.host)))


async def list_texts(session: AsyncSession) -> list[str]:
    """What is allowed, and nothing else of the rows."""
    return list(await session.scalars(select(AllowedHost.host).order_by(AllowedHost.host)))


async def find_host(session: AsyncSession, slug: str) -> AllowedHost | None:
    found: AllowedHost | None = await session.scalar(
        select(AllowedHost).where(AllowedHost.slug == slug)
    )
    return found


async def find_by_text(session: AsyncSession, host: str) -> AllowedHost | None:
    found: AllowedHost | None = await session.scalar(
        select(AllowedHost).where(AllowedHost.host == host)
    )
    return found
