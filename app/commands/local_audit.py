"""What `skydeck audit` reads from the local database."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from app.audit import service
from app.audit.asked import Asked
from app.audit.export import Format, Writer
from app.audit.service import Filter, Row
from app.commands.database import require_database
from app.db import Database
from app.errors import SkydeckError
from app.projects import service as projects

T = TypeVar("T")


def newest(url: str, asked: Asked, *, limit: int) -> Sequence[Row]:
    """The newest rows that fit. Raises `SkydeckError` for what is no filter."""

    async def read(database: Database) -> Sequence[Row]:
        chosen = await _filter(database, asked)
        async with database.read() as session:
            return (await service.list_page(session, chosen, limit=limit)).items

    return _run(url, read)


def write_all(url: str, asked: Asked, kind: str) -> None:
    """Writes all rows that fit to stdout. Raises `SkydeckError` for what is no filter."""

    async def write(database: Database) -> None:
        batches = service.iter_batches(database, await _filter(database, asked))
        async for piece in Writer(Format(kind)).write(batches):
            sys.stdout.write(piece)

    _run(url, write)


async def _filter(database: Database, asked: Asked) -> Filter:
    project_ids = None
    if asked.project:
        async with database.read() as session:
            project_ids = frozenset({(await projects.get(session, asked.project)).id})
    chosen, problems = asked.read(project_ids)
    if problems:
        raise SkydeckError("; ".join(f"--{name}: {what}" for name, what in problems.items()))
    return chosen


def _run(url: str, act: Callable[[Database], Awaitable[T]]) -> T:
    require_database(url)

    async def run() -> T:
        database = Database(url)
        try:
            return await act(database)
        finally:
            await database.close()

    return asyncio.run(run())
