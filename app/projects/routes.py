"""Pages about projects: the list, a new one, one with its members."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Permission
from app.db import Database
from app.errors import Conflict, Invalid, NotFound
from app.models import Role
from app.projects import service, views
from app.projects.contexts import ProjectsPage
from app.routing import Router
from app.web.deps import Admin, ProjectManager, ProjectReader, Reader, Store, Viewer
from app.web.filters import sentence
from app.web.flash import flash
from app.web.paging import Cursor, pager
from app.web.templating import page

router = Router()
PAGE_SIZE = 50
Text = Annotated[str, Form(max_length=1_000)]


@router.get("/projects")
async def list_projects(
    request: Request, store: Store, viewer: Reader, cursor: Cursor = None
) -> HTMLResponse:
    async with store.read() as session:
        shown = await service.narrow(session, viewer.principal, None)
        found = await service.list_page(session, projects=shown, limit=PAGE_SIZE, cursor=cursor)
        counts = await service.counts(session, found.items)
    context = ProjectsPage(
        rows=[views.project_row(each, viewer, counts[each.id]) for each in found.items],
        pager=pager("/projects", {}, cursor=cursor, next_cursor=found.next_cursor),
        user_name=viewer.name,
        can_create=viewer.may(Permission.ADMINISTER),
    )
    return page(request, "projects/list.html", context)


@router.get("/projects/new")
async def ask_project(request: Request, _viewer: Admin) -> HTMLResponse:
    return page(request, "projects/new.html", views.new_project_page({}, {}))


@router.post("/projects/new")
async def create_project(
    request: Request, store: Store, viewer: Admin, name: Text = "", slug: Text = ""
) -> Response:
    """The administrator who makes it is its first member."""
    try:
        async with store.write() as session:
            project = await service.create(
                session,
                name=name,
                slug=slug.strip() or None,
                actor=viewer.principal.actor,
                administrator=viewer.user.id,
            )
    except Invalid as error:
        typed = {"name": name, "slug": slug}
        context = views.new_project_page(typed, _problems(error))
        return page(request, "projects/new.html", context, status=422)
    return flash(RedirectResponse(f"/projects/{project.slug}", 303), "project-created")


@router.get("/projects/{slug}")
async def show_project(
    request: Request, slug: str, store: Store, viewer: ProjectReader
) -> HTMLResponse:
    return await _show(request, store, viewer, slug)


@router.post("/projects/{slug}/rename")
async def rename_project(
    request: Request, slug: str, store: Store, viewer: ProjectManager, project_name: Text = ""
) -> Response:
    try:
        async with store.write() as session:
            project = await service.get(session, slug)
            await service.rename(session, project, project_name, actor=viewer.principal.actor)
    except Invalid as error:
        typed = {"project_name": project_name}
        problems = {"project_name": sentence(error.message)}
        return await _show(request, store, viewer, slug, typed=typed, problems=problems, status=422)
    return flash(RedirectResponse(f"/projects/{slug}", 303), "project-renamed")


@router.post("/projects/{slug}/members")
async def add_member(
    request: Request,
    slug: str,
    store: Store,
    viewer: ProjectManager,
    name: Text = "",
    role: Annotated[Role, Form()] = Role.MEMBER,
) -> Response:
    try:
        async with store.write() as session:
            project = await service.get(session, slug)
            await service.add_member(session, project, name, role, actor=viewer.principal.actor)
    except Invalid as error:
        typed = {"name": name, "role": role.value}
        return await _show(
            request, store, viewer, slug, typed=typed, problems=_problems(error), status=422
        )
    return flash(RedirectResponse(f"/projects/{slug}", 303), "member-added")


@router.post("/projects/{slug}/members/change")
async def change_member(
    request: Request,
    slug: str,
    store: Store,
    viewer: ProjectManager,
    name: Text,
    role: Annotated[Role, Form()],
) -> Response:
    try:
        async with store.write() as session:
            project = await service.get(session, slug)
            await service.put_member(session, project, name, role, actor=viewer.principal.actor)
    except (Conflict, Invalid) as error:
        return await _refused(request, store, viewer, slug, error)
    return flash(RedirectResponse(f"/projects/{slug}", 303), "member-changed")


@router.post("/projects/{slug}/members/remove")
async def remove_member(
    request: Request, slug: str, store: Store, viewer: ProjectManager, name: Text
) -> Response:
    try:
        async with store.write() as session:
            project = await service.get(session, slug)
            await service.remove_member(session, project, name, actor=viewer.principal.actor)
    except (Conflict, NotFound) as error:
        return await _refused(request, store, viewer, slug, error)
    # Who removed themselves can no longer see the project.
    back = "/projects" if name == viewer.name and not viewer.is_admin else f"/projects/{slug}"
    return flash(RedirectResponse(back, 303), "member-removed")


async def _refused(
    request: Request,
    store: Database,
    viewer: Viewer,
    slug: str,
    error: Conflict | Invalid | NotFound,
) -> HTMLResponse:
    problems = {"": sentence(error.message)}
    return await _show(request, store, viewer, slug, problems=problems, status=error.status)


async def _show(
    request: Request,
    store: Database,
    viewer: Viewer,
    slug: str,
    *,
    typed: Mapping[str, str] | None = None,
    problems: Mapping[str, str] | None = None,
    status: int = 200,
) -> HTMLResponse:
    async with store.read() as session:
        project = await service.get(session, slug)
        counts = await service.counts(session, [project])
        members = await service.list_members(session, project)
    context = views.project_page(
        project, viewer, counts[project.id], members, typed=typed or {}, problems=problems or {}
    )
    return page(request, "projects/show.html", context, status=status)


def _problems(error: Invalid) -> dict[str, str]:
    found = {each.field: sentence(each.message) for each in error.problems}
    return found or {"": sentence(error.message)}
