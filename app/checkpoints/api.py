"""JSON API of what a run has saved."""

from typing import Annotated

from fastapi import Query

from app.api.deps import DEFAULT_LIMIT, Cursor, Limit, Reading, RunReader
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.checkpoints import service
from app.checkpoints.schemas import CheckpointAnswer
from app.models import CheckpointKind
from app.routing import Router
from app.runs import service as runs

router = Router(tags=["checkpoints"], route_class=JsonRoute)


@router.get("/runs/{run_id}/checkpoints")
async def list_checkpoints(
    run_id: str,
    _caller: RunReader,
    session: Reading,
    kind: Annotated[CheckpointKind | None, Query(description="Only those of this kind")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Listing[CheckpointAnswer]:
    """Training states and exported adapters, the highest step first."""
    run = await runs.get(session, run_id)
    page = await service.list_page(session, run, kind=kind, limit=limit, cursor=cursor)
    items = [CheckpointAnswer.of(shown, run.slug) for shown in page.items]
    return Listing(items=items, next_cursor=page.next_cursor)
