"""Points of charts for pages: of several runs, as columns for drawing and as CSV."""

from fastapi import Request, Response
from starlette.responses import StreamingResponse

from app.metrics import service
from app.metrics.answers import Wanted, answer_series
from app.metrics.questions import AskedLook, Digits, Keys, MaxPoints, Runs, Since
from app.routing import Router
from app.runs import service as runs
from app.runs.asked import Asked, PageReader
from app.web.deps import Store

router = Router()


@router.get("/series")
async def read_series(
    request: Request,
    _viewer: PageReader,
    asked: Asked,
    store: Store,
    run: Runs,
    key: Keys,
    look: AskedLook,
    max_points: MaxPoints = 1_000,
    digits: Digits = None,
    since: Since = None,
) -> Response:
    """What `GET /api/v1/series` answers, for `charts.js`."""
    wanted = Wanted(asked, key, look, since or (), max_points, digits)
    return await answer_series(request, store, wanted)


@router.get("/series.csv")
async def download_series(
    _viewer: PageReader, asked: Asked, store: Store, run: Runs, key: Keys, look: AskedLook
) -> StreamingResponse:
    """The points of a chart, all of them and with all their digits."""
    async with store.read() as session:
        found = await runs.get_briefs(session, asked.slugs)
    body = service.csv_of(store, found, key, look)
    headers = {"Content-Disposition": 'attachment; filename="skydeck-series.csv"'}
    return StreamingResponse(body, media_type="text/csv", headers=headers)
