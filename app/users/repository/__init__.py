"""Queries of users, their links, sessions and wrong passwords."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import (
    Invite,
    LinkPurpose,
    Project,
    SignInFailure,
    SignInLink,
    User,
    UserSession,
)
from app.users.repository.changes import changed

# Ended invites are listed for as long as somebody may wonder about them.
_INVITES_KEPT = timedelta(days=90)
SESSIONS_KEPT = timedelta(days=30)
"""Ended sessions still say from where somebody used to be signed in."""


async def has_administrator(session: AsyncSession) -> bool:
    return bool(await session.scalar(select(exists().where(User.is_admin))))


async def lock_administrators(session: AsyncSession) -> Sequence[User]:
    """All administrators who may sign in; nobody else changes them until the transaction ends."""
    query = select(User).where(User.is_admin, User.disabled_at.is_(None)).with_for_update()
    return (await session.scalars(query)).all()


async def find_user_named(session: AsyncSession, name: str) -> User | None:
    found: User | None = await session.scalar(select(User).where(User.name == name))
    return found


async def find_user_like(session: AsyncSession, name: str) -> User | None:
    """Somebody whose name differs in nothing, or in the case of its letters only."""
    is_alike = or_(User.name == name, func.lower(User.name) == func.lower(name))
    found: User | None = await session.scalar(select(User).where(is_alike).limit(1))
    return found


async def find_first_administrator(session: AsyncSession) -> User | None:
    """The administrator who was made first, of those who may sign in."""
    query = select(User).where(User.is_admin, User.disabled_at.is_(None)).order_by(User.id)
    found: User | None = await session.scalar(query.limit(1))
    return found


async def list_users(session: AsyncSession) -> list[User]:
    return list(await session.scalars(select(User).order_by(User.id)))


async def last_visits(session: AsyncSession, user: User | None = None) -> dict[UUID, datetime]:
    """The newest visit of each user, or of one, who has a session."""
    query = select(UserSession.user_id, func.max(UserSession.seen_at)).group_by(UserSession.user_id)
    if user is not None:
        query = query.where(UserSession.user_id == user.id)
    return {row[0]: row[1] for row in await session.execute(query)}


async def find_project(session: AsyncSession, slug: str) -> Project | None:
    found: Project | None = await session.scalar(select(Project).where(Project.slug == slug))
    return found


async def expire_first_links(session: AsyncSession, now: datetime) -> None:
    """Ends the links that would make an administrator, so that at most one is open."""
    await session.execute(
        update(SignInLink)
        .where(SignInLink.user_id.is_(None), SignInLink.expires_at > now)
        .values(expires_at=now)
    )


async def end_links(
    session: AsyncSession, user: User, now: datetime, purposes: tuple[LinkPurpose, ...]
) -> None:
    """Ends a user's open links of these purposes."""
    await session.execute(
        update(SignInLink)
        .where(
            SignInLink.user_id == user.id,
            SignInLink.purpose.in_(purposes),
            SignInLink.expires_at > now,
        )
        .values(expires_at=now)
        .execution_options(synchronize_session=False)
    )


async def use_link(
    session: AsyncSession, secret_hash: str, now: datetime, purposes: tuple[LinkPurpose, ...]
) -> SignInLink | None:
    """Marks an open link as used and returns it; of several callers one gets it."""
    is_open = (
        SignInLink.secret_hash == secret_hash,
        SignInLink.purpose.in_(purposes),
        SignInLink.used_at.is_(None),
        SignInLink.expires_at > now,
    )
    result = await session.execute(update(SignInLink).where(*is_open).values(used_at=now))
    if changed(result) == 0:
        return None
    link: SignInLink | None = await session.scalar(
        select(SignInLink).where(SignInLink.secret_hash == secret_hash)
    )
    return link


async def find_open_link(
    session: AsyncSession, secret_hash: str, now: datetime
) -> tuple[SignInLink, User | None] | None:
    row = (
        await session.execute(
            select(SignInLink, User)
            .outerjoin(User, SignInLink.user_id == User.id)
            .where(
                SignInLink.secret_hash == secret_hash,
                SignInLink.used_at.is_(None),
                SignInLink.expires_at > now,
                User.disabled_at.is_(None),
            )
        )
    ).first()
    return None if row is None else (row[0], row[1])


async def find_live_session(
    session: AsyncSession, secret_hash: str, *, now: datetime, seen_after: datetime
) -> tuple[UserSession, User] | None:
    row = (
        await session.execute(
            select(UserSession, User)
            .join(User, UserSession.user_id == User.id)
            .where(
                UserSession.secret_hash == secret_hash,
                User.disabled_at.is_(None),
                *_is_live(now, seen_after),
            )
        )
    ).first()
    return None if row is None else (row[0], row[1])


