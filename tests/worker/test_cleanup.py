"""What is deleted after its time, and what stays."""

import asyncio
from datetime import timedelta
from pathlib import Path

from sqlalchemy import func, select

from app.db import Database
from app.ids import new_id
from app.models import IdempotencyKey, LinkPurpose, SignInLink, User, UserSession, Worker
from tests.fakes.clock import START
from worker.cleanup import clean_up, keep_clean

HOUR = timedelta(hours=1)
TABLES = (IdempotencyKey, SignInLink, UserSession, Worker)


async def fill(database: Database, *, age: timedelta, name: str) -> None:
    """One row of each kind that was used `age` ago; links and sessions end after an hour."""
    at = START - age
    async with database.write() as session:
        user = User(id=new_id(), name=name, created_at=at)
        session.add(user)
        await session.flush()
        session.add_all(
            [
                IdempotencyKey(caller="c", key=name, request_digest="d", answer={}, created_at=at),
                SignInLink(
                    id=new_id(),
                    secret_hash=name,
                    purpose=LinkPurpose.SIGN_IN,
                    created_at=at,
                    expires_at=at + HOUR,
                ),
                UserSession(
                    id=new_id(),
                    slug=name,
                    user_id=user.id,
                    secret_hash=name,
                    created_at=at,
                    seen_at=at,
                    expires_at=at + HOUR,
                ),
                Worker(id=new_id(), host=name, process_id=1, started_at=at, seen_at=at),
            ]
        )


async def count(database: Database) -> list[int]:
    async with database.read() as session:
        counts = [await session.scalar(select(func.count()).select_from(one)) for one in TABLES]
    return [number or 0 for number in counts]


async def test_only_what_is_old_goes(database: Database) -> None:
    await fill(database, age=timedelta(days=1, seconds=1), name="old")
    await fill(database, age=timedelta(minutes=59), name="new")
    await clean_up(database, now=START)
    # Ended sessions stay for a month: they say where somebody was signed in.
    assert await count(database) == [1, 1, 2, 1]
    await clean_up(database, now=START)
    assert await count(database) == [1, 1, 2, 1]


class Failing:
    """Fails once, and ends the loop at its second call."""

    def __init__(self, stop: asyncio.Event) -> None:
        self.calls = 0
        self.stop = stop

    async def close_old(self) -> None:
        self.calls += 1
        if self.calls == 1:
            raise ConnectionError
        self.stop.set()


async def test_a_failure_does_not_end_it(sqlite_database: Database, tmp_path: Path) -> None:
    await fill(sqlite_database, age=timedelta(days=900), name="old")
    stop = asyncio.Event()
    connections = Failing(stop)
    async with asyncio.timeout(10):
        await keep_clean(sqlite_database, connections, stop, home=tmp_path, pause_seconds=0.01)
    assert connections.calls == 2
    assert await count(sqlite_database) == [0, 0, 0, 0]
