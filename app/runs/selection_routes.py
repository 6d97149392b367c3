"""What is done to the runs that somebody chose in the table; each works without JavaScript."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.errors import Invalid
from app.models import Run
from app.routing import Router
from app.runs import bulk, saved_views
from app.runs.bulk import Bulk, Plan
from app.runs.table_contexts import ChosenRun, SelectedPage
from app.web.deps import RunWriter, Store
from app.web.flash import flash
from app.web.templating import page

router = Router()
Chosen = Annotated[list[str] | None, Query(alias="run", max_length=bulk.MAX_RUNS)]
_SAID = {
    Bulk.STOP: "runs-stopping",
    Bulk.DELETE: "runs-deleted",
    Bulk.TAG: "runs-tagged",
    Bulk.UNTAG: "runs-untagged",
    Bulk.PIN: "runs-pinned",
    Bulk.UNPIN: "runs-unpinned",
    Bulk.ARCHIVE: "runs-archived",
    Bulk.UNARCHIVE: "runs-unarchived",
}
_VERBS = {
    Bulk.STOP: "Stop",
    Bulk.DELETE: "Delete",
    Bulk.TAG: "Add a tag to",
    Bulk.UNTAG: "Take a tag from",
    Bulk.PIN: "Pin",
    Bulk.UNPIN: "Unpin",
    Bulk.ARCHIVE: "Archive",
    Bulk.UNARCHIVE: "Bring back",
}
_CONSEQUENCES = {
    Bulk.STOP: "Each saves a checkpoint first; one that waits in a queue never starts.",
    Bulk.DELETE: "They leave all lists, and their share links end. For 30 days each can be "
    "restored on its page.",
    Bulk.TAG: "Filters find them by it.",
    Bulk.UNTAG: "Filters no longer find them by it.",
    Bulk.PIN: "They are marked for everybody, and found under Pinned.",
    Bulk.UNPIN: "They are no longer marked.",
    Bulk.ARCHIVE: "They leave the table of runs, and are found under Archived. Nothing is deleted.",
    Bulk.UNARCHIVE: "They are in the table of runs again.",
}


@router.get("/runs/selected")
async def ask(
    request: Request,
    store: Store,
    viewer: RunWriter,
    action: Bulk,
    run: Chosen = None,
    back: Annotated[str, Query(max_length=8_000)] = "",
) -> HTMLResponse:
    """What would happen to the chosen runs, and to which of them."""
    return await _page(request, store, run or [], action, back)


@router.post("/runs/selected")
async def apply(
    request: Request,
    store: Store,
    viewer: RunWriter,
    action: Bulk,
    run: Chosen = None,
    back: Annotated[str, Query(max_length=8_000)] = "",
    tag: Annotated[str, Form()] = "",
) -> Response:
    slugs = run or []
    try:
        async with store.write() as session:
            await bulk.apply(session, slugs, action, actor=viewer.principal.actor, tag=tag)
    except Invalid as error:
        if not slugs:
            raise
        return await _page(request, store, slugs, action, back, tag=tag, problem=error.message)
    return flash(RedirectResponse(saved_views.url_of(back), 303), _SAID[action])


async def _page(
    request: Request,
    store: Store,
    slugs: Sequence[str],
    action: Bulk,
    back: str,
    *,
    tag: str = "",
    problem: str = "",
) -> HTMLResponse:
    async with store.read() as session:
        plan = await bulk.plan(session, slugs, action)
        known = sorted({each for run in plan.fitting for each in run.tags})
    context = SelectedPage(
        title=_title(action, plan),
        verb=_VERBS[action].partition(" ")[0],
        consequence=_CONSEQUENCES[action] if plan.fitting else "",
        is_danger=action in (Bulk.STOP, Bulk.DELETE),
        fitting=[_chosen(run) for run in plan.fitting],
        others=[_chosen(run, why) for run, why in plan.others],
        asks_tag=action in (Bulk.TAG, Bulk.UNTAG),
        tag=tag,
        known_tags=known,
        problem=problem,
        action_url=f"/runs/selected?{request.url.query}",
        back_url=saved_views.url_of(back),
    )
    return page(request, "runs/selected.html", context, status=422 if problem else 200)


def _title(action: Bulk, plan: Plan) -> str:
    count = len(plan.fitting)
    return f"{_VERBS[action]} {count:,} {'run' if count == 1 else 'runs'}"


def _chosen(run: Run, why: str = "") -> ChosenRun:
    return ChosenRun(run.slug, run.name, run.status, why)
