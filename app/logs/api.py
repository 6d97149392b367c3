"""JSON API of logs: by line, or whole as bytes."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Query
from fastapi.responses import StreamingResponse

from app.api.deps import Reading, RunReader, Store
from app.logs import service
from app.logs.schemas import LogAnswer
from app.routing import Router
from app.runs import service as runs

router = Router(tags=["logs"])

AttemptNumber = Annotated[
    int | None, Query(ge=1, le=1_000_000, description="Number of the attempt; the newest if absent")
]


@router.get("/runs/{run_id}/logs")
async def read_log(
    run_id: str,
    _caller: RunReader,
    session: Reading,
    attempt: AttemptNumber = None,
    from_line: Annotated[
        int | None, Query(ge=1, le=2**62, description="First line; the last lines if absent")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=service.MAX_LINES)] = 500,
    q: Annotated[str, Query(max_length=200, description="Only lines that contain this")] = "",
) -> LogAnswer:
    """Lines of an attempt's log. To follow it, ask again from the line after the last one."""
    run = await runs.get(session, run_id)
    page = await service.read_lines(
        session, run, attempt=attempt, from_line=from_line, limit=limit, q=q
    )
    return LogAnswer.of(page)


@router.get(
    "/runs/{run_id}/logs.txt",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/plain": {}}, "description": "The bytes as logged"}},
)
async def download_log(
    run_id: str,
    _caller: RunReader,
    session: Reading,
    database: Store,
    attempt: AttemptNumber = None,
) -> StreamingResponse:
    """The whole log of an attempt so far, as the exact bytes that were logged."""
    run = await runs.get(session, run_id)
    stream = await service.find_stream(session, run, attempt)
    number = stream.attempt_number if stream else attempt or 1
    return StreamingResponse(
        service.iter_bytes(database, stream.id) if stream else _nothing(),
        media_type="text/plain",
        headers={
            "Content-Disposition": f'attachment; filename="{run.slug}-a{number}.log"',
            "X-Content-Type-Options": "nosniff",
        },
    )


async def _nothing() -> AsyncIterator[bytes]:
    yield b""
