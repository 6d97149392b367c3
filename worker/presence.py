"""Says in the database that this worker is alive."""

import asyncio
import logging
import os
import socket
from uuid import UUID

from sqlalchemy import delete, update

from app.clock import utcnow
from app.db import Database
from app.ids import new_id
from app.models import Worker

SEEN_SECONDS = 5.0

log = logging.getLogger(__name__)


async def stay_present(database: Database, stop: asyncio.Event) -> None:
    """Keeps this worker's row fresh until `stop`, then removes it."""
    worker_id = new_id()
    is_known = False
    while not stop.is_set():
        try:
            await (_seen if is_known else _arrive)(database, worker_id)
            is_known = True
        except Exception:
            log.exception("this worker could not be marked as alive")
        try:
            await asyncio.wait_for(stop.wait(), SEEN_SECONDS)
        except TimeoutError:
            continue
    async with database.write() as session:
        await session.execute(delete(Worker).where(Worker.id == worker_id))


async def _arrive(database: Database, worker_id: UUID) -> None:
    now = utcnow()
    async with database.write() as session:
        session.add(
            Worker(
                id=worker_id,
                host=socket.gethostname(),
                process_id=os.getpid(),
                started_at=now,
                seen_at=now,
            )
        )


async def _seen(database: Database, worker_id: UUID) -> None:
    async with database.write() as session:
        await session.execute(update(Worker).where(Worker.id == worker_id).values(seen_at=utcnow()))
