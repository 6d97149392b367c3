"""Charts of chosen metrics of chosen runs: their page, their points."""

import asyncio

from fastapi import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from app.api.compress import compressed
from app.metrics import service
from app.metrics.charts import chart_for
from app.metrics.contexts import ChartsPage
from app.metrics.questions import AskedLook, Digits, Keys, MaxPoints, Runs, Since
from app.routing import Router
from app.runs import service as runs
from app.web.chart_board import ChartRun, board
from app.web.deps import RunReader, Store
from app.web.templating import page

router = Router()


@router.get("/charts")
async def show_charts(
    request: Request, store: Store, _viewer: RunReader, run: Runs, key: Keys
) -> HTMLResponse:
    """Where a panel's permanent link leads.

    Metrics that no run has logged are empty panels that say so: they may be logged yet.
    """
    async with store.read() as session:
        found = await runs.get_many(session, list(dict.fromkeys(run)))
    keys = list(dict.fromkeys(key))
    titles = [chart_for(each).title for each in keys]
    context = ChartsPage(
        title=titles[0] if len(titles) == 1 else f"{len(titles)} charts",
        board=board([ChartRun.of(each) for each in found], keys),
    )
    return page(request, "charts/show.html", context)


@router.get("/charts/series")
async def read_points(
    request: Request,
    store: Store,
    _viewer: RunReader,
    run: Runs,
    key: Keys,
    look: AskedLook,
    max_points: MaxPoints = 1_000,
    digits: Digits = None,
    since: Since = None,
) -> Response:
    """As `GET /api/v1/series`, for the scripts of pages, which have no token."""
    async with store.read() as session:
        found = await runs.get_many(session, list(dict.fromkeys(run)))
        loaded = await service.load_series(
            session, found, key, look=look, since=since or (), max_stored=service.MAX_POINTS
        )

    def packed() -> Response:
        body = service.series_json(loaded, max_points, digits=digits)
        return compressed(request, Response(body, media_type="application/json"))

    return await asyncio.to_thread(packed)


@router.get("/charts/series.csv")
async def download_points(
    store: Store, _viewer: RunReader, run: Runs, key: Keys
) -> StreamingResponse:
    """All points of these metrics of these runs, none left out."""
    async with store.read() as session:
        found = await runs.get_many(session, list(dict.fromkeys(run)))
    name = f"{found[0].slug}.csv" if len(found) == 1 else "runs.csv"
    lines = service.csv_of(store, found, list(dict.fromkeys(key)))
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines, media_type="text/csv", headers=headers)
