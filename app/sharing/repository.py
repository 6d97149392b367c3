"""Queries on links that share a run or an episode."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Episode, Run, ShareLink

Shareable = Run | Episode
"""What a link may show."""


async def find_open(
    session: AsyncSession, secret_hash: str, now: datetime
) -> tuple[ShareLink, Run] | None:
    """A link that has not ended, with its run, which is not deleted and has no relations loaded."""
    query = (
        select(ShareLink, Run)
        .join(Run, Run.id == ShareLink.run_id)
        .where(ShareLink.secret_hash == secret_hash, *_is_open(now), Run.deleted_at.is_(None))
    )
    row = (await session.execute(query)).one_or_none()
    return None if row is None else (row[0], row[1])


async def find_open_of_episode(
    session: AsyncSession, secret_hash: str, now: datetime
) -> tuple[ShareLink, str] | None:
    """A link that has not ended, with its episode's slug."""
    query = (
        select(ShareLink, Episode.slug)
        .join(Episode, Episode.id == ShareLink.episode_id)
        .where(ShareLink.secret_hash == secret_hash, *_is_open(now))
    )
    row = (await session.execute(query)).one_or_none()
    return None if row is None else (row[0], row[1])


async def list_open(session: AsyncSession, shown: Shareable, now: datetime) -> Sequence[ShareLink]:
    """The links of a run or an episode that have not ended, newest first."""
    query = select(ShareLink).where(_is_of(shown), *_is_open(now)).order_by(ShareLink.id.desc())
    return (await session.scalars(query)).all()


async def list_open_of_runs(
    session: AsyncSession, run_ids: Sequence[UUID], now: datetime
) -> Sequence[ShareLink]:
    """The links of some runs that have not ended."""
    query = select(ShareLink).where(ShareLink.run_id.in_(run_ids), *_is_open(now))
    return (await session.scalars(query)).all()


async def find_named(session: AsyncSession, shown: Shareable, slug: str) -> ShareLink | None:
    """A link of this run or episode, whether it has ended or not."""
    query = select(ShareLink).where(_is_of(shown), ShareLink.slug == slug)
    found: ShareLink | None = await session.scalar(query)
    return found


async def note_use(
    session: AsyncSession, link_id: UUID, *, now: datetime, unless_since: datetime
) -> None:
    """Notes a use, unless one was noted after `unless_since`."""
    is_old = or_(ShareLink.last_used_at.is_(None), ShareLink.last_used_at <= unless_since)
    await session.execute(
        update(ShareLink).where(ShareLink.id == link_id, is_old).values(last_used_at=now)
    )


def _is_of(shown: Shareable) -> ColumnElement[bool]:
    if isinstance(shown, Run):
        return ShareLink.run_id == shown.id
    return ShareLink.episode_id == shown.id


def _is_open(now: datetime) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return ShareLink.revoked_at.is_(None), ShareLink.expires_at > now
