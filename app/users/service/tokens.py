"""API tokens. Nobody makes one that may do more, or lives longer, than what they hold."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access import uses
from app.access.permissions import OF_SCOPE, Permission, Scope
from app.access.principal import Actor, Principal
from app.audit.actions import Action
from app.audit.service import Target, record
from app.clock import utcnow
from app.errors import Forbidden, Invalid, NotFound, Problem
from app.ids import hashed, new_secret, new_slug
from app.models import ApiToken, User
from app.secrets import service as secrets
from app.users.repository import find_project
from app.users.repository import tokens as repository
from app.users.repository.tokens import TokenEntry
from app.users.service.records import HOST

__all__ = [
    "TOKEN_PREFIX",
    "TokenEntry",
    "create_token",
    "find_token",
    "get_token",
    "list_tokens",
    "list_tokens_of",
    "make_token",
    "revoke_token",
    "touch_token",
]

TOKEN_PREFIX = "sky_"  # noqa: S105 - the readable head of a token, not a secret
_DEFAULT_LIFE = timedelta(days=90)
_LONGEST_LIFE = timedelta(days=366)
_SHOWN_LENGTH = 10
_NAME_LENGTH = 200
# Later times can leave the calendar when they are put into UTC.
_END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC)
_NEEDED = {
    Scope.READ: Permission.READ,
    Scope.WRITE: Permission.WRITE,
    Scope.ADMIN: Permission.MANAGE,
}


async def create_token(
    session: AsyncSession,
    *,
    name: str,
    scope: Scope,
    user: User | None = None,
    project_id: UUID | None = None,
    expires_at: datetime | None = None,
    actor: Actor = HOST,
    now: datetime | None = None,
    secret: str | None = None,
) -> tuple[ApiToken, str]:
    """Makes an API token; its secret is returned here and never again. Raises `Invalid`.

    Asks for no right: `make_token` does. `secret`: 256 bits that only its holder knows, random if
    left out.
    """
    at, secret = now or utcnow(), TOKEN_PREFIX + (secret or new_secret())
    _check_token(name, expires_at, at)
    token = ApiToken(
        slug=new_slug("tok"),
        name=name,
        prefix=secret[:_SHOWN_LENGTH],
        secret_hash=hashed(secret),
        scope=scope.value,
        user_id=user.id if user else None,
        project_id=project_id,
        created_at=at,
        expires_at=expires_at,
    )
    session.add(token)
    after = {"name": name, "scope": scope, "project": project_id, "expires_at": expires_at}
    details = {"name": name, "scope": scope, "user": user.name if user else ""}
    target = Target("token", token.slug, project_id)
    record(session, actor, Action.TOKEN_CREATE, target, after=after, details=details)
    await session.flush()
    return token, secret


async def make_token(
    session: AsyncSession,
    maker: Principal,
    *,
    name: str,
    scope: Scope,
    project: str | None = None,
    expires_at: datetime | None = None,
    now: datetime | None = None,
) -> tuple[ApiToken, str]:
    """A token for the maker's own use, of the whole site or bound to the project of that slug.

    Without an end it lasts 90 days, for administrators of the site for ever. A token's own tokens
    end with it; one bound to a project makes none. Raises `Forbidden`, `NotFound` or `Invalid`.
    """
    at = now or utcnow()
    place = await _place(session, maker, project)
    await secrets.refuse_values(session, None, {"name": name})
    _require_scope(maker, scope, place)
    parent = await repository.find_token_named(session, maker.key)
    end = _end(maker, parent, expires_at, at)
    user = await session.get(User, maker.user_id) if maker.user_id else None
    return await create_token(
        session,
        name=name,
        scope=scope,
        user=user,
        project_id=place,
        expires_at=end,
        actor=maker.actor,
        now=at,
    )


async def find_token(
    session: AsyncSession, secret: str, now: datetime | None = None
) -> tuple[ApiToken, User | None] | None:
    """A valid token and its user; None if it is unknown, revoked or out of time."""
    return await repository.find_valid_token(session, hashed(secret), now or utcnow())


async def touch_token(session: AsyncSession, token: ApiToken, now: datetime) -> None:
    await repository.touch_token(session, token, now=now, unless_since=uses.noted_before(now))


async def list_tokens(session: AsyncSession) -> Sequence[TokenEntry]:
    """All tokens that are not revoked, newest first."""
    return await repository.list_tokens(session)


async def list_tokens_of(session: AsyncSession, viewer: Principal) -> Sequence[TokenEntry]:
    """One's own tokens that are not revoked, newest first; administrators of the site see all."""
    is_all = viewer.allows(Permission.ADMINISTER)
    return await repository.list_tokens(session, user_id=None if is_all else viewer.user_id)


async def get_token(session: AsyncSession, slug: str, *, by: Principal | None) -> TokenEntry:
    """A token that is not revoked. Raises `NotFound`, also for one that `by` may not see."""
    found = await repository.list_tokens(session, slug=slug)
    if not found or (by is not None and not _is_visible(found[0].token, by)):
        raise NotFound(f"there is no token {slug}")
    return found[0]


async def revoke_token(
    session: AsyncSession,
    slug: str,
    *,
    by: Principal | None = None,
    now: datetime | None = None,
) -> None:
    """Ends a token at once. Raises `NotFound`, also for one that `by` may not see."""
    token = (await get_token(session, slug, by=by)).token
    token.revoked_at = now or utcnow()
    actor = by.actor if by else HOST
    target = Target("token", slug, token.project_id)
    record(session, actor, Action.TOKEN_REVOKE, target, details={"name": token.name})


def _is_visible(token: ApiToken, viewer: Principal) -> bool:
    if viewer.allows(Permission.ADMINISTER):
        return True
    return viewer.user_id is not None and token.user_id == viewer.user_id


async def _place(session: AsyncSession, maker: Principal, project: str | None) -> UUID | None:
    if maker.only_project_id is not None:
        raise Forbidden("a token of one project makes no tokens")
    if project is None:
        return None
    found = await find_project(session, project)
    if found is None:
        raise NotFound(f"there is no project {project}")
    maker.require(Permission.READ, found.id, what=f"project {project}")
    return found.id


def _require_scope(maker: Principal, scope: Scope, place: UUID | None) -> None:
    if not OF_SCOPE[scope] <= OF_SCOPE[maker.scope]:
        raise Forbidden(f"a token of scope {maker.scope} makes none of scope {scope}")
    if not maker.allows(_NEEDED[scope], place):
        where = "of that project" if place else "of any project"
        who = "an administrator" if scope is Scope.ADMIN else "a member"
        raise Forbidden(f"a token of scope {scope} is for {who} {where}, which you are not")


def _end(
    maker: Principal, parent: ApiToken | None, wanted: datetime | None, now: datetime
) -> datetime | None:
    latest = parent.expires_at if parent else None
    if wanted is None:
        default = None if maker.is_site_admin else now + _DEFAULT_LIFE
        return min((each for each in (default, latest) if each), default=None)
    if latest is not None and wanted > latest:
        message = "a token's own tokens end with it: give an earlier time"
        raise Invalid(message, [Problem("expires_at", "range", message)])
    if not maker.is_site_admin and wanted > now + _LONGEST_LIFE:
        message = "give a time within a year"
        raise Invalid(message, [Problem("expires_at", "range", message)])
    return wanted


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
