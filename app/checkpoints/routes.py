"""The tab of a run that shows what it has saved."""

from fastapi import Request
from starlette.responses import HTMLResponse

from app.access.permissions import Permission
from app.adapters import service as adapters
from app.checkpoints import service, views
from app.checkpoints.contexts import CheckpointsPage
from app.routing import Router
from app.runs.loading import load_head
from app.web.deps import RunReader, Store
from app.web.htmx import HtmxRequest
from app.web.paging import Cursor, pager
from app.web.templating import fragment, page

router = Router()
PAGE_SIZE = 60


@router.get("/runs/{slug}/checkpoints")
async def show_checkpoints(
    request: Request,
    slug: str,
    store: Store,
    htmx: HtmxRequest,
    viewer: RunReader,
    cursor: Cursor = None,
) -> HTMLResponse:
    async with store.read() as session:
        run, head = await load_head(session, slug, viewer, tab="Checkpoints")
        found, best = await service.list_with_best(session, run, limit=PAGE_SIZE, cursor=cursor)
        made = views.by_checkpoint(await adapters.list_of_run(session, run))
    can_write = viewer.may(Permission.WRITE, run.project_id) and run.deleted_at is None
    context = CheckpointsPage(
        head=head,
        rows=[
            views.checkpoint_row(shown, made.get(shown.row.id, []), can_write=can_write)
            for shown in found.items
        ],
        note=views.best_note(best),
        pager=pager(f"/runs/{slug}/checkpoints", {}, cursor=cursor, next_cursor=found.next_cursor),
    )
    if htmx.is_fragment:
        return fragment(request, "checkpoints/_table.html", context)
    return page(request, "checkpoints/list.html", context)
