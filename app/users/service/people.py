"""Accounts: made, changed, disabled. There is always an administrator who may sign in."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit.actions import Action
from app.audit.service import record
from app.clock import utcnow
from app.errors import Conflict, Invalid, NotFound, Problem
from app.models import LinkPurpose, User
from app.users import repository
from app.users.repository import invites, tokens
from app.users.rules import clean_name, name_problem
from app.users.service.records import HOST, fields_of, target_of
from app.users.service.sessions import end_other_sessions


@dataclass(frozen=True, slots=True)
class Person:
    """A user in the list of all; `seen_at` is the last visit of a session that is still kept."""

    user: User
    seen_at: datetime | None


async def list_users(session: AsyncSession) -> list[User]:
    """All users, in the order in which they were made."""
    return await repository.list_users(session)


async def list_people(session: AsyncSession) -> list[Person]:
    """All users by name, with their last visits, in two queries."""
    seen = await repository.last_visits(session)
    users = await repository.list_users(session)
    ordered = sorted(users, key=lambda user: user.name.casefold())
    return [Person(user, seen.get(user.id)) for user in ordered]


async def get_person(session: AsyncSession, user_id: UUID) -> Person:
    """Raises `NotFound`."""
    user = await get_user(session, user_id)
    return Person(user, (await repository.last_visits(session, user)).get(user.id))


async def has_administrator(session: AsyncSession) -> bool:
    """Whether the first one was made."""
    return await repository.has_administrator(session)


async def get_user(session: AsyncSession, user_id: UUID) -> User:
    """Raises `NotFound`."""
    user = await session.get(User, user_id)
    if user is None:
        raise NotFound("there is no such user")
    return user


async def get_user_named(session: AsyncSession, name: str) -> User:
    """Raises `NotFound`."""
    user = await repository.find_user_named(session, clean_name(name))
    if user is None:
        raise NotFound(f"there is no user named {name!r}: `skydeck user list` shows who there is")
    return user


async def create_user(
    session: AsyncSession,
    name: str,
    *,
    is_admin: bool = False,
    password_hash: str | None = None,
    actor: Actor = HOST,
    now: datetime | None = None,
) -> User:
    """Raises `Invalid` for a name that cannot be taken, or that is taken, in whatever case."""
    at, cleaned = now or utcnow(), clean_name(name)
    problem = name_problem(cleaned)
    if problem is None and await repository.find_user_like(session, cleaned):
        problem = _taken(cleaned)
    if problem:
        raise Invalid(problem.message, [problem])
    user = User(
        name=cleaned,
        is_admin=is_admin,
        password_hash=password_hash,
        password_changed_at=at if password_hash else None,
        created_at=at,
    )
    try:
        async with session.begin_nested():
            session.add(user)
    except IntegrityError:
        problem = _taken(cleaned)
        raise Invalid(problem.message, [problem]) from None
    record(session, actor, Action.USER_CREATE, target_of(user), after=fields_of(user))
    return user


async def set_administrator(
    session: AsyncSession, user: User, is_admin: bool, *, actor: Actor = HOST
) -> None:
    """Makes somebody an administrator of the site, or a member, whose open invites then end.

    Raises `Conflict` for the last administrator.
    """
    before = fields_of(user)
    if user.is_admin and not is_admin:
        await _require_another_administrator(session, user)
        await invites.revoke_invites(session, user, utcnow())
    user.is_admin = is_admin
    after = fields_of(user)
    if before != after:
        record(session, actor, Action.USER_CHANGE, target_of(user), before=before, after=after)


async def disable_user(
    session: AsyncSession, user: User, *, actor: Actor = HOST, now: datetime | None = None
) -> None:
    """Ends the user's sessions, tokens, links and open invites at once; enabling brings none back.

    Raises `Conflict` for the last administrator.
    """
    if user.disabled_at is not None:
        return
    if user.is_admin:
        await _require_another_administrator(session, user)
    at, before = now or utcnow(), fields_of(user)
    user.disabled_at = at
    await repository.revoke_sessions(session, user, at)
    await tokens.revoke_tokens(session, user, at)
    await invites.revoke_invites(session, user, at)
    await repository.end_links(session, user, at, tuple(LinkPurpose))
    after = fields_of(user)
    record(session, actor, Action.USER_DISABLE, target_of(user), before=before, after=after)


async def enable_user(session: AsyncSession, user: User, *, actor: Actor = HOST) -> None:
    """Lets somebody sign in again, with the password that they had."""
    if user.disabled_at is None:
        return
    before = fields_of(user)
    user.disabled_at = None
    after = fields_of(user)
    record(session, actor, Action.USER_ENABLE, target_of(user), before=before, after=after)


async def set_password(
    session: AsyncSession,
    user: User,
    password_hash: str,
    *,
    actor: Actor = HOST,
    now: datetime | None = None,
) -> None:
    """Stores a new password's hash, and ends all sessions and open links of the user."""
    at, before = now or utcnow(), fields_of(user)
    user.password_hash = password_hash
    user.password_changed_at = at
    await repository.end_links(session, user, at, tuple(LinkPurpose))
    await end_other_sessions(session, user, actor=actor, now=at)
    after = fields_of(user)
    record(session, actor, Action.PASSWORD_SET, target_of(user), before=before, after=after)


async def _require_another_administrator(session: AsyncSession, user: User) -> None:
    others = await repository.lock_administrators(session)
    if not any(other.id != user.id for other in others):
        raise Conflict(
            f"{user.name} is the only administrator who may sign in: "
            "make somebody else an administrator first"
        )


def _taken(name: str) -> Problem:
    return Problem("name", "taken", f"there is a user named {name!r} already: take another name")
