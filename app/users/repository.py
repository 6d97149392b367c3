"""Queries of users, sign-in links, sessions and API tokens."""

from datetime import datetime
from typing import Any, cast

from sqlalchemy import CursorResult, delete, exists, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import ApiToken, SignInLink, User, UserSession


async def has_administrator(session: AsyncSession) -> bool:
    return bool(await session.scalar(select(exists().where(User.is_admin))))


async def find_user_named(session: AsyncSession, name: str) -> User | None:
    found: User | None = await session.scalar(select(User).where(User.name == name))
    return found


async def find_first_administrator(session: AsyncSession) -> User | None:
    """The administrator who was made first, of those who may sign in."""
    query = select(User).where(User.is_admin, User.disabled_at.is_(None)).order_by(User.id)
    found: User | None = await session.scalar(query.limit(1))
    return found


async def list_users(session: AsyncSession) -> list[User]:
    return list(await session.scalars(select(User).order_by(User.id)))


async def expire_first_links(session: AsyncSession, now: datetime) -> None:
    """Ends the links that would make an administrator, so that at most one is open."""
    await session.execute(
        update(SignInLink)
        .where(SignInLink.user_id.is_(None), SignInLink.expires_at > now)
        .values(expires_at=now)
    )


async def use_link(session: AsyncSession, secret_hash: str, now: datetime) -> SignInLink | None:
    """Marks an open link as used and returns it; of several callers one gets it."""
    is_open = (
        SignInLink.secret_hash == secret_hash,
        SignInLink.used_at.is_(None),
        SignInLink.expires_at > now,
    )
    result = await session.execute(update(SignInLink).where(*is_open).values(used_at=now))
    if _changed(result) == 0:
        return None
    link: SignInLink | None = await session.scalar(
        select(SignInLink).where(SignInLink.secret_hash == secret_hash)
    )
    return link


async def find_session_user(session: AsyncSession, secret_hash: str, now: datetime) -> User | None:
    found: User | None = await session.scalar(
        select(User)
        .join(UserSession, UserSession.user_id == User.id)
        .where(
            UserSession.secret_hash == secret_hash,
            UserSession.revoked_at.is_(None),
            UserSession.expires_at > now,
            User.disabled_at.is_(None),
        )
    )
    return found


async def revoke_session(session: AsyncSession, secret_hash: str, now: datetime) -> None:
    await session.execute(
        update(UserSession)
        .where(UserSession.secret_hash == secret_hash, UserSession.revoked_at.is_(None))
        .values(revoked_at=now)
    )


async def find_valid_token(
    session: AsyncSession, secret_hash: str, now: datetime
) -> tuple[ApiToken, User | None] | None:
    """The token and its owner, unless it is revoked, out of time, or its owner is disabled."""
    row = (
        await session.execute(
            select(ApiToken, User)
            .outerjoin(User, ApiToken.user_id == User.id)
            .where(
                ApiToken.secret_hash == secret_hash,
                ApiToken.revoked_at.is_(None),
                or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > now),
                User.disabled_at.is_(None),
            )
        )
    ).first()
    return None if row is None else (row[0], row[1])


async def touch_token(
    session: AsyncSession, token: ApiToken, *, now: datetime, unless_since: datetime
) -> None:
    """Notes the use of a token, unless that was done after `unless_since`."""
    await session.execute(
        update(ApiToken)
        .where(
            ApiToken.id == token.id,
            or_(ApiToken.last_used_at.is_(None), ApiToken.last_used_at <= unless_since),
        )
        .values(last_used_at=now)
        .execution_options(synchronize_session=False)
    )


async def find_token_named(session: AsyncSession, slug: str) -> ApiToken | None:
    found: ApiToken | None = await session.scalar(
        select(ApiToken).where(ApiToken.slug == slug, ApiToken.revoked_at.is_(None))
    )
    return found


async def list_tokens(session: AsyncSession) -> list[ApiToken]:
    """All tokens that are not revoked, newest first."""
    query = select(ApiToken).where(ApiToken.revoked_at.is_(None)).order_by(ApiToken.id.desc())
    return list(await session.scalars(query))


async def delete_ended(session: AsyncSession, now: datetime) -> int:
    """Deletes sessions and links that let nobody in any more; returns how many rows went."""
    count = 0
    for table, is_ended in (
        (UserSession, or_(UserSession.expires_at <= now, UserSession.revoked_at.is_not(None))),
        (SignInLink, or_(SignInLink.expires_at <= now, SignInLink.used_at.is_not(None))),
    ):
        query = delete(table).where(is_ended).execution_options(synchronize_session=False)
        count += _changed(await session.execute(query))
    return count


def _changed(result: Any) -> int:
    return cast("CursorResult[Any]", result).rowcount
