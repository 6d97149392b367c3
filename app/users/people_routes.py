"""All accounts, for administrators of the site: list, invite, role, disable, reset."""

from typing import Annotated
from uuid import UUID

from fastapi import Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.db import Database
from app.models import User
from app.routing import Router
from app.users import invite_views, service
from app.users.contexts import InvitesPart, UserPage, UserRow, UsersPage
from app.users.invite_views import Typed
from app.web.deps import Admin, Config, Store, Viewer
from app.web.flash import flash
from app.web.templating import page

router = Router()
_PATH = "/settings/users"


@router.get(_PATH)
async def users_page(request: Request, store: Store, viewer: Admin) -> HTMLResponse:
    return await _users_page(request, store, viewer)


@router.post("/settings/invites")
async def create_invite(
    request: Request, store: Store, viewer: Admin, typed: Annotated[Typed, Form()]
) -> HTMLResponse:
    """Makes an invite and shows its link, this once."""
    part, status = await invite_views.make(request, store, viewer, typed)
    return await _users_page(request, store, viewer, part=part, status=status)


@router.post("/settings/invites/{invite_id}/revoke")
async def revoke_invite(invite_id: str, store: Store, viewer: Admin) -> Response:
    async with store.write() as session:
        await service.revoke_invite(session, invite_id, by=viewer.principal)
    return flash(RedirectResponse(_PATH, 303), "invite-revoked")


@router.get("/settings/users/{user_id}")
async def user_page(
    request: Request, user_id: UUID, store: Store, config: Config, viewer: Admin
) -> HTMLResponse:
    return await _user_page(request, user_id, store, config.session_idle_days, viewer)


@router.post("/settings/users/{user_id}/role")
async def change_role(
    user_id: UUID, store: Store, viewer: Admin, is_admin: Annotated[bool, Form()]
) -> Response:
    async with store.write() as session:
        user = await service.get_user(session, user_id)
        await service.set_administrator(session, user, is_admin, actor=viewer.principal.actor)
    return _back(user, "user-changed")


@router.post("/settings/users/{user_id}/disable")
async def disable(user_id: UUID, store: Store, viewer: Admin) -> Response:
    """Ends the person's sessions, tokens, links and open invites at once."""
    async with store.write() as session:
        user = await service.get_user(session, user_id)
        await service.disable_user(session, user, actor=viewer.principal.actor)
    return _back(user, "user-disabled")


@router.post("/settings/users/{user_id}/enable")
async def enable(user_id: UUID, store: Store, viewer: Admin) -> Response:
    async with store.write() as session:
        user = await service.get_user(session, user_id)
        await service.enable_user(session, user, actor=viewer.principal.actor)
    return _back(user, "user-enabled")


@router.post("/settings/users/{user_id}/reset")
async def create_reset_link(
    request: Request, user_id: UUID, store: Store, config: Config, viewer: Admin
) -> HTMLResponse:
    """Makes a link by which the person sets a new password, and shows it, this once."""
    async with store.write() as session:
        user = await service.get_user(session, user_id)
        secret = await service.create_reset_link(session, user, actor=viewer.principal.actor)
    link = invite_views.link_to(request, "reset", secret)
    return await _user_page(
        request, user_id, store, config.session_idle_days, viewer, link=link, status=201
    )


def _back(user: User, said: str) -> Response:
    return flash(RedirectResponse(f"{_PATH}/{user.id}", 303), said)


async def _users_page(
    request: Request,
    store: Database,
    viewer: Viewer,
    *,
    part: InvitesPart | None = None,
    status: int = 200,
) -> HTMLResponse:
    async with store.read() as session:
        people = await service.list_people(session)
    invites = part or await invite_views.show(store, viewer)
    context = UsersPage(people=[_row(each) for each in people], invites=invites)
    return page(request, "users/users.html", context, status=status)


async def _user_page(
    request: Request,
    user_id: UUID,
    store: Database,
    idle_days: int,
    viewer: Viewer,
    *,
    link: str = "",
    status: int = 200,
) -> HTMLResponse:
    async with store.read() as session:
        person = await service.get_person(session, user_id)
        sessions = await service.list_sessions(session, person.user, idle_days=idle_days)
    user = person.user
    context = UserPage(
        user=_row(person),
        has_password=user.password_hash is not None,
        is_admin=user.is_admin,
        is_disabled=user.disabled_at is not None,
        is_self=user.id == viewer.user.id,
        session_count=len(sessions),
        link=link,
    )
    return page(request, "users/user.html", context, status=status)


def _row(person: service.Person) -> UserRow:
    user = person.user
    return UserRow(
        id=str(user.id),
        name=user.name,
        role="Administrator" if user.is_admin else "Member",
        state="Disabled" if user.disabled_at else "Active",
        created_at=user.created_at,
        seen_at=person.seen_at,
    )
