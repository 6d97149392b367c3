"""What people do to a run: stop, resume, delete, restore. Each works without JavaScript."""

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.errors import Conflict
from app.routing import Router
from app.runs import service, views
from app.runs.contexts import ConfirmPage
from app.runs.loading import load_head
from app.web.deps import RunWriter, Store
from app.web.flash import flash
from app.web.templating import page

router = Router()


@router.get("/runs/{slug}/stop")
async def ask_stop(request: Request, slug: str, store: Store, viewer: RunWriter) -> HTMLResponse:
    async with store.read() as session:
        run, head = await load_head(session, slug, viewer)
    if not head.can_stop:
        raise Conflict(f"run {run.slug} cannot be stopped: it is {run.status} already")
    context = ConfirmPage(
        head=head,
        verb="Stop",
        keep="Keep it running",
        icon="stop",
        action_url=f"/runs/{slug}/stop",
        consequences=views.stop_consequences(run),
    )
    return page(request, "runs/confirm.html", context)


@router.post("/runs/{slug}/stop")
async def stop(slug: str, store: Store, viewer: RunWriter) -> Response:
    async with store.write() as session:
        run = await service.get(session, slug)
        await service.request_stop(session, run, actor=viewer.principal.actor)
    return _back(slug, "run-stopping")


@router.post("/runs/{slug}/resume")
async def resume(slug: str, store: Store, viewer: RunWriter) -> Response:
    async with store.write() as session:
        run = await service.get(session, slug)
        await service.request_resume(session, run, actor=viewer.principal.actor)
    return _back(slug, "run-resumed")


@router.get("/runs/{slug}/delete")
async def ask_delete(request: Request, slug: str, store: Store, viewer: RunWriter) -> HTMLResponse:
    async with store.read() as session:
        run, head = await load_head(session, slug, viewer)
    if not head.can_delete:
        why = "it is deleted already" if head.is_deleted else f"it is {run.status}, stop it first"
        raise Conflict(f"run {run.slug} cannot be deleted: {why}")
    context = ConfirmPage(
        head=head,
        verb="Delete",
        keep="Keep it",
        icon="close",
        action_url=f"/runs/{slug}/delete",
        consequences=[
            "It leaves the table of runs and its experiment.",
            "This page, its charts and its log stay; it can be restored here.",
        ],
    )
    return page(request, "runs/confirm.html", context)


@router.post("/runs/{slug}/delete")
async def delete(slug: str, store: Store, viewer: RunWriter) -> Response:
    async with store.write() as session:
        run = await service.get(session, slug)
        await service.delete(session, run, actor=viewer.principal.actor)
    return _back(slug, "run-deleted")


@router.post("/runs/{slug}/restore")
async def restore(slug: str, store: Store, viewer: RunWriter) -> Response:
    async with store.write() as session:
        run = await service.get(session, slug)
        await service.restore(session, run, actor=viewer.principal.actor)
    return _back(slug, "run-restored")


def _back(slug: str, said: str) -> Response:
    return flash(RedirectResponse(f"/runs/{slug}", 303), said)
