"""SQLite's statements in one trip to its thread, instead of one for each of their four parts.

The driver runs SQLite in a thread of its own, and SQLAlchemy sends it a cursor's making, executing,
fetching and closing one by one. Each trip costs more than most of our statements do.
"""

import asyncio
import sqlite3
import time
from collections import deque
from collections.abc import Sequence
from threading import Thread
from typing import Any, NamedTuple
from weakref import WeakSet

import aiosqlite
from sqlalchemy import event
from sqlalchemy.connectors.asyncio import AsyncAdapt_dbapi_cursor
from sqlalchemy.dialects.sqlite.aiosqlite import (
    AsyncAdapt_aiosqlite_connection,
    AsyncAdapt_aiosqlite_cursor,
)
from sqlalchemy.engine import Dialect, Engine
from sqlalchemy.util import EMPTY_DICT, await_only

_END_SECONDS = 2.0


def install(engine: Engine) -> None:
    """Makes the connections of an engine so; streamed results are fetched as before."""
    threads = _Threads()
    event.listen(engine, "do_connect", threads.connect)
    event.listen(engine, "engine_disposed", threads.wait)


class _Threads:
    """The threads of an engine's connections, and how they are waited for.

    One that is busy with what nobody waits for any more, such as opening a connection for somebody
    who was cancelled, would tell an event loop that is closed by then, and die of it aloud.
    """

    def __init__(self) -> None:
        self._all: WeakSet[Thread] = WeakSet()

    def connect(self, dialect: Dialect, _record: object, arguments: Any, options: Any) -> Any:
        made: Any = dialect.connect(*arguments, async_creator_fn=self._make, **options)
        return Connection(made.dbapi, made.driver_connection)

    def _make(self, *arguments: Any, **options: Any) -> aiosqlite.Connection:
        made = aiosqlite.connect(*arguments, **options)
        # As SQLAlchemy makes them: no end of the process waits for one.
        made._thread.daemon = True
        self._all.add(made._thread)
        return made

    def wait(self, _engine: Engine) -> None:
        living = [thread for thread in self._all if thread.is_alive()]
        if living:
            await_only(asyncio.to_thread(_join, living))


def _join(threads: Sequence[Thread]) -> None:
    until = time.monotonic() + _END_SECONDS
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


class _Outcome(NamedTuple):
    description: Any = None
    rowcount: int = -1
    lastrowid: int | None = None
    rows: Sequence[Any] = ()


class _Cursor(AsyncAdapt_aiosqlite_cursor):
    """What SQLAlchemy asks of a cursor, answered from the outcome of its one trip."""

    __slots__ = ("_outcome", "arraysize")

    def __init__(self, adapt_connection: Any) -> None:
        self._adapt_connection = adapt_connection
        self._connection = adapt_connection.driver_connection
        self._rows = deque()
        # All of it is fetched, and SQLite's own cursor closed, by the time there is an outcome.
        self._soft_closed_memoized = EMPTY_DICT
        self._outcome = _Outcome()
        self.arraysize = 1

    @property
    def description(self) -> Any:
        return self._outcome.description

    @property
    def rowcount(self) -> int:
        return self._outcome.rowcount

    @property
    def lastrowid(self) -> Any:
        return self._outcome.lastrowid

    async def _async_soft_close(self) -> None:
        return

    def close(self) -> None:
        self._rows.clear()

    async def _execute_async(self, operation: Any, parameters: Any) -> None:
        await self._travel(_execute, operation, () if parameters is None else parameters)

    async def _executemany_async(self, operation: Any, seq_of_parameters: Any) -> None:
        await self._travel(_execute_many, operation, seq_of_parameters)

    async def _travel(self, execute: Any, operation: str, parameters: Any) -> None:
        driver: Any = self._connection
        connection: Any = self._adapt_connection
        before = connection.take_beginning()
        # `_conn` raises what SQLAlchemy knows as a lost connection, where it was closed.
        self._outcome = await driver._execute(execute, driver._conn, before, operation, parameters)
        self._rows = deque(self._outcome.rows)


class Connection(AsyncAdapt_aiosqlite_connection):
    """A connection whose transactions cost no trips of their own, but for their end."""

    __slots__ = ("_beginning", "_is_clean")

    _cursor_cls = _Cursor

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._beginning = ""
        self._is_clean = True

    def begin(self, statement: str) -> None:
        """Begins a transaction together with the first statement in it."""
        self._beginning = statement

    def take_beginning(self) -> str:
        """What is to be executed first in the trip that goes now."""
        before, self._beginning, self._is_clean = self._beginning, "", False
        return before

    def cursor(self, server_side: bool = False) -> AsyncAdapt_dbapi_cursor:
        if server_side and self._beginning:
            self.execute(self.take_beginning())
        return super().cursor(server_side)

    def rollback(self) -> None:
        # The session ends its transaction, and the pool once more.
        self._beginning = ""
        if not self._is_clean:
            super().rollback()
            self._is_clean = True

    def commit(self) -> None:
        self._beginning = ""
        if not self._is_clean:
            super().commit()
            self._is_clean = True


def _execute(
    connection: sqlite3.Connection, before: str, operation: str, parameters: Any
) -> _Outcome:
    cursor = connection.cursor()
    try:
        if before:
            cursor.execute(before)
        cursor.execute(operation, parameters)
        rows = cursor.fetchall() if cursor.description else []
        return _Outcome(cursor.description, cursor.rowcount, cursor.lastrowid, rows)
    finally:
        cursor.close()


def _execute_many(
    connection: sqlite3.Connection, before: str, operation: str, parameters: Any
) -> _Outcome:
    cursor = connection.cursor()
    try:
        if before:
            cursor.execute(before)
        cursor.executemany(operation, parameters)
        return _Outcome(None, cursor.rowcount, cursor.lastrowid)
    finally:
        cursor.close()
