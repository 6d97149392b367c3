"""JSON API of comparisons."""

import asyncio
from typing import Annotated

from fastapi import Query

from app.api.deps import RunReader, Store
from app.compare import service
from app.compare.asked import LEAST, MOST, Asked, At
from app.compare.schemas import ComparisonAnswer
from app.routing import Router

router = Router(tags=["compare"])
_NAME = 600


@router.get("/compare")
async def compare(
    _caller: RunReader,
    database: Store,
    run: Annotated[
        list[str], Query(min_length=LEAST, max_length=MOST, description="Ids of runs, each once")
    ],
    metric: Annotated[
        str, Query(max_length=_NAME, description="A metric key; the solve rate where there is one")
    ] = "",
    at: Annotated[
        At, Query(description="Which evaluation and which value stands for a run")
    ] = At.LAST,
    group: Annotated[
        str,
        Query(max_length=_NAME, description="seeds, tag, experiment, config:<key> or none"),
    ] = "",
) -> ComparisonAnswer:
    """Config differences, results and tests of 2 to 100 runs."""
    asked = Asked(tuple(dict.fromkeys(run)), metric, at, group)
    found = await service.compare(database, asked)
    return await asyncio.to_thread(ComparisonAnswer.of, found)
