"""Links that sign in once: the first administrator's, anybody's, and those that set a password."""

from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit.actions import Action
from app.audit.service import Target, record
from app.clock import utcnow
from app.errors import Conflict, NotFound, NotSignedIn
from app.ids import hashed, new_secret
from app.models import LinkPurpose, SignInLink, User
from app.users import repository
from app.users.devices import Device
from app.users.rules import clean_name
from app.users.service import people
from app.users.service.records import HOST, target_of
from app.users.service.sessions import create_session

LINK_LIFE = timedelta(minutes=15)
RESET_LIFE = timedelta(hours=24)
_SIGN_IN = (LinkPurpose.FIRST, LinkPurpose.SIGN_IN)
_USED_UP = (
    "this sign-in link was used or is older than 15 minutes: `skydeck user link` prints a new one"
)
_RESET_USED_UP = (
    "this link was used, replaced or is older than 24 hours: an administrator makes a new one"
)


async def create_sign_in_link(
    session: AsyncSession, now: datetime | None = None, *, actor: Actor = HOST
) -> str | None:
    """The secret of a new link that makes the first administrator; None if there is one.

    Single use, 15 minutes. Links that were made before it end.
    """
    if await repository.has_administrator(session):
        return None
    at = now or utcnow()
    await repository.expire_first_links(session, at)
    return _add_sign_in_link(session, LinkPurpose.FIRST, None, actor, at)


async def create_link_for(
    session: AsyncSession,
    name: str | None,
    now: datetime | None = None,
    *,
    actor: Actor = HOST,
) -> str:
    """The secret of a new link that signs an existing user in; single use, 15 minutes.

    `name` None means the first administrator. Raises `NotFound` if there is no such user, or if
    that user is disabled.
    """
    if name is None:
        user = await repository.find_first_administrator(session)
    else:
        user = await repository.find_user_named(session, clean_name(name))
    if user is None or user.disabled_at is not None:
        who = "administrator who may sign in" if name is None else f"user named {name!r}"
        raise NotFound(f"there is no {who}: `skydeck user list` shows who there is")
    return _add_sign_in_link(session, LinkPurpose.SIGN_IN, user, actor, now or utcnow())


async def create_reset_link(
    session: AsyncSession, user: User, *, actor: Actor = HOST, now: datetime | None = None
) -> str:
    """The secret of a link by which a user sets a new password; single use, 24 hours.

    Ends the ones made before. Raises `Conflict` for a user who is disabled.
    """
    if user.disabled_at is not None:
        raise Conflict(f"{user.name} is disabled: enable the account first")
    at = now or utcnow()
    await repository.end_links(session, user, at, (LinkPurpose.RESET,))
    record(session, actor, Action.PASSWORD_RESET, target_of(user))
    return _add_link(session, LinkPurpose.RESET, user, at)


async def find_link(
    session: AsyncSession, secret: str, now: datetime | None = None
) -> tuple[SignInLink, User | None] | None:
    """An open link and its user, without using it up; None if it opens nothing any more."""
    return await repository.find_open_link(session, hashed(secret), now or utcnow())


async def redeem_link(
    session: AsyncSession,
    secret: str,
    name: str = "admin",
    *,
    password_hash: str | None = None,
    device: Device | None = None,
    session_days: int = 30,
    now: datetime | None = None,
) -> tuple[User, str]:
    """Signs in by a link; returns the user and the secret of a new browser session.

    A first link makes the administrator, called `name`. Raises `NotSignedIn` if the link was
    used, is out of time or unknown, or if an administrator exists by now; `Invalid` for a name
    that cannot be taken.
    """
    at, where = now or utcnow(), device or Device()
    link = await repository.use_link(session, hashed(secret), at, _SIGN_IN)
    if link is None:
        raise NotSignedIn(_USED_UP)
    if link.user_id is None:
        user = await _first_administrator(session, name, password_hash, where, at)
    else:
        user = await _user_of(session, link)
    new = await create_session(
        session, user, by="link", device=where, session_days=session_days, now=at
    )
    return user, new


async def redeem_reset(
    session: AsyncSession,
    secret: str,
    password_hash: str,
    *,
    device: Device | None = None,
    session_days: int = 30,
    now: datetime | None = None,
) -> tuple[User, str]:
    """Sets a user's password by a reset link, ends all their sessions and starts a new one.

    Raises `NotSignedIn`.
    """
    at, where = now or utcnow(), device or Device()
    link = await repository.use_link(session, hashed(secret), at, (LinkPurpose.RESET,))
    if link is None:
        raise NotSignedIn(_RESET_USED_UP)
    user = await _user_of(session, link)
    await people.set_password(session, user, password_hash, actor=where.actor(user), now=at)
    new = await create_session(
        session, user, by="reset link", device=where, session_days=session_days, now=at
    )
    return user, new


def _add_sign_in_link(
    session: AsyncSession, purpose: LinkPurpose, user: User | None, actor: Actor, now: datetime
) -> str:
    target = target_of(user) if user else Target("user", "")
    record(session, actor, Action.LINK_CREATE, target, details={"purpose": purpose})
    return _add_link(session, purpose, user, now)


def _add_link(session: AsyncSession, purpose: LinkPurpose, user: User | None, now: datetime) -> str:
    secret = new_secret()
    session.add(
        SignInLink(
            secret_hash=hashed(secret),
            purpose=purpose,
            user_id=user.id if user else None,
            created_at=now,
            expires_at=now + (RESET_LIFE if purpose is LinkPurpose.RESET else LINK_LIFE),
        )
    )
    return secret


async def _first_administrator(
    session: AsyncSession, name: str, password_hash: str | None, device: Device, now: datetime
) -> User:
    if await repository.has_administrator(session):
        raise NotSignedIn("an administrator exists: this first sign-in link is void")
    return await people.create_user(
        session,
        name,
        is_admin=True,
        password_hash=password_hash,
        actor=device.nobody(),
        now=now,
    )


async def _user_of(session: AsyncSession, link: SignInLink) -> User:
    user = await session.get(User, link.user_id)
    if user is None or user.disabled_at is not None:
        raise NotSignedIn("the user of this link can no longer sign in")
    return user
