"""Links that share a run, made by the service."""

from datetime import datetime

from app.db import Database
from app.models import ShareLink
from app.runs import service as runs
from app.sharing import service
from tests.factories import ADA


async def share(
    database: Database, run: str, *, days: int = 7, now: datetime | None = None
) -> tuple[ShareLink, str]:
    """A link of the run of this slug, and its secret."""
    async with database.write() as session:
        found = await runs.get(session, run)
        return await service.create(session, found, actor=ADA, days=days, now=now)


async def revoke(database: Database, run: str, link: str) -> None:
    async with database.write() as session:
        found = await runs.get(session, run)
        await service.revoke(session, found, link, actor=ADA)
