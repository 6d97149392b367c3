"""`/healthz`: the process answers. `/readyz`: it can do its work."""

from fastapi.responses import JSONResponse
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from app.api.deps import Store
from app.clusters import service as clusters
from app.db import Database
from app.routing import Router

router = Router(tags=["health"])
_OK = "ok"


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process answers; nothing else is looked at."""
    return {"status": _OK}


@router.get("/readyz", responses={503: {"description": "A check failed"}})
async def readyz(database: Store) -> JSONResponse:
    """200 if requests can be served, 503 if not; `checks` has a word on each part."""
    checks = {"database": await _database(database)}
    if checks["database"] == _OK:
        checks["worker"] = await _worker(database)
    is_ready = checks["database"] == _OK
    body = {"status": _OK if is_ready else "unavailable", "checks": checks}
    return JSONResponse(body, 200 if is_ready else 503)


async def _database(database: Database) -> str:
    try:
        async with database.read() as session:
            await session.execute(text("SELECT 1"))
    except (SQLAlchemyError, OSError) as error:
        return f"does not answer ({type(error).__name__})"
    return _OK


async def _worker(database: Database) -> str:
    # Said, not counted: pages and pushes work without a worker, and one may be starting.
    async with database.read() as session:
        return _OK if await clusters.list_workers(session) else "none is alive: runs stay queued"
