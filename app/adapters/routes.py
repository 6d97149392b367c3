"""Pages about adapters: promote a checkpoint, follow that, list, look, delete."""

from typing import Annotated

from fastapi import Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Permission
from app.adapters import destinations, service, views
from app.adapters.contexts import AdapterPage, AdaptersPage, DeletePage, PromotePage
from app.adapters.service import NameInUse
from app.checkpoints import service as checkpoints
from app.db import Database
from app.endpoints import service as endpoints
from app.errors import Conflict, Invalid
from app.models import AdapterStatus
from app.projects import service as projects
from app.routing import Router
from app.runs import service as runs
from app.web.deps import (
    AdapterReader,
    AdapterWriter,
    CheckpointWriter,
    PromotionReader,
    RunReader,
    Store,
)
from app.web.flash import flash
from app.web.htmx import HtmxRequest
from app.web.paging import Cursor, pager
from app.web.templating import fragment, page

router = Router()
PAGE_SIZE = 50
_LONGEST_NAME = 300


@router.get("/adapters")
async def list_adapters(
    request: Request,
    store: Store,
    htmx: HtmxRequest,
    viewer: RunReader,
    project: str = "",
    run: Annotated[str, Query(max_length=200)] = "",
    cursor: Cursor = None,
) -> HTMLResponse:
    async with store.read() as session:
        found = await service.list_page(
            session,
            projects=await projects.narrow(session, viewer.principal, project or None),
            run=await runs.get(session, run) if run else None,
            limit=PAGE_SIZE,
            cursor=cursor,
        )
    context = AdaptersPage(
        rows=[
            views.adapter_row(each, project_name=viewer.project_badge(each.project_id))
            for each in found.items
        ],
        run_slug=run,
        is_live=any(each.adapter.status is AdapterStatus.PROMOTING for each in found.items),
        pager=pager(
            "/adapters",
            {"project": project, "run": run},
            cursor=cursor,
            next_cursor=found.next_cursor,
        ),
    )
    if htmx.is_fragment:
        return fragment(request, "adapters/_table.html", context)
    return page(request, "adapters/list.html", context)


@router.get("/adapters/{slug}")
async def show_adapter(
    request: Request, slug: str, store: Store, viewer: AdapterReader
) -> HTMLResponse:
    async with store.read() as session:
        adapter = await service.get(session, slug)
        promotion = await service.promotion_of(session, adapter)
    can_write = viewer.may(Permission.WRITE, adapter.project_id)
    can_delete = (
        can_write
        and adapter.status is not AdapterStatus.DELETED
        and promotion.status not in service.OPEN
    )
    row = views.adapter_row(promotion)
    context = AdapterPage(row, can_write and bool(row.evaluate_url), can_delete)
    return page(request, "adapters/show.html", context)


@router.get("/adapters/{slug}/delete")
async def ask_delete(
    request: Request, slug: str, store: Store, viewer: AdapterWriter
) -> HTMLResponse:
    async with store.read() as session:
        adapter = await service.get(session, slug)
        promotion = await service.promotion_of(session, adapter)
    row = views.adapter_row(promotion)
    context = DeletePage(row, is_served=adapter.status is AdapterStatus.READY)
    return page(request, "adapters/delete.html", context)


@router.post("/adapters/{slug}/delete")
async def delete_adapter(slug: str, store: Store, viewer: AdapterWriter) -> Response:
    async with store.write() as session:
        adapter = await service.get(session, slug)
        await service.delete(session, adapter, actor=viewer.principal.actor)
    return flash(RedirectResponse("/adapters", 303), "adapter-deleted")


@router.get("/checkpoints/{slug}/promote")
async def ask_promotion(
    request: Request, slug: str, store: Store, viewer: CheckpointWriter
) -> HTMLResponse:
    return page(request, "adapters/promote.html", await _promote_page(store, slug))


@router.post("/checkpoints/{slug}/promote")
async def promote(
    request: Request,
    slug: str,
    store: Store,
    viewer: CheckpointWriter,
    adapter_name: Annotated[str, Form(max_length=_LONGEST_NAME)] = "",
) -> Response:
    """Leads to the promotion, an earlier one where the same was asked for before."""
    name, said = adapter_name.strip(), {}
    try:
        async with store.write() as session:
            checkpoint = await checkpoints.get(session, slug)
            made = await service.promote(
                session, checkpoint, actor=viewer.principal.actor, name=name or None
            )
        return RedirectResponse(f"/promotions/{made.slug}", 303)
    except NameInUse as error:
        said = {"name_problem": error.message, "suggestion": error.suggestion}
    except Invalid as error:
        said = {"name_problem": error.message}
    except Conflict as error:
        said = {"problem": error.message}
    context = await _promote_page(store, slug, name=name, **said)
    return page(request, "adapters/promote.html", context, status=422)


@router.get("/promotions/{slug}")
async def show_promotion(
    request: Request, slug: str, store: Store, htmx: HtmxRequest, viewer: PromotionReader
) -> HTMLResponse:
    async with store.read() as session:
        promotion = await service.get_promotion(session, slug)
        adapter = promotion.adapter
        model = destinations.of(adapter.destination).model_id(adapter.name)
        is_listed = await endpoints.is_listed(session, adapter.destination, model)
    can_write = viewer.may(Permission.WRITE, promotion.project_id)
    context = views.promotion_page(promotion, can_write=can_write, is_listed=is_listed)
    if htmx.is_fragment:
        return fragment(request, "adapters/_progress.html", context)
    return page(request, "adapters/promotion.html", context)


async def _promote_page(
    store: Database, slug: str, *, name: str | None = None, **said: str
) -> PromotePage:
    async with store.read() as session:
        checkpoint = await checkpoints.get(session, slug)
        count = await checkpoints.evaluation_of(session, checkpoint, checkpoint.run)
    return views.promote_page(checkpoint, count, name=name, **said)
