"""Queries of invites."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Invite, Project, User
from app.users.repository.changes import changed


@dataclass(frozen=True, slots=True)
class InviteEntry:
    """An invite, its project's slug, and the name of who used it."""

    invite: Invite
    project: str | None
    used_by: str | None


async def find_invite(session: AsyncSession, secret_hash: str) -> InviteEntry | None:
    rows = await session.execute(_invites().where(Invite.secret_hash == secret_hash))
    row = rows.first()
    return None if row is None else InviteEntry(*row)


async def find_invite_named(session: AsyncSession, slug: str) -> Invite | None:
    found: Invite | None = await session.scalar(select(Invite).where(Invite.slug == slug))
    return found


async def list_invites(session: AsyncSession, *, project_id: UUID | None) -> Sequence[InviteEntry]:
    """Newest first; `project_id` None: all."""
    query = _invites().order_by(Invite.id.desc())
    if project_id is not None:
        query = query.where(Invite.project_id == project_id)
    return [InviteEntry(*row) for row in await session.execute(query)]


async def use_invite(session: AsyncSession, secret_hash: str, now: datetime) -> bool:
    """Marks an open invite as used; of several callers one gets True."""
    result = await session.execute(
        update(Invite)
        .where(
            Invite.secret_hash == secret_hash,
            Invite.used_at.is_(None),
            Invite.revoked_at.is_(None),
            Invite.expires_at > now,
        )
        .values(used_at=now)
        .execution_options(synchronize_session=False)
    )
    return changed(result) == 1


async def revoke_invites(
    session: AsyncSession, user: User, now: datetime, *, project_id: UUID | None = None
) -> None:
    """Ends the open invites that a user made: all, or those into one project."""
    query = update(Invite).where(
        Invite.created_by == user.name, Invite.used_at.is_(None), Invite.revoked_at.is_(None)
    )
    if project_id is not None:
        query = query.where(Invite.project_id == project_id)
    await session.execute(query.values(revoked_at=now).execution_options(synchronize_session=False))


def _invites() -> Any:
    return (
        select(Invite, Project.slug, User.name)
        .outerjoin(Project, Invite.project_id == Project.id)
        .outerjoin(User, Invite.used_by_id == User.id)
    )
