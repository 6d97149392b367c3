"""Tells whoever plays for an evaluation that it is to stop: one query a second for all of them."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from sqlalchemy import select

from app.db import Database
from app.evaluations.progress import OPEN
from app.models import Evaluation

LOOK_SECONDS = 1.0

log = logging.getLogger(__name__)


class Stops:
    """Watches evaluations while somebody waits to be told."""

    def __init__(self, database: Database, *, look_seconds: float = LOOK_SECONDS) -> None:
        self._database = database
        self._look_seconds = look_seconds
        self._told: dict[UUID, asyncio.Event] = {}
        self._waiting: Counter[UUID] = Counter()
        self._watch: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def of(self, evaluation_id: UUID) -> AsyncIterator[asyncio.Event]:
        """An event that is set once the evaluation is to stop."""
        told = self._told.setdefault(evaluation_id, asyncio.Event())
        self._waiting[evaluation_id] += 1
        if self._watch is None:
            self._watch = asyncio.create_task(self._look())
        try:
            yield told
        finally:
            self._waiting[evaluation_id] -= 1
            if not self._waiting[evaluation_id]:
                del self._waiting[evaluation_id], self._told[evaluation_id]
            if not self._waiting and self._watch is not None:
                self._watch.cancel()
                self._watch = None

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            try:
                await self._tell()
            except Exception:
                # Whoever plays goes on meanwhile: the end of each item looks, too.
                log.exception("could not look which evaluations are to stop")

    async def _tell(self) -> None:
        query = select(Evaluation.id).where(
            Evaluation.id.in_(list(self._told)), Evaluation.status.not_in(OPEN)
        )
        async with self._database.read() as session:
            stopping = set(await session.scalars(query))
        for evaluation_id in stopping & self._told.keys():
            self._told[evaluation_id].set()
