"""JSON API of metrics: summaries, series for charts, and pushes."""

import asyncio
from functools import partial
from typing import Annotated, Literal

from fastapi import Query, Request

from app.api.bodies import read_body
from app.api.deps import Reading, RunReader, RunWriter, Store, Writing
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.clock import utcnow
from app.errors import Conflict
from app.metrics import service
from app.metrics.push import read_points
from app.metrics.schemas import AcceptedAnswer, MetricAnswer, SeriesListAnswer
from app.routing import Router
from app.runs import service as runs
from app.secrets import service as secrets

router = Router(tags=["metrics"], route_class=JsonRoute)

SENT_BYTES = 4_000_000
UNPACKED_BYTES = 16_000_000
_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")
_MANY = 100
_SHAPES = {
    "application/json": {
        "schema": {"type": "object"},
        "examples": {
            "points": {
                "value": {
                    "points": [
                        {"key": "loss", "step": 1, "value": 0.7, "time": "2026-11-29T12:00:00Z"},
                        {"key": "loss", "step": 2, "value": "NaN"},
                    ]
                }
            },
            "columns": {"value": {"step": [1, 2], "loss": [0.7, 0.6], "lr": [0.1, None]}},
        },
    },
    "application/x-ndjson": {
        "schema": {"type": "string"},
        "example": '{"step": 1, "loss": 0.7}\n{"step": 2, "loss": 0.6}\n',
    },
}


@router.get("/runs/{run_id}/metrics")
async def list_metrics(run_id: str, _caller: RunReader, session: Reading) -> Listing[MetricAnswer]:
    """Summaries of all metrics of a run, by key."""
    run = await runs.get(session, run_id)
    series = await service.list_series(session, run)
    return Listing(items=[MetricAnswer.of(each) for each in series])


@router.get("/series")
async def read_series(
    _caller: RunReader,
    database: Store,
    run: Annotated[list[str], Query(min_length=1, max_length=_MANY, description="Ids of runs")],
    key: Annotated[list[str], Query(min_length=1, max_length=_MANY, description="Metric keys")],
    x: Annotated[Literal["step", "time", "relative"], Query(description="The wanted x axis")] = (
        "step"
    ),
    max_points: Annotated[
        int, Query(ge=4, le=10_000, description="Longer series are thinned to this")
    ] = 1_000,
    since: Annotated[
        list[str] | None,
        Query(max_length=_MANY * _MANY, description="Cursors of answers before: only what is new"),
    ] = None,
) -> SeriesListAnswer:
    """Columns of the series of these keys in these runs, those without points left out."""
    async with database.read() as session:
        found = await runs.get_many(session, list(dict.fromkeys(run)))
        loaded = await service.load_series(
            session,
            found,
            list(dict.fromkeys(key)),
            x=x,
            since=since or (),
            max_stored=service.MAX_POINTS,
        )
    # In a thread, and with the session given back: this may be millions of points.
    return await asyncio.to_thread(SeriesListAnswer.drawn, loaded, max_points)


@router.post(
    "/runs/{run_id}/metrics",
    max_body_size=SENT_BYTES,
    openapi_extra={"requestBody": {"required": True, "content": _SHAPES}},
)
async def push_metrics(
    run_id: str, request: Request, caller: RunWriter, session: Writing
) -> AcceptedAnswer:
    """Stores points: all of the body or, if any is wrong, none. Takes `Content-Encoding: gzip`."""
    body = await read_body(request, max_bytes=UNPACKED_BYTES)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    read = partial(
        read_points, body, is_lines=media_type in _LINES, received_at=utcnow().timestamp()
    )
    # In a thread: reading a large body would hold up all other requests.
    points = await asyncio.to_thread(read)
    run = await runs.get(session, run_id)
    if run.deleted_at is not None:
        raise Conflict(f"run {run.slug} is deleted: restore it before pushing to it")
    # One text: thousands of keys are looked through at once.
    keys = "\n".join({point.key for point in points})
    await secrets.refuse_values(session, [run.project_id], {"key": keys})
    attempt = run.attempts[-1].number if run.attempts else 1
    accepted = await service.push(session, run, attempt, points, actor=caller.actor)
    return AcceptedAnswer(accepted=accepted)
