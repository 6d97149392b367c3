import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from app.clock import utcnow
from app.clusters import service
from app.db import Database
from app.errors import NotFound
from app.ids import new_id
from app.models import Cluster, Worker


async def test_the_embedded_cluster_is_made_once_even_by_two_at_a_time(
    database: Database,
) -> None:
    async def ensure() -> None:
        async with database.write() as session:
            await service.ensure_embedded(session)

    await asyncio.gather(*(ensure() for _ in range(4)))
    async with database.read() as session:
        assert await session.scalar(select(func.count(Cluster.id))) == 1
        assert (await service.get(session, service.EMBEDDED)).status == "starting"


async def test_an_unknown_cluster_is_not_found(sqlite_database: Database) -> None:
    async with sqlite_database.read() as session:
        with pytest.raises(NotFound, match="elsewhere"):
            await service.get(session, "elsewhere")


async def test_only_workers_seen_lately_count_as_alive(database: Database) -> None:
    now = utcnow()
    async with database.write() as session:
        for seconds, host in ((5, "alive"), (300, "dead")):
            seen = now - timedelta(seconds=seconds)
            session.add(Worker(id=new_id(), host=host, process_id=1, started_at=seen, seen_at=seen))
    async with database.read() as session:
        assert [worker.host for worker in await service.list_workers(session)] == ["alive"]
