"""Charts of chosen metrics of chosen runs: their page, their points."""

import asyncio
from typing import Annotated, Literal

from fastapi import Query, Request
from starlette.responses import HTMLResponse, Response

from app.api.compress import compressed
from app.metrics import service
from app.metrics.charts import chart_for
from app.metrics.contexts import ChartsPage
from app.metrics.schemas import series_json
from app.routing import Router
from app.runs import service as runs
from app.web.chart_board import ChartRun, board
from app.web.deps import RunReader, Store
from app.web.templating import page

router = Router()
MAX_RUNS = 100
MAX_CHARTS = 100
Key = Annotated[str, Query(min_length=1, max_length=500)]
Runs = Annotated[list[str], Query(min_length=1, max_length=MAX_RUNS)]
Keys = Annotated[list[Key], Query(min_length=1, max_length=MAX_CHARTS)]


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
async def points(
    request: Request,
    store: Store,
    _viewer: RunReader,
    run: Runs,
    key: Keys,
    x: Annotated[Literal["step", "time", "relative"], Query()] = "step",
    max_points: Annotated[int, Query(ge=4, le=10_000)] = 1_000,
    digits: Annotated[int | None, Query(ge=3, le=17)] = None,
    since: Annotated[list[str] | None, Query(max_length=MAX_RUNS * MAX_CHARTS)] = None,
) -> Response:
    """As `GET /api/v1/series`, for the pages' own scripts, which have no token."""
    async with store.read() as session:
        found = await runs.get_many(session, list(dict.fromkeys(run)))
        loaded = await service.load_series(
            session, found, list(dict.fromkeys(key)), x=x, since=since or ()
        )

    def packed() -> Response:
        body = series_json(loaded, max_points, digits)
        return compressed(request, Response(body, media_type="application/json"))

    return await asyncio.to_thread(packed)
