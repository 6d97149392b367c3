"""Charts of chosen metrics of chosen runs: their page, their points as columns and as CSV."""

from fastapi import Request, Response
from starlette.responses import HTMLResponse, StreamingResponse

from app.metrics import service
from app.metrics.answers import answer_series
from app.metrics.contexts import ChartsPage
from app.metrics.questions import AskedLook, AskedSeries, Keys, Runs
from app.routing import Router
from app.runs import briefs
from app.runs import service as runs
from app.runs.asked import Asked, PageReader
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
    shown = board([ChartRun.of(each) for each in found], key)
    panels = [each for group in shown.groups for each in group.panels]
    only = panels[0] if len(panels) == 1 else None
    title = only.title if only else f"{len(panels)} charts"
    context = ChartsPage(title=title, board=shown, panel=only)
    return page(request, "charts/show.html", context)


@router.get("/series")
async def read_series(
    request: Request, _viewer: PageReader, store: Store, wanted: AskedSeries
) -> Response:
    """What `GET /api/v1/series` answers, for `panels.js`."""
    return await answer_series(request, store, wanted)


@router.get("/series.csv")
async def download_series(
    _viewer: PageReader, asked: Asked, store: Store, run: Runs, key: Keys, look: AskedLook
) -> StreamingResponse:
    """The points of a chart, all of them and with all their digits."""
    async with store.read() as session:
        found = await briefs.get_briefs(session, asked.slugs)
    body = service.csv_of(store, found, key, look)
    headers = {"Content-Disposition": 'attachment; filename="skydeck-series.csv"'}
    return StreamingResponse(body, media_type="text/csv", headers=headers)
