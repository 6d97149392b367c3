"""Browser sessions: each sign-in starts one of its own, which ends by time, idleness or a click."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit.actions import Action
from app.audit.service import Target, record
from app.clock import utcnow
from app.errors import NotFound
from app.ids import hashed, new_secret, new_slug
from app.models import User, UserSession
from app.users import repository
from app.users.devices import Device
from app.users.service.records import target_of

_IDLE_DAYS = 7


async def create_session(
    session: AsyncSession,
    user: User,
    *,
    by: str = "link",
    device: Device | None = None,
    session_days: int = 30,
    now: datetime | None = None,
) -> str:
    """Starts a browser session of a user and returns its secret, for the cookie.

    `by` says in the audit log what was shown: a link, a password, an invite.
    """
    at, secret, where = now or utcnow(), new_secret(), device or Device()
    row = UserSession(
        slug=new_slug("ses"),
        secret_hash=hashed(secret),
        user_id=user.id,
        address=where.origin.address,
        user_agent=where.stored_user_agent,
        created_at=at,
        seen_at=at,
        expires_at=at + timedelta(days=session_days),
    )
    session.add(row)
    details = {"by": by, "session": row.slug}
    record(session, where.actor(user), Action.SIGN_IN, target_of(user), details=details)
    await session.flush()
    return secret


async def find_session(
    session: AsyncSession, secret: str, now: datetime | None = None, *, idle_days: int = _IDLE_DAYS
) -> tuple[UserSession, User] | None:
    """A browser session that has not ended, and its user; None else."""
    at = now or utcnow()
    return await repository.find_live_session(
        session, hashed(secret), now=at, seen_after=at - timedelta(days=idle_days)
    )


async def touch_session(
    session: AsyncSession, row: UserSession, device: Device, now: datetime
) -> None:
    """Notes a visit: when it was and from which address."""
    await repository.touch_session(session, row, address=device.origin.address, now=now)


async def list_sessions(
    session: AsyncSession, user: User, now: datetime | None = None, *, idle_days: int = _IDLE_DAYS
) -> Sequence[UserSession]:
    """A user's sessions that have not ended, the one seen last first."""
    at = now or utcnow()
    seen_after = at - timedelta(days=idle_days)
    return await repository.list_live_sessions(session, user, now=at, seen_after=seen_after)


async def end_session(
    session: AsyncSession, secret: str, now: datetime | None = None, *, device: Device | None = None
) -> None:
    """Signs out. Does nothing if the session has ended already."""
    at = now or utcnow()
    found = await repository.find_session(session, hashed(secret))
    if found is None or found[0].revoked_at is not None:
        return
    row, user = found
    row.revoked_at = at
    details = {"session": row.slug}
    actor = (device or Device()).actor(user)
    record(session, actor, Action.SIGN_OUT, target_of(user), details=details)


async def revoke_session(
    session: AsyncSession, user: User, slug: str, *, actor: Actor, now: datetime | None = None
) -> None:
    """Ends one session of a user. Raises `NotFound`."""
    row = await repository.find_session_named(session, user, slug)
    if row is None:
        raise NotFound(f"there is no session {slug}: it may have ended already")
    row.revoked_at = now or utcnow()
    record(session, actor, Action.SESSION_REVOKE, Target("session", slug))


async def end_other_sessions(
    session: AsyncSession,
    user: User,
    *,
    but: str = "",
    actor: Actor,
    now: datetime | None = None,
) -> int:
    """Ends all sessions of a user but the one called `but`; returns how many that were."""
    count = await repository.revoke_sessions(session, user, now or utcnow(), but=but)
    if count:
        details = {"count": count}
        record(session, actor, Action.SESSION_REVOKE, target_of(user), details=details)
    return count
