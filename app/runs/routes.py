"""Pages about runs: start, the table, one run with its live parts."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Permission
from app.clock import utcnow
from app.metrics import service as metrics
from app.metrics.charts import HERO_KEY
from app.models import RunOrigin
from app.routing import Router
from app.runs import service, views
from app.runs.contexts import (
    ChartsPage,
    ChartsPart,
    MazesPart,
    StartPage,
    StatusPart,
)
from app.runs.loading import embedded_line, load_head
from app.web.chart_board import panel
from app.web.deps import Reader, RunReader, Store
from app.web.project_switch import project_switch
from app.web.run_table import rate_figure
from app.web.templating import fragment, page

router = Router()
_KEY_LENGTH = 500


@router.get("/")
async def start(request: Request, store: Store, viewer: Reader) -> Response:
    async with store.read() as session:
        if await service.count(session, projects=viewer.principal.projects(Permission.READ)):
            return RedirectResponse(project_switch(request, viewer).list_url, 303)
        line = await embedded_line(session)
    return page(request, "runs/start.html", StartPage(line))


@router.get("/runs/{slug}")
async def show(request: Request, slug: str, store: Store, viewer: RunReader) -> HTMLResponse:
    async with store.read() as session:
        run, head = await load_head(session, slug, viewer, tab="Charts")
        counts = (await metrics.list_solve_counts(session, [run])).get(run.id, [])
        newest, before = await metrics.find_newest_and_untrained(session, run)
        series = await metrics.list_series(session, run)
    hero = views.hero_spec(run, counts, series)
    is_drawn_from_dumps = bool(counts) or run.origin is RunOrigin.SUBMITTED
    context = ChartsPage(
        head=head,
        figures=views.figures(run, head.step, counts, utcnow()),
        hero_chart=panel([slug], hero),
        is_solve_rate=is_drawn_from_dumps and hero.is_hero,
        is_pass_at_1=hero.key == views.STAND_IN_KEY,
        hero=views.hero_data(run, counts),
        hero_rows=[(c.step, rate_figure(c.solved, c.n)) for c in reversed(counts)],
        grid=views.maze_grid(newest, before=before, run_slug=slug) if newest else None,
        has_mazes=newest is not None or run.origin is RunOrigin.SUBMITTED,
        board=views.chart_board(run, series, hero=hero.key, total=views.planned_steps(run)),
    )
    return page(request, "runs/show.html", context)


@router.get("/runs/{slug}/status")
async def status_part(
    request: Request, slug: str, store: Store, viewer: RunReader, *, figures: bool = False
) -> HTMLResponse:
    """The live part at the top of a run's pages; the first tab has `figures` in it."""
    async with store.read() as session:
        run, head = await load_head(session, slug, viewer)
        counts = (await metrics.list_solve_counts(session, [run])).get(run.id, [])
    shown = views.figures(run, head.step, counts, utcnow()) if figures else []
    return fragment(request, "runs/_head.html", StatusPart(head, shown))


@router.get("/runs/{slug}/charts")
async def charts_part(
    request: Request,
    slug: str,
    store: Store,
    viewer: RunReader,
    hero: Annotated[str, Query(max_length=_KEY_LENGTH)] = HERO_KEY,
) -> HTMLResponse:
    """The cards of all charts but `hero`, asked for again when a run logs a new metric."""
    async with store.read() as session:
        run, head = await load_head(session, slug, viewer)
        series = await metrics.list_series(session, run)
    context = ChartsPart(head, views.chart_board(run, series, hero=hero))
    return fragment(request, "runs/_charts.html", context)


@router.get("/runs/{slug}/mazes")
async def mazes_part(request: Request, slug: str, store: Store, viewer: RunReader) -> HTMLResponse:
    """The newest evaluation as a grid of mazes."""
    async with store.read() as session:
        run, head = await load_head(session, slug, viewer)
        newest, before = await metrics.find_newest_and_untrained(session, run)
    grid = views.maze_grid(newest, before=before, run_slug=slug) if newest else None
    context = MazesPart(head, grid)
    return fragment(request, "runs/_mazes.html", context)
