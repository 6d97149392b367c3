"""SQLite's statements travel once to the driver's thread, and answer as they did."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import aiosqlite
import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError

from app.db import Database

MAKE = "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT UNIQUE)"
ADD = text("INSERT INTO thing (name) VALUES (:name)")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    made = Database(f"sqlite+aiosqlite:///{tmp_path / 'a.db'}")
    async with made.write() as session:
        await session.execute(text(MAKE))
        await session.execute(ADD, [{"name": "a"}, {"name": "b"}])
    yield made
    await made.close()


async def test_a_statement_travels_once(database: Database) -> None:
    async with database.read() as session:
        await session.execute(text("SELECT 1"))
        travel = aiosqlite.Connection._execute
        with patch.object(aiosqlite.Connection, "_execute", autospec=True) as trips:
            trips.side_effect = travel
            rows = await session.execute(text("SELECT id, name FROM thing ORDER BY id"))
            assert [tuple(row) for row in rows] == [(1, "a"), (2, "b")]
            assert trips.call_count == 1


async def test_a_session_that_reads_travels_for_its_statements_and_its_end(
    database: Database,
) -> None:
    travel = aiosqlite.Connection._execute
    with patch.object(aiosqlite.Connection, "_execute", autospec=True) as trips:
        trips.side_effect = travel
        async with database.read():
            pass
        assert trips.call_count == 0
        async with database.read() as session:
            await session.execute(text("SELECT 1"))
            await session.execute(text("SELECT 2"))
        assert trips.call_count == 3


async def test_a_session_sees_one_state_from_its_first_statement_on(database: Database) -> None:
    count = text("SELECT count(*) FROM thing")
    async with database.read() as reading:
        assert await reading.scalar(count) == 2
        async with database.write() as session:
            await session.execute(ADD, {"name": "c"})
        assert await reading.scalar(count) == 2
    async with database.read() as reading:
        assert await reading.scalar(count) == 3


async def test_a_streamed_result_is_of_one_state_too(database: Database) -> None:
    async with database.read() as reading:
        rows = await reading.stream(text("SELECT name FROM thing ORDER BY id"))
        async with database.write() as session:
            await session.execute(ADD, {"name": "c"})
        assert [row[0] async for row in rows] == ["a", "b"]
        assert await reading.scalar(text("SELECT count(*) FROM thing")) == 2


async def test_what_failed_is_undone_with_all_before_it(database: Database) -> None:
    async def add(*names: str) -> None:
        async with database.write() as session:
            for name in names:
                await session.execute(ADD, {"name": name})

    with pytest.raises(IntegrityError):
        await add("c", "a")
    async with database.read() as session:
        assert await session.scalar(text("SELECT count(*) FROM thing")) == 2


async def test_counts_and_new_numbers_are_told(database: Database) -> None:
    async with database.write() as session:
        connection = await session.connection()
        added = await connection.exec_driver_sql("INSERT INTO thing (name) VALUES ('c')")
        assert added.lastrowid == 3
        changed = await session.execute(text("UPDATE thing SET name = name || '!'"))
        assert changed.rowcount == 3  # type: ignore[attr-defined]
        empty = await session.execute(text("SELECT name FROM thing WHERE id = 9"))
        assert list(empty.keys()) == ["name"]
        assert empty.first() is None


async def test_errors_keep_their_kind_and_the_connection_its_use(database: Database) -> None:
    async with database.read() as session:
        with pytest.raises(OperationalError, match="no such table"):
            await session.execute(text("SELECT 1 FROM missing"))
    async with database.read() as session:
        with pytest.raises(IntegrityError, match="UNIQUE"):
            await session.execute(ADD, [{"name": "c"}, {"name": "a"}])
    async with database.read() as session:
        assert await session.scalar(text("SELECT COUNT(*) FROM thing")) == 2


async def test_rows_are_streamed_still(database: Database) -> None:
    async with database.read() as session:
        rows = await session.stream(text("SELECT name FROM thing ORDER BY id"))
        assert [row.name async for row in rows] == ["a", "b"]


async def test_who_was_cancelled_while_connecting_has_ended_when_the_database_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, connect = Database(f"sqlite+aiosqlite:///{tmp_path / 'b.db'}"), sqlite3.connect
    working: list[threading.Thread] = []

    def slow(*arguments: Any, **options: Any) -> Any:
        working.append(threading.current_thread())
        time.sleep(0.5)
        return connect(*arguments, **options)

    monkeypatch.setattr("sqlite3.connect", slow)

    async def ask() -> None:
        async with database.read() as session:
            await session.execute(text("SELECT 1"))

    asking = asyncio.create_task(ask())
    while not working:  # noqa: ASYNC110 - a thread says so
        await asyncio.sleep(0.01)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await database.close()
    assert len(working) == 1
    assert not working[0].is_alive()
