"""JSON API of metrics: summaries, series for charts, and pushes."""

import asyncio
from functools import partial

from fastapi import Request, Response

from app.api.bodies import read_body
from app.api.deps import Reading, RunReader, Store, Writing
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.clock import utcnow
from app.metrics import service
from app.metrics.answers import answer_series
from app.metrics.push import read_columns
from app.metrics.questions import AskedSeries
from app.metrics.schemas import AcceptedAnswer, MetricAnswer, SeriesListAnswer
from app.routing import Router
from app.runs import service as runs
from app.runs.asked import ApiReader, RunLogger

router = Router(tags=["metrics"], route_class=JsonRoute)

SENT_BYTES = 4_000_000
UNPACKED_BYTES = 16_000_000
_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")
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


@router.get("/series", response_model=SeriesListAnswer)
async def read_series(
    request: Request, _caller: ApiReader, database: Store, wanted: AskedSeries
) -> Response:
    """Columns of the series of these keys in these runs, those without points left out."""
    return await answer_series(request, database, wanted, has_times=True)


@router.post(
    "/runs/{run_id}/metrics",
    max_body_size=SENT_BYTES,
    openapi_extra={"requestBody": {"required": True, "content": _SHAPES}},
)
async def push_metrics(
    run_id: str, request: Request, caller: RunLogger, session: Writing
) -> AcceptedAnswer:
    """Stores points: all of the body or, if any is wrong, none. Takes `Content-Encoding: gzip`.

    They are of the run's newest attempt; what a job sends with its own token is of that job's.
    """
    body = await read_body(request, max_bytes=UNPACKED_BYTES)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    read = partial(
        read_columns, body, is_lines=media_type in _LINES, received_at=utcnow().timestamp()
    )
    # In a thread: reading a large body would hold up all other requests.
    columns = await asyncio.to_thread(read)
    attempt = caller.only_run.attempt if caller.only_run else None
    place = await runs.get_for_push(session, run_id, attempt=attempt)
    accepted = await service.push(session, place, columns, actor=caller.actor)
    return AcceptedAnswer(accepted=accepted)
