"""Links by which new people make their accounts, and join a project with a role."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.permissions import Permission
from app.access.principal import Principal
from app.audit.actions import Action
from app.audit.service import Target, record
from app.clock import utcnow
from app.errors import Conflict, Invalid, NotFound, Problem
from app.ids import new_secret, new_slug
from app.models import Invite, Project, ProjectMember, Role, User
from app.secrets import service as secrets
from app.users.devices import Device
from app.users.hashes import hashed
from app.users.repository import find_project
from app.users.repository import invites as repository
from app.users.repository.invites import InviteEntry
from app.users.service import people
from app.users.service.sessions import create_session

__all__ = [
    "INVITE_LIFE",
    "InviteEntry",
    "InviteState",
    "accept_invite",
    "create_invite",
    "find_invite",
    "invite_state",
    "list_invites",
    "revoke_invite",
    "revoke_invites_into",
]

INVITE_LIFE = timedelta(days=7)
_NOTE_LENGTH = 200


class InviteState(StrEnum):
    OPEN = "open"
    USED = "used"
    REVOKED = "revoked"
    EXPIRED = "expired"


_WHY_NOT = {
    InviteState.USED: "this invite was used and its account made: sign in by name and password",
    InviteState.REVOKED: "this invite was taken back: ask who sent it for a new one",
    InviteState.EXPIRED: "this invite is older than 7 days: ask who sent it for a new one",
}


def invite_state(invite: Invite, now: datetime | None = None) -> InviteState:
    if invite.used_at is not None:
        return InviteState.USED
    if invite.revoked_at is not None:
        return InviteState.REVOKED
    return InviteState.EXPIRED if invite.expires_at <= (now or utcnow()) else InviteState.OPEN


async def create_invite(
    session: AsyncSession,
    maker: Principal,
    *,
    project: str | None = None,
    role: Role | None = None,
    note: str = "",
    now: datetime | None = None,
) -> tuple[Invite, str]:
    """An invite and its secret, which is returned here and never again; single use, 7 days.

    Into the project of that slug with a role, by its administrators; into none by administrators
    of the site. Raises `Forbidden`, `NotFound` or `Invalid`.
    """
    at, secret = now or utcnow(), new_secret()
    place = await _place(session, maker, project)
    if len(note) > _NOTE_LENGTH or not note.isprintable():
        message = f"use at most {_NOTE_LENGTH} printable characters"
        raise Invalid("the invite cannot be made", [Problem("note", "length", message)])
    await secrets.refuse_values(session, None, {"note": note})
    invite = Invite(
        slug=new_slug("inv"),
        secret_hash=hashed(secret),
        project_id=place.id if place else None,
        role=(role or Role.MEMBER) if place else None,
        note=note,
        created_by=maker.name,
        created_at=at,
        expires_at=at + INVITE_LIFE,
    )
    session.add(invite)
    after = {"project": place.slug if place else "", "role": invite.role or "", "note": note}
    target = Target("invite", invite.slug, invite.project_id)
    record(session, maker.actor, Action.INVITE_CREATE, target, after=after, details=after)
    await session.flush()
    return invite, secret


async def list_invites(
    session: AsyncSession, viewer: Principal, project: str | None = None
) -> Sequence[InviteEntry]:
    """Invites newest first, ended ones too: all, or those of one project. Raises `Forbidden`."""
    place = await _place(session, viewer, project)
    return await repository.list_invites(session, project_id=place.id if place else None)


async def revoke_invite(
    session: AsyncSession, slug: str, *, by: Principal, now: datetime | None = None
) -> Invite:
    """Raises `NotFound`, also where `by` may not invite; `Conflict` for one that has ended."""
    invite = await repository.find_invite_named(session, slug)
    if invite is None or not _may_invite(by, invite):
        raise NotFound(f"there is no invite {slug}")
    state = invite_state(invite, now)
    if state is not InviteState.OPEN:
        raise Conflict(f"invite {slug} has ended: it is {state}")
    invite.revoked_at = now or utcnow()
    target = Target("invite", slug, invite.project_id)
    record(session, by.actor, Action.INVITE_REVOKE, target)
    return invite


async def revoke_invites_into(
    session: AsyncSession, project_id: UUID, *, maker: User, now: datetime | None = None
) -> None:
    """Ends the open invites of somebody who manages the project no more.

    They could else come back through one. Administrators of the site still manage it.
    """
    if not maker.is_admin:
        await repository.revoke_invites(session, maker, now or utcnow(), project_id=project_id)


async def find_invite(
    session: AsyncSession, secret: str, now: datetime | None = None
) -> InviteEntry:
    """An open invite, without using it up. Raises `NotFound` or `Conflict` that says why not."""
    entry = await repository.find_invite(session, hashed(secret))
    if entry is None:
        raise NotFound("there is no such invite: check that the whole link was copied")
    state = invite_state(entry.invite, now)
    if state is not InviteState.OPEN:
        raise Conflict(_WHY_NOT[state])
    return entry


async def accept_invite(
    session: AsyncSession,
    secret: str,
    *,
    name: str,
    password_hash: str,
    device: Device | None = None,
    session_days: int = 30,
    now: datetime | None = None,
) -> tuple[User, str]:
    """Makes the account, joins the project and signs in; returns user and session secret.

    Of several callers one gets it. Raises as `find_invite`, or `Invalid` for a name that cannot be
    taken; the invite stays open then.
    """
    at, where = now or utcnow(), device or Device()
    if not await repository.use_invite(session, hashed(secret), at):
        await find_invite(session, secret, at)
        raise Conflict(_WHY_NOT[InviteState.USED])
    entry = await repository.find_invite(session, hashed(secret))
    assert entry is not None
    invite = entry.invite
    user = await people.create_user(
        session, name, password_hash=password_hash, actor=where.nobody(), now=at
    )
    invite.used_by_id = user.id
    if invite.project_id is not None:
        _join(session, user, entry, where, at)
    new = await create_session(
        session, user, by="invite", device=where, session_days=session_days, now=at
    )
    return user, new


def _join(
    session: AsyncSession, user: User, entry: InviteEntry, device: Device, now: datetime
) -> None:
    invite = entry.invite
    assert invite.project_id is not None
    assert entry.project is not None
    role = invite.role or Role.MEMBER
    session.add(
        ProjectMember(project_id=invite.project_id, user_id=user.id, role=role, created_at=now)
    )
    target = Target("project", entry.project, invite.project_id)
    after, details = {"role": role}, {"member": user.name, "invite": invite.slug}
    record(session, device.actor(user), Action.MEMBER_ADD, target, after=after, details=details)


async def _place(session: AsyncSession, who: Principal, project: str | None) -> Project | None:
    if project is None:
        who.require(Permission.ADMINISTER)
        return None
    found = await find_project(session, project)
    if found is None:
        raise NotFound(f"there is no project {project}")
    who.require(Permission.MANAGE, found.id, what=f"project {project}")
    return found


def _may_invite(who: Principal, invite: Invite) -> bool:
    if invite.project_id is None:
        return who.allows(Permission.ADMINISTER)
    return who.allows(Permission.MANAGE, invite.project_id)
