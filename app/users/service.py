"""Who is calling: sign-in links, browser sessions and API tokens.

Secrets are random (256 bits), so a plain SHA-256 of them is kept, never the secret.
"""

import hashlib
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.permissions import Scope
from app.clock import utcnow
from app.errors import Conflict, Invalid, NotFound, NotSignedIn, Problem
from app.ids import new_secret, new_slug
from app.models import ApiToken, LinkPurpose, SignInLink, User, UserSession
from app.users import repository

LINK_LIFE = timedelta(minutes=15)
TOKEN_PREFIX = "sky_"  # noqa: S105 - the readable head of a token, not a secret
_TOUCH_EVERY = timedelta(minutes=1)
_SHOWN_LENGTH = 10
_NAME_LENGTH = 200
# Later times can leave the calendar when they are put into UTC.
_END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC)


async def create_sign_in_link(session: AsyncSession, now: datetime | None = None) -> str | None:
    """The secret of a new link that makes the first administrator; None if there is one.

    Single use, 15 minutes. Links that were made before it end.
    """
    if await repository.has_administrator(session):
        return None
    at = now or utcnow()
    await repository.expire_first_links(session, at)
    return _add_link(session, None, at)


async def create_link_for(
    session: AsyncSession, name: str | None, now: datetime | None = None
) -> str:
    """The secret of a new link that signs an existing user in; single use, 15 minutes.

    `name` None means the first administrator. Raises `NotFound` if there is no such user, or if
    that user is disabled.
    """
    if name is None:
        user = await repository.find_first_administrator(session)
    else:
        user = await repository.find_user_named(session, name)
    if user is None or user.disabled_at is not None:
        who = "administrator who may sign in" if name is None else f"user named {name!r}"
        raise NotFound(f"there is no {who}: `skydeck user list` shows who there is")
    return _add_link(session, user, now or utcnow())


async def list_users(session: AsyncSession) -> list[User]:
    """All users, in the order in which they were made."""
    return await repository.list_users(session)


async def redeem_link(
    session: AsyncSession,
    secret: str,
    name: str = "admin",
    *,
    session_days: int = 30,
    now: datetime | None = None,
) -> tuple[User, str]:
    """Signs in by a link; returns the user and the secret of a new browser session.

    A first link makes the administrator, called `name`. Raises `NotSignedIn` if the link was
    used, is out of time or unknown, or if an administrator exists by now.
    """
    at = now or utcnow()
    link = await repository.use_link(session, _hash(secret), at)
    if link is None:
        raise NotSignedIn(
            "this sign-in link was used or is older than 15 minutes: "
            "`skydeck user link` prints a new one"
        )
    user = await _user_of(session, link, name, at)
    return user, await create_session(session, user, session_days=session_days, now=at)


async def create_session(
    session: AsyncSession, user: User, *, session_days: int = 30, now: datetime | None = None
) -> str:
    """Starts a browser session of a user and returns its secret, for the cookie."""
    at, secret = now or utcnow(), new_secret()
    expires_at = at + timedelta(days=session_days)
    session.add(
        UserSession(
            slug=new_slug("ses"),
            secret_hash=_hash(secret),
            user_id=user.id,
            created_at=at,
            seen_at=at,
            expires_at=expires_at,
        )
    )
    await session.flush()
    return secret


async def find_session(
    session: AsyncSession, secret: str, now: datetime | None = None
) -> User | None:
    """The user of a browser session that has not ended; None else."""
    return await repository.find_session_user(session, _hash(secret), now or utcnow())


async def end_session(session: AsyncSession, secret: str, now: datetime | None = None) -> None:
    """Signs out. Does nothing if the session has ended already."""
    await repository.revoke_session(session, _hash(secret), now or utcnow())


async def create_token(
    session: AsyncSession,
    *,
    name: str,
    scope: Scope,
    user: User | None = None,
    expires_at: datetime | None = None,
    now: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Makes an API token; its secret is returned here and never again. Raises `Invalid`."""
    at, secret = now or utcnow(), TOKEN_PREFIX + new_secret()
    _check_token(name, expires_at, at)
    token = ApiToken(
        slug=new_slug("tok"),
        name=name,
        prefix=secret[:_SHOWN_LENGTH],
        secret_hash=_hash(secret),
        scope=scope.value,
        user_id=user.id if user else None,
        created_at=at,
        expires_at=expires_at,
    )
    session.add(token)
    await session.flush()
    return token, secret


async def find_token(
    session: AsyncSession, secret: str, now: datetime | None = None
) -> tuple[ApiToken, User | None] | None:
    """A valid token and its user; None if it is unknown, revoked or out of time."""
    return await repository.find_valid_token(session, _hash(secret), now or utcnow())


def is_touch_due(token: ApiToken, now: datetime) -> bool:
    """Whether the use of a token should be noted: at most once a minute."""
    return token.last_used_at is None or token.last_used_at <= now - _TOUCH_EVERY


async def touch_token(session: AsyncSession, token: ApiToken, now: datetime) -> None:
    await repository.touch_token(session, token, now=now, unless_since=now - _TOUCH_EVERY)


async def list_tokens(session: AsyncSession) -> list[ApiToken]:
    """All tokens that are not revoked, newest first."""
    return await repository.list_tokens(session)


async def revoke_token(session: AsyncSession, slug: str, now: datetime | None = None) -> None:
    """Ends a token at once. Raises `NotFound`."""
    token = await repository.find_token_named(session, slug)
    if token is None:
        raise NotFound(f"there is no token {slug}")
    token.revoked_at = now or utcnow()


async def forget_old(session: AsyncSession, now: datetime | None = None) -> int:
    """Deletes ended browser sessions, and sign-in links that were used or are out of time.

    Returns how many rows went.
    """
    return await repository.delete_ended(session, now or utcnow())


def _add_link(session: AsyncSession, user: User | None, now: datetime) -> str:
    secret = new_secret()
    session.add(
        SignInLink(
            secret_hash=_hash(secret),
            purpose=LinkPurpose.SIGN_IN if user else LinkPurpose.FIRST,
            user_id=user.id if user else None,
            created_at=now,
            expires_at=now + LINK_LIFE,
        )
    )
    return secret


async def _user_of(session: AsyncSession, link: SignInLink, name: str, now: datetime) -> User:
    if link.user_id is not None:
        user = await session.get(User, link.user_id)
        if user is None or user.disabled_at is not None:
            raise NotSignedIn("the user of this sign-in link can no longer sign in")
        return user
    if await repository.has_administrator(session):
        raise NotSignedIn("an administrator exists: this first sign-in link is void")
    if await repository.find_user_named(session, name):
        raise Conflict(f"there is a user named {name!r}")
    user = User(name=name, is_admin=True, created_at=now)
    session.add(user)
    await session.flush()
    return user


def _check_token(name: str, expires_at: datetime | None, now: datetime) -> None:
    problems = []
    if not name.strip() or len(name) > _NAME_LENGTH or not name.isprintable():
        message = f"give it 1 to {_NAME_LENGTH} printable characters"
        problems.append(Problem("name", "length", message))
    if expires_at is not None and expires_at >= _END_OF_TIME:
        problems.append(Problem("expires_at", "range", "give a time before the year 9999"))
    if expires_at is not None and expires_at <= now:
        problems.append(Problem("expires_at", "past", "give a time in the future"))
    if problems:
        raise Invalid("the token cannot be made", problems)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
