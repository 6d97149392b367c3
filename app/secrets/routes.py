"""Pages about secrets of a project and of the site: listed, set, replaced, deleted."""

from typing import Annotated
from uuid import UUID

from fastapi import Form, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Permission
from app.db import Database
from app.errors import Invalid, NotFound, Problem
from app.models import Project
from app.projects import service as projects
from app.routing import Router
from app.secrets import service, views
from app.secrets.service import Listed
from app.web.deps import Admin, ProjectManager, ProjectReader, Store, Viewer
from app.web.filters import sentence
from app.web.flash import flash
from app.web.templating import page

router = Router()
Text = Annotated[str, Form()]
_LIST, _ONE = "secrets/list.html", "secrets/show.html"


@router.get("/projects/{slug}/secrets")
async def list_of_project(
    request: Request, slug: str, store: Store, viewer: ProjectReader
) -> HTMLResponse:
    return await _list(request, store, viewer, slug)


@router.post("/projects/{slug}/secrets")
async def add_to_project(
    request: Request,
    slug: str,
    store: Store,
    viewer: ProjectManager,
    name: Text = "",
    value: Text = "",
) -> Response:
    return await _add(request, store, viewer, slug, name=name, value=value)


@router.get("/projects/{slug}/secrets/{name}")
async def show_of_project(
    request: Request, slug: str, name: str, store: Store, _viewer: ProjectManager
) -> HTMLResponse:
    """To replace or delete it."""
    return await _show(request, store, slug, name)


@router.post("/projects/{slug}/secrets/{name}")
async def replace_of_project(
    request: Request, slug: str, name: str, store: Store, viewer: ProjectManager, value: Text = ""
) -> Response:
    return await _replace(request, store, viewer, slug, name=name, value=value)


@router.post("/projects/{slug}/secrets/{name}/delete")
async def delete_of_project(slug: str, name: str, store: Store, viewer: ProjectManager) -> Response:
    return await _delete(store, viewer, slug, name)


@router.get("/settings/secrets")
async def list_of_site(request: Request, store: Store, viewer: Admin) -> HTMLResponse:
    return await _list(request, store, viewer, None)


@router.post("/settings/secrets")
async def add_to_site(
    request: Request, store: Store, viewer: Admin, name: Text = "", value: Text = ""
) -> Response:
    return await _add(request, store, viewer, None, name=name, value=value)


@router.get("/settings/secrets/{name}")
async def show_of_site(request: Request, name: str, store: Store, _viewer: Admin) -> HTMLResponse:
    """To replace or delete it."""
    return await _show(request, store, None, name)


@router.post("/settings/secrets/{name}")
async def replace_of_site(
    request: Request, name: str, store: Store, viewer: Admin, value: Text = ""
) -> Response:
    return await _replace(request, store, viewer, None, name=name, value=value)


@router.post("/settings/secrets/{name}/delete")
async def delete_of_site(name: str, store: Store, viewer: Admin) -> Response:
    return await _delete(store, viewer, None, name)


async def _list(
    request: Request,
    store: Database,
    viewer: Viewer,
    slug: str | None,
    *,
    name: str = "",
    error: Invalid | None = None,
) -> HTMLResponse:
    async with store.read() as session:
        project = await _project(session, slug)
        found = await service.list_all(session, _id_of(project))
    context = views.secrets_page(
        views.place_of(project),
        found,
        can_manage=project is None or viewer.may(Permission.MANAGE, project.id),
        name=name,
        problems=_problems(error),
    )
    return page(request, _LIST, context, status=422 if error else 200)


async def _add(
    request: Request, store: Database, viewer: Viewer, slug: str | None, *, name: str, value: str
) -> Response:
    name = name.strip()
    try:
        async with store.write() as session:
            project = await _project(session, slug)
            project_id = _id_of(project)
            _refuse_existing(await service.list_all(session, project_id), name)
            actor = viewer.principal.actor
            await service.put(session, project_id, name, _typed(value), actor=actor)
    except Invalid as error:
        return await _list(request, store, viewer, slug, name=name, error=error)
    return flash(RedirectResponse(_url(slug), 303), "secret-set")


async def _show(
    request: Request,
    store: Database,
    slug: str | None,
    name: str,
    error: Invalid | None = None,
) -> HTMLResponse:
    async with store.read() as session:
        project = await _project(session, slug)
        found = await service.list_all(session, _id_of(project))
    listed = next((each for each in found if each.name == name), None)
    if listed is None:
        raise NotFound(f"there is no secret {name}")
    problem = sentence(error.message) if error else ""
    context = views.secret_page(views.place_of(project), listed, problem=problem)
    return page(request, _ONE, context, status=422 if error else 200)


async def _replace(
    request: Request, store: Database, viewer: Viewer, slug: str | None, *, name: str, value: str
) -> Response:
    try:
        async with store.write() as session:
            project = await _project(session, slug)
            project_id = _id_of(project)
            await service.find(session, project_id, name)
            actor = viewer.principal.actor
            await service.put(session, project_id, name, _typed(value), actor=actor)
    except Invalid as error:
        return await _show(request, store, slug, name, error)
    return flash(RedirectResponse(_url(slug), 303), "secret-set")


async def _delete(store: Database, viewer: Viewer, slug: str | None, name: str) -> Response:
    async with store.write() as session:
        project = await _project(session, slug)
        actor = viewer.principal.actor
        await service.delete(session, _id_of(project), name, actor=actor)
    return flash(RedirectResponse(_url(slug), 303), "secret-deleted")


async def _project(session: AsyncSession, slug: str | None) -> Project | None:
    return None if slug is None else await projects.get(session, slug)


def _id_of(project: Project | None) -> UUID | None:
    return None if project is None else project.id


def _refuse_existing(found: list[Listed], name: str) -> None:
    if any(each.name == name for each in found):
        message = f"{name} is set already: use Replace in its row"
        raise Invalid(message, [Problem("name", "exists", message)])


def _typed(value: str) -> str:
    # Browsers send a text area's line ends as those of the network.
    return value.replace("\r\n", "\n")


def _url(slug: str | None) -> str:
    return views.SITE_URL if slug is None else f"/projects/{slug}/secrets"


def _problems(error: Invalid | None) -> dict[str, str]:
    if error is None:
        return {}
    found = {each.field: sentence(each.message) for each in error.problems}
    return found or {"": sentence(error.message)}
