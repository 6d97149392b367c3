"""How requests for series are answered, the same for the API and for pages."""

import asyncio

from fastapi import Request, Response

from app.api.compress import compressed
from app.db import Database
from app.metrics import service
from app.metrics.questions import Wanted
from app.metrics.service import LoadedSeries
from app.runs import briefs

_JSON = "application/json"
_NO_NEWS = b'{"series":[],"cursor":null}'
# Numbers hardly get smaller beyond, and it takes twice as long.
_LEVEL = 1


async def answer_series(
    request: Request,
    database: Database,
    wanted: Wanted,
    *,
    has_times: bool = False,
) -> Response:
    """See `service.series_json`. Raises `Invalid` as `service.load_series` does."""
    asked = wanted.runs
    mark = service.mark_of_series(asked.slugs, asked.revision, wanted.keys, wanted.look)
    if service.is_up_to_date(mark, wanted.since):
        return Response(_NO_NEWS, media_type=_JSON)
    async with database.read() as session:
        loaded = await service.load_series(
            session,
            await briefs.get_briefs(session, asked.slugs),
            wanted.keys,
            look=wanted.look,
            since=wanted.since,
            max_stored=service.MAX_POINTS,
        )
    # In a thread, and with the session given back: this may be millions of points.
    return await asyncio.to_thread(_packed, request, loaded, wanted, has_times)


def _packed(request: Request, loaded: LoadedSeries, wanted: Wanted, has_times: bool) -> Response:
    body = service.series_json(loaded, wanted.max_points, digits=wanted.digits, has_times=has_times)
    return compressed(request, Response(body, media_type=_JSON), level=_LEVEL)
