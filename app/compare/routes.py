"""The pages of a comparison. Without two runs in its address, runs are chosen first."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.api.compress import compressed
from app.compare import service
from app.compare.asked import LEAST, MOST, Asked, At
from app.compare.comparison import Comparison
from app.compare.contexts import MazesPage, PickPage
from app.compare.curves import MeanCurve
from app.compare.matrix import matrix_of_checkpoints
from app.compare.pick_views import pick_page
from app.compare.statistics_views import statistics_page
from app.compare.views import chips_of, compare_page
from app.metrics.service import SeriesView
from app.projects import service as projects
from app.routing import Router
from app.runs import service as runs
from app.web.deps import RunReader, Store, Viewer
from app.web.htmx import HtmxRequest
from app.web.search import SearchWords
from app.web.templating import fragment, page

router = Router()
_NAME = 600
# The address holds names of that many runs, and no more than a browser sends.
_RUNS = 400
_FOUND = 50
_REPORT = {
    # A browser that shows it all the same gives it no origin and runs none of it. Opened from the
    # disk it has a policy of its own.
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "Content-Disposition": 'attachment; filename="skydeck-comparison.html"',
    "Cache-Control": "no-store",
}


async def asked(
    run: Annotated[list[str] | None, Query(max_length=_RUNS)] = None,
    metric: Annotated[str, Query(max_length=_NAME)] = "",
    at: str = At.LAST,
    group: Annotated[str, Query(max_length=_NAME)] = "",
    config: Annotated[str, Query(max_length=_NAME)] = "",
) -> Asked:
    """What the address of the page asks for; each run once."""
    known = At(at) if at in list(At) else At.LAST
    slugs = tuple(dict.fromkeys(slug for slug in run or () if slug))
    return Asked(slugs, metric, known, group, config)


Wishes = Annotated[Asked, Depends(asked)]


@router.get("/compare")
async def show_comparison(
    request: Request, store: Store, viewer: RunReader, wishes: Wishes
) -> HTMLResponse:
    """Runs beside each other; where their number does not do, the page to choose them on."""
    if not LEAST <= len(wishes.runs) <= MOST:
        picker = await _picker(store, viewer, wishes, "")
        return page(request, "compare/pick.html", picker, status=422 if picker.problem else 200)
    found = await service.compare(store, wishes)
    context = await asyncio.to_thread(compare_page, wishes, found)
    return compressed(request, page(request, "compare/show.html", context))


@router.get("/compare/runs")
async def pick_runs(
    request: Request, store: Store, viewer: RunReader, wishes: Wishes, q: SearchWords = ""
) -> HTMLResponse:
    """Runs to choose from: those chosen already, and what the words find."""
    return page(request, "compare/pick.html", await _picker(store, viewer, wishes, q))


@router.get("/compare/statistics")
async def show_statistics(
    request: Request, store: Store, htmx: HtmxRequest, _viewer: RunReader, wishes: Wishes
) -> Response:
    """Groups, returns and correlations; a part of the page that comes later, or a page."""
    if len(wishes.runs) < LEAST:
        return RedirectResponse(wishes.url(), 303)
    found = await service.compare(store, wishes)
    means = await service.read_means(store, found)
    context = await asyncio.to_thread(statistics_page, wishes, found, means)
    if htmx.is_fragment:
        return compressed(request, fragment(request, "compare/_statistics.html", context))
    return compressed(request, page(request, "compare/statistics.html", context))


@router.get("/compare/mazes")
async def show_mazes(
    request: Request, store: Store, _viewer: RunReader, wishes: Wishes
) -> Response:
    """Which mazes were solved, checkpoint by checkpoint."""
    if not wishes.runs:
        return RedirectResponse("/compare", 303)
    found = await service.list_checkpoints(store, wishes)
    context = MazesPage(
        chips=chips_of(wishes, [run for run, _, _ in found]),
        matrix=await asyncio.to_thread(matrix_of_checkpoints, found),
        back_url=wishes.url() if len(wishes.runs) >= LEAST else f"/runs/{wishes.runs[0]}",
    )
    return compressed(request, page(request, "compare/mazes.html", context))


@router.get("/compare/report.html")
async def download_report(store: Store, _viewer: RunReader, wishes: Wishes) -> Response:
    """The comparison as one file that needs nothing else."""
    if len(wishes.runs) < LEAST:
        return RedirectResponse(wishes.url(), 303)
    found = await service.compare(store, wishes)
    curves = await service.read_curves(store, found)
    means = await service.read_means(store, found)
    body = await asyncio.to_thread(_report, wishes, found, curves, means)
    return HTMLResponse(body, headers=_REPORT)


def _report(
    wishes: Asked, found: Comparison, curves: Sequence[SeriesView], means: Sequence[MeanCurve]
) -> str:
    # Imported here: the library of its figures is large, and few ask for a report.
    from app.compare.report import report

    return report(wishes, found, curves, means)


async def _picker(store: Store, viewer: Viewer, wishes: Asked, words: str) -> PickPage:
    async with store.read() as session:
        chosen = await service.find_runs(session, wishes.runs)
        allowed = await projects.narrow(session, viewer.principal, None)
        page_found = await runs.list_page(session, projects=allowed, text=words, limit=_FOUND)
    return pick_page(wishes, words, chosen, page_found.items)
