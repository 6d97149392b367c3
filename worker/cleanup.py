"""Deletes what nobody will ask for again, now and then. Any number of workers may do it."""

import asyncio
import logging
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from sqlalchemy import delete

from app.clock import utcnow
from app.code import service as code
from app.db import Database
from app.idempotency import service as idempotency
from app.metrics import service as metrics
from app.models import Worker
from app.secrets import service as secrets
from app.users import service as users
from worker.reconcilers.logs import REMOTE_LOGS
from worker.reconcilers.remote_logs import forget_old_copies

PAUSE_SECONDS = 600.0
_FORGET_WORKERS_AFTER = timedelta(days=1)

log = logging.getLogger(__name__)


class Connections(Protocol):
    """See `OpenGateways`."""

    async def close_old(self) -> None: ...


async def keep_clean(
    database: Database,
    connections: Connections,
    stop: asyncio.Event,
    *,
    home: Path,
    pause_seconds: float = PAUSE_SECONDS,
) -> None:
    """Cleans up at once and then every `pause_seconds` until `stop`."""
    while not stop.is_set():
        try:
            await connections.close_old()
            await clean_up(database, now=utcnow())
            await asyncio.to_thread(forget_old_copies, home / REMOTE_LOGS, now=utcnow())
        except Exception:
            log.exception("could not clean up; will be tried again")
        try:
            await asyncio.wait_for(stop.wait(), pause_seconds)
        except TimeoutError:
            continue


async def clean_up(database: Database, *, now: datetime) -> None:
    """Deletes old idempotency keys, ended sessions, used links and rows of dead workers.

    Uploads of code that no config names, and points of runs that were deleted 30 days ago. And the
    values of secrets that were replaced, once no job can print them any more.
    """
    async with database.write() as session:
        await idempotency.forget_old(session, now)
        await users.forget_old(session, now)
        is_dead = Worker.seen_at < now - _FORGET_WORKERS_AFTER
        await session.execute(delete(Worker).where(is_dead))
        await secrets.forget_retired(session)
        await code.forget_unused(session, now)
    await _prune(database, now)


async def _prune(database: Database, now: datetime) -> None:
    """The points of runs that were deleted long ago, a few at a time."""
    has_more = True
    while has_more:
        async with database.write() as session:
            has_more = await metrics.prune(session, now)
    await database.give_back()
