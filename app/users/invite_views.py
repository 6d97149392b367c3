"""The card of invites, as the page of all users and that of a project show it."""

from collections.abc import Mapping
from urllib.parse import urlencode

from pydantic import BaseModel
from starlette.requests import Request

from app.access.permissions import Permission
from app.db import Database
from app.errors import Invalid
from app.models import Role
from app.users import forms, service
from app.users.contexts import InviteRow, InvitesPart
from app.web.deps import Viewer
from app.web.public_links import public_link


class Typed(BaseModel):
    """The form as it was filled in."""

    project: str = forms.NOWHERE
    role: Role = Role.MEMBER
    note: str = ""


async def make(
    request: Request, store: Database, viewer: Viewer, typed: Typed, *, project: str | None = None
) -> tuple[InvitesPart, int]:
    """Makes an invite, into `project` where the page is about one; the card and the status."""
    chosen = project or (None if typed.project == forms.NOWHERE else typed.project)
    try:
        async with store.write() as session:
            _, secret = await service.create_invite(
                session, viewer.principal, project=chosen, role=typed.role, note=typed.note.strip()
            )
    except Invalid as error:
        faults = forms.problems_of(error)
        return await show(store, viewer, project=project, typed=typed, faults=faults), 422
    link = link_to(request, "join", secret)
    return await show(store, viewer, project=project, link=link), 201


async def show(
    store: Database,
    viewer: Viewer,
    *,
    project: str | None = None,
    typed: Typed | None = None,
    faults: Mapping[str, str] | None = None,
    link: str = "",
) -> InvitesPart:
    async with store.read() as session:
        entries = await service.list_invites(session, viewer.principal, project)
    places = [each for each in viewer.projects if viewer.may(Permission.MANAGE, each.project_id)]
    return InvitesPart(
        action=f"/projects/{project}/invites" if project else "/settings/invites",
        rows=[_row(entry) for entry in entries],
        fields=forms.invite_fields(
            typed.model_dump() if typed else {},
            faults or {},
            projects=None if project else places,
        ),
        link=link,
    )


def link_to(request: Request, page: str, secret: str) -> str:
    """The address of a page that redeems a secret, as other people reach it."""
    return public_link(request, f"{page}?{urlencode({'token': secret})}")


def _row(entry: service.InviteEntry) -> InviteRow:
    invite, state = entry.invite, service.invite_state(entry.invite)
    return InviteRow(
        slug=invite.slug,
        note=invite.note,
        place=f"{entry.project}, {invite.role}" if entry.project else "none yet",
        created_by=invite.created_by,
        created_at=invite.created_at,
        expires_at=invite.expires_at,
        state=state,
        used_by=entry.used_by or "",
        is_open=state is service.InviteState.OPEN,
    )
