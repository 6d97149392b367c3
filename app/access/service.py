"""Decides what a request may do. The rights themselves are in `permissions.py`."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from app.access import repository
from app.access.permissions import Permission, Scope
from app.access.principal import Actor, OnlyRun, Origin, Principal
from app.access.repository import Membership, ObjectKind
from app.errors import NotFound
from app.models import ApiToken, User

__all__ = ["Membership", "ObjectKind", "check", "memberships_of", "of_person", "of_token"]

_NOWHERE = Origin()


async def memberships_of(session: AsyncSession, user: User) -> Sequence[Membership]:
    """The projects that a person can see, by name: all of them for administrators of the site."""
    if user.is_admin:
        return await repository.all_projects(session)
    return await repository.memberships_of(session, user.id)


def of_person(
    user: User, memberships: Sequence[Membership], origin: Origin = _NOWHERE
) -> Principal:
    """A signed-in person."""
    actor = Actor.at(origin, name=user.name, key=f"user:{user.id}")
    roles = {} if user.is_admin else {each.project_id: each.role for each in memberships}
    return Principal(actor=actor, user_id=user.id, is_site_admin=user.is_admin, roles=roles)


async def of_token(
    session: AsyncSession, token: ApiToken, user: User | None, origin: Origin = _NOWHERE
) -> Principal:
    """A token: its user's rights up to its scope.

    One without a user was made by whoever runs the service, and has the site's rights.
    """
    actor = Actor.at(origin, name=user.name if user else token.name, key=token.slug)
    has_all = user is None or user.is_admin
    roles = {} if has_all or user is None else await repository.roles_of(session, user.id)
    return Principal(
        actor=actor,
        user_id=user.id if user else None,
        is_site_admin=has_all,
        scope=Scope(token.scope),
        roles=roles,
        only_project_id=token.project_id,
        only_run=OnlyRun(token.run_id, token.attempt_number or 1) if token.run_id else None,
    )


async def check(
    session: AsyncSession,
    principal: Principal,
    permission: Permission,
    *,
    kind: ObjectKind | None = None,
    slugs: Sequence[str] = (),
) -> None:
    """Raises `Forbidden` or `NotFound` unless the permission holds for each of the objects.

    Without objects: unless it holds anywhere. What does not exist is `NotFound`, too.
    """
    if kind is None or not slugs:
        principal.require(permission)
        return
    projects = await repository.projects_of(session, kind, slugs)
    for slug in slugs:
        if slug not in projects:
            raise NotFound(f"there is no {kind} {slug}")
        principal.require(permission, projects[slug], what=f"{kind} {slug}")
