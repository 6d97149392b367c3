"""Pages of the audit log: of the site, of one project, and as a file."""

from collections.abc import Collection
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Depends, Query, Request
from pydantic import AfterValidator
from starlette.responses import HTMLResponse, StreamingResponse

from app.audit import service, views
from app.audit.actions import Action
from app.audit.asked import Asked
from app.audit.contexts import AuditPage
from app.audit.export import Format, Writer
from app.db import Database
from app.errors import Invalid
from app.models import AuditOutcome
from app.projects import service as projects
from app.routing import Router
from app.web.deps import Admin, ProjectManager, Store
from app.web.paging import Cursor, pager
from app.web.templating import page

router = Router()
PAGE_SIZE = 100
_LONGEST = 200
_SITE_URL = "/settings/audit"


def _plain(text: str) -> str:
    return text.strip().encode(errors="replace").decode()[:_LONGEST]


Typed = Annotated[str, AfterValidator(_plain)]


async def _asked(
    actor: Typed = "",
    action: Typed = "",
    object_slug: Annotated[Typed, Query(alias="object")] = "",
    outcome: Typed = "",
    project: Typed = "",
    since: Annotated[Typed, Query(alias="from")] = "",
    until: Annotated[Typed, Query(alias="to")] = "",
) -> Asked:
    return Asked(actor, action, object_slug, outcome, project, since, until)


Wanted = Annotated[Asked, Depends(_asked)]


@router.get(_SITE_URL)
async def show_site(
    request: Request, store: Store, asked: Wanted, _viewer: Admin, cursor: Cursor = None
) -> HTMLResponse:
    project_ids = await _project_ids(store, asked.project) if asked.project else None
    return await _page(request, store, asked, project_ids, url=_SITE_URL, cursor=cursor)


@router.get(_SITE_URL + ".{kind}")
async def export_site(
    kind: Format, store: Store, asked: Wanted, _viewer: Admin
) -> StreamingResponse:
    """All rows that fit the filter, as a file."""
    project_ids = await _project_ids(store, asked.project) if asked.project else None
    return _file(store, asked, project_ids, kind)


@router.get("/projects/{slug}/audit")
async def show_project(
    request: Request,
    slug: str,
    store: Store,
    asked: Wanted,
    _viewer: ProjectManager,
    cursor: Cursor = None,
) -> HTMLResponse:
    project_ids = await _project_ids(store, slug)
    url = f"/projects/{slug}/audit"
    return await _page(request, store, asked, project_ids, url=url, project=slug, cursor=cursor)


@router.get("/projects/{slug}/audit.{kind}")
async def export_project(
    slug: str, kind: Format, store: Store, asked: Wanted, _viewer: ProjectManager
) -> StreamingResponse:
    """All rows of the project that fit the filter, as a file."""
    return _file(store, asked, await _project_ids(store, slug), kind)


async def _project_ids(store: Database, slug: str) -> Collection[UUID]:
    async with store.read() as session:
        return frozenset({(await projects.get(session, slug)).id})


async def _page(
    request: Request,
    store: Database,
    asked: Asked,
    project_ids: Collection[UUID] | None,
    *,
    url: str,
    project: str = "",
    cursor: str | None,
) -> HTMLResponse:
    chosen, problems = asked.read(project_ids)
    async with store.read() as session:
        found = await service.list_page(session, chosen, limit=PAGE_SIZE, cursor=cursor)
    query = views.query_of(asked)
    tail = f"?{urlencode(query)}" if query else ""
    context = AuditPage(
        url=url,
        project_slug=project,
        asked=asked,
        is_filtered=bool(query),
        problems=problems,
        actions=[each.value for each in Action],
        outcomes=[each.value for each in AuditOutcome],
        rows=[views.audit_row(row, asked, url) for row in found.items],
        pager=pager(url, query, cursor=cursor, next_cursor=found.next_cursor),
        csv_url=f"{url}.{Format.CSV}{tail}",
        jsonl_url=f"{url}.{Format.JSONL}{tail}",
    )
    return page(request, "audit/list.html", context, status=422 if problems else 200)


def _file(
    store: Database, asked: Asked, project_ids: Collection[UUID] | None, kind: Format
) -> StreamingResponse:
    chosen, problems = asked.read(project_ids)
    if problems:
        # A file of more than was asked for would be taken for what was asked for.
        raise Invalid("; ".join(f"{name}: {message}" for name, message in problems.items()))
    body = Writer(kind).write(service.iter_batches(store, chosen))
    headers = {
        "Content-Disposition": f'attachment; filename="skydeck-audit.{kind}"',
        "Cache-Control": "no-store",
    }
    return StreamingResponse(body, media_type=kind.media_type, headers=headers)
