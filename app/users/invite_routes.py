"""Invites into one project, for its administrators."""

from typing import Annotated

from fastapi import Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.routing import Router
from app.users import invite_views, service
from app.users.contexts import InvitesPart, ProjectInvitesPage
from app.users.invite_views import Typed
from app.web.deps import ProjectManager, Store, Viewer
from app.web.flash import flash
from app.web.templating import page

router = Router()


@router.get("/projects/{slug}/invites")
async def invites_page(
    request: Request, slug: str, store: Store, viewer: ProjectManager
) -> HTMLResponse:
    return _page(request, slug, viewer, await invite_views.show(store, viewer, project=slug))


@router.post("/projects/{slug}/invites")
async def create_invite(
    request: Request,
    slug: str,
    store: Store,
    viewer: ProjectManager,
    typed: Annotated[Typed, Form()],
) -> HTMLResponse:
    """Makes an invite and shows its link, this once."""
    part, status = await invite_views.make(request, store, viewer, typed, project=slug)
    return _page(request, slug, viewer, part, status=status)


@router.post("/projects/{slug}/invites/{invite_id}/revoke")
async def revoke_invite(
    slug: str, invite_id: str, store: Store, viewer: ProjectManager
) -> Response:
    async with store.write() as session:
        await service.revoke_invite(session, invite_id, by=viewer.principal)
    return flash(RedirectResponse(f"/projects/{slug}/invites", 303), "invite-revoked")


def _page(
    request: Request, slug: str, viewer: Viewer, part: InvitesPart, *, status: int = 200
) -> HTMLResponse:
    name = next(each.name for each in viewer.projects if each.slug == slug)
    context = ProjectInvitesPage(slug=slug, name=name, invites=part)
    return page(request, "users/project_invites.html", context, status=status)