async def find_session(session: AsyncSession, secret_hash: str) -> tuple[UserSession, User] | None:
    """A session, ended or not, and its user."""
    row = (
        await session.execute(
            select(UserSession, User)
            .join(User, UserSession.user_id == User.id)
            .where(UserSession.secret_hash == secret_hash)
        )
    ).first()
    return None if row is None else (row[0], row[1])


async def find_session_named(session: AsyncSession, user: User, slug: str) -> UserSession | None:
    found: UserSession | None = await session.scalar(
        select(UserSession).where(
            UserSession.slug == slug,
            UserSession.user_id == user.id,
            UserSession.revoked_at.is_(None),
        )
    )
    return found


async def list_live_sessions(
    session: AsyncSession, user: User, *, now: datetime, seen_after: datetime
) -> Sequence[UserSession]:
    query = (
        select(UserSession)
        .where(UserSession.user_id == user.id, *_is_live(now, seen_after))
        .order_by(UserSession.seen_at.desc(), UserSession.id.desc())
    )
    return (await session.scalars(query)).all()


async def touch_session(
    session: AsyncSession, row: UserSession, *, address: str, now: datetime
) -> None:
    await session.execute(
        update(UserSession)
        .where(UserSession.id == row.id, UserSession.seen_at < now)
        .values(seen_at=now, address=address)
        .execution_options(synchronize_session=False)
    )


async def addresses_of(session: AsyncSession, name: str, *, after: datetime) -> set[str]:
    """From where a user's browsers were last seen after that time, whether or not signed in now."""
    query = (
        select(UserSession.address)
        .join(User, UserSession.user_id == User.id)
        .where(User.name == name, UserSession.seen_at > after)
        .distinct()
    )
    return set(await session.scalars(query))


async def revoke_sessions(
    session: AsyncSession, user: User, now: datetime, *, but: str = ""
) -> int:
    """Ends a user's sessions, but the one of that slug; returns how many."""
    result = await session.execute(
        update(UserSession)
        .where(
            UserSession.user_id == user.id,
            UserSession.slug != but,
            UserSession.revoked_at.is_(None),
        )
        .values(revoked_at=now)
        .execution_options(synchronize_session=False)
    )
    return changed(result)


async def nth_failure_of_name(
    session: AsyncSession, name_hash: str, n: int, *, after: datetime
) -> datetime | None:
    """When the n-th newest wrong password for a name was given; None if there were fewer."""
    is_counted = (SignInFailure.name_hash == name_hash, SignInFailure.at > after)
    return await _nth_failure(session, is_counted, n)


async def nth_failure_of_address(
    session: AsyncSession, address: str, n: int, *, after: datetime
) -> datetime | None:
    """As `nth_failure_of_name`, for all that came from an address."""
    is_counted = (SignInFailure.address == address, SignInFailure.at > after)
    return await _nth_failure(session, is_counted, n)


async def delete_failure(session: AsyncSession, row: SignInFailure) -> None:
    await session.execute(
        delete(SignInFailure)
        .where(SignInFailure.id == row.id)
        .execution_options(synchronize_session=False)
    )


async def delete_ended(session: AsyncSession, now: datetime, *, failures_before: datetime) -> int:
    """Deletes sessions, links, invites and failures that no longer count; returns how many."""
    count = 0
    is_over = or_(UserSession.expires_at <= now, UserSession.revoked_at.is_not(None))
    for table, is_ended in (
        (UserSession, and_(is_over, UserSession.seen_at <= now - SESSIONS_KEPT)),
        (SignInLink, or_(SignInLink.expires_at <= now, SignInLink.used_at.is_not(None))),
        (Invite, Invite.expires_at <= now - _INVITES_KEPT),
        (SignInFailure, SignInFailure.at <= failures_before),
    ):
        query = delete(table).where(is_ended).execution_options(synchronize_session=False)
        count += changed(await session.execute(query))
    return count


async def _nth_failure(
    session: AsyncSession, is_counted: tuple[ColumnElement[bool], ...], n: int
) -> datetime | None:
    query = select(SignInFailure.at).where(*is_counted).order_by(SignInFailure.at.desc())
    found: datetime | None = await session.scalar(query.offset(n - 1).limit(1))
    return found


def _is_live(now: datetime, seen_after: datetime) -> tuple[ColumnElement[bool], ...]:
    return (
        UserSession.revoked_at.is_(None),
        UserSession.expires_at > now,
        UserSession.seen_at > seen_after,
    )
