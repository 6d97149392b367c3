"""Writers of one process on SQLite: one after another, and nobody waits for ever."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app import db
from app.db import Database, is_unreachable

WRITERS = 40


async def _database(folder: Path) -> Database:
    database = Database(f"sqlite+aiosqlite:///{folder / 'line.db'}")
    async with database.write() as session:
        await session.execute(text("CREATE TABLE seen (number INTEGER)"))
    return database


async def test_who_came_first_writes_first(tmp_path: Path) -> None:
    database = await _database(tmp_path)

    async def write(number: int) -> None:
        async with database.write() as session:
            await session.execute(text("INSERT INTO seen VALUES (:number)"), {"number": number})
            await asyncio.sleep(0)

    try:
        await asyncio.gather(*(write(number) for number in range(WRITERS)))
        async with database.read() as session:
            found = await session.scalars(text("SELECT number FROM seen ORDER BY rowid"))
            assert list(found) == list(range(WRITERS))
    finally:
        await database.close()


async def test_a_writer_that_fails_lets_the_next_one_write(tmp_path: Path) -> None:
    database = await _database(tmp_path)
    try:
        with pytest.raises(ZeroDivisionError):
            async with database.write():
                raise ZeroDivisionError
        async with database.write() as session:
            await session.execute(text("INSERT INTO seen VALUES (1)"))
    finally:
        await database.close()


async def test_a_wait_that_is_too_long_says_that_the_database_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await _database(tmp_path)
    monkeypatch.setattr(db, "_LINE_SECONDS", 0.01)
    try:
        async with database.write():
            with pytest.raises(PoolTimeoutError) as caught:
                async with database.write():
                    pass
        assert is_unreachable(caught.value)
    finally:
        await database.close()


async def test_a_connection_opens_while_another_process_writes(tmp_path: Path) -> None:
    database = await _database(tmp_path)
    other = Database(f"sqlite+aiosqlite:///{tmp_path / 'line.db'}")
    try:
        async with database.write() as session:
            await session.execute(text("INSERT INTO seen VALUES (1)"))
            async with asyncio.timeout(5), other.read() as reading:
                assert await reading.scalar(text("SELECT count(*) FROM seen")) == 0
    finally:
        await other.close()
        await database.close()
