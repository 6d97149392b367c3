"""Pages of single episodes of the evaluations that a run makes while training."""

import asyncio
from typing import Annotated

from fastapi import Path, Query, Request
from starlette.responses import HTMLResponse, Response

from app.access.permissions import Permission
from app.adapters import service as adapters
from app.db import Database
from app.episodes import rollouts
from app.episodes.rollouts import FoundRollout
from app.errors import NotFound
from app.models import Run
from app.playground import views
from app.routing import Router
from app.runs import service as runs
from app.web.deps import RunReader, Store
from app.web.htmx import HtmxRequest
from app.web.templating import fragment, page

router = Router()
_MOST = 2**31 - 1
Attempt = Annotated[int, Path(ge=1, le=_MOST)]
Step = Annotated[int, Path(ge=0, lt=2**63)]
Number = Annotated[int, Path(ge=1, le=_MOST)]
Turn = Annotated[int | None, Query(ge=0, le=_MOST)]
_PLACE = "/runs/{slug}/attempts/{attempt}/evaluations/{step}/{number}"
_YEAR = "private, max-age=31536000, immutable"


@router.get(_PLACE)
async def show_rollout(
    request: Request,
    slug: str,
    attempt: Attempt,
    step: Step,
    number: Number,
    store: Store,
    htmx: HtmxRequest,
    viewer: RunReader,
    turn: Turn = None,
) -> HTMLResponse:
    """An episode, in the viewer of the playground, beside what the run counted of it."""
    run, found = await _find(store, slug, attempt, step, number)
    models = None
    if viewer.may(Permission.WRITE) and not htmx.is_fragment:
        async with store.read() as session:
            models = await adapters.list_beside_base(session, run, step=step, attempt=attempt)
    context = await asyncio.to_thread(views.rollout_page, run, found, turn=turn, models=models)
    if htmx.is_fragment:
        return fragment(request, "playground/_stage.html", context)
    return page(request, "playground/rollout.html", context)


@router.get(_PLACE + "/pictures/{lane}/{turn}.png")
async def show_rollout_picture(
    slug: str,
    attempt: Attempt,
    step: Step,
    number: Number,
    lane: int,
    turn: int,
    store: Store,
    _viewer: RunReader,
) -> Response:
    """The picture that a turn was asked with, as it is rebuilt here."""
    _, found = await _find(store, slug, attempt, step, number)
    played = found.loaded.lanes[0].lane
    if lane != 1 or not 1 <= turn <= len(played.turns):
        raise NotFound(f"this episode has no turn {turn} in lane {lane}")
    png = await asyncio.to_thread(lambda: played.branch(turn - 1).picture())
    return Response(png, media_type="image/png", headers={"Cache-Control": _YEAR})


async def _find(
    store: Database, slug: str, attempt: int, step: int, number: int
) -> tuple[Run, FoundRollout]:
    async with store.read() as session:
        run = await runs.get(session, slug)
        kept = await rollouts.get_rollout(session, run, step, number, attempt=attempt)
    return run, await rollouts.rebuild(kept)
