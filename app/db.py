"""The database: SQLite on one machine, PostgreSQL for teams, the same code on both."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.engine import Dialect, make_url
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)

from app import sqlite_trips

_BUSY_SECONDS = 15.0
_CONNECT_SECONDS = 10.0
# How long to wait for one of the connections that are all in use.
_POOL_SECONDS = 10.0
# How long to wait until writers of the same process are done.
_LINE_SECONDS = 30.0
_BEGIN = "sqlite_begin"
KEPT = "kept"
"""Under this name `Session.info` holds a dict that all sessions of a database share."""
# Some 4 MB, returned in a tenth of a second while others wait for the lock.
_PAGES_AT_ONCE = 1_000


class ReadSession(AsyncSession):
    """A session that only reads; it is rolled back at the end."""


class WriteSession(ReadSession):
    """A session that is committed when its block ends well, else rolled back.

    On SQLite it takes the write lock at its start (BEGIN IMMEDIATE): a lock that is asked for
    in the middle of a transaction fails at once instead of waiting.
    """


class _Line:
    """Writers of one process, one after another: who came first writes first.

    SQLite alone has no queue. Each of many writers would sleep and look again, longer each time,
    while the lock is free, and some would never get it.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Raises `sqlalchemy.exc.TimeoutError` if it takes too long."""
        try:
            async with asyncio.timeout(_LINE_SECONDS):
                await self._lock.acquire()
        except TimeoutError:
            raise PoolTimeoutError(f"no turn to write in {_LINE_SECONDS:g} s") from None
        try:
            yield
        finally:
            self._lock.release()


class Database:
    """Opens sessions. Keep them short: never hold one over a slow call or a stream.

    `info` is handed on to each session, as SQLAlchemy's `Session.info`.
    """

    def __init__(self, url: str) -> None:
        self.engine = make_engine(url)
        self.info: dict[str, Any] = {KEPT: {}}
        self._line = _Line() if self.engine.dialect.name == "sqlite" else None
        self._readers = async_sessionmaker(
            self.engine, class_=ReadSession, expire_on_commit=False, info=self.info
        )
        self._writers = async_sessionmaker(
            writer(self.engine), class_=WriteSession, expire_on_commit=False, info=self.info
        )

    @asynccontextmanager
    async def read(self) -> AsyncIterator[ReadSession]:
        async with self._readers() as session:
            yield session

    @asynccontextmanager
    async def write(self) -> AsyncIterator[WriteSession]:
        async with self._turn(), self._writers.begin() as session:
            yield session

    async def give_back(self) -> None:
        """Returns free pages of SQLite's file to the disk; PostgreSQL does so by itself.

        A file that was made before this was so keeps them for new rows, until its next VACUUM.
        """
        if self.engine.dialect.name != "sqlite":
            return
        free, before = await self._give_back_some(), 0
        while free and free != before:
            free, before = await self._give_back_some(), free

    async def _give_back_some(self) -> int:
        """Returns at most `_PAGES_AT_ONCE` pages, and says how many are left."""
        async with self._turn(), self.engine.connect() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            # Only a script is run to its end: a single statement returns one page and stops.
            await driver.executescript(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})")
            async with driver.execute("PRAGMA freelist_count") as cursor:
                row = await cursor.fetchone()
        return int(row[0])

    async def close(self) -> None:
        await self.engine.dispose()

    def _turn(self) -> AbstractAsyncContextManager[None]:
        return self._line.turn() if self._line else nullcontext()


def make_engine(url: str, *, has_foreign_keys: bool = True) -> AsyncEngine:
    """An engine with the settings each database needs; `url` names an asynchronous driver.

    Without `has_foreign_keys` SQLite does not enforce them: only migrations want that.
    """
    if make_url(url).get_backend_name() != "sqlite":
        engine = create_async_engine(
            url,
            pool_pre_ping=True,
            pool_size=10,
            max_overflow=10,
            pool_timeout=_POOL_SECONDS,
            connect_args={"timeout": _CONNECT_SECONDS},
        )
        event.listen(engine.sync_engine, "do_connect", _connect)
        return engine
    engine = create_async_engine(url, connect_args={"timeout": _BUSY_SECONDS})
    sqlite_trips.install(engine.sync_engine)
    prepare = _prepare_sqlite if has_foreign_keys else _prepare_sqlite_migration
    event.listen(engine.sync_engine, "connect", prepare)
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def is_unreachable(error: BaseException) -> bool:
    """Whether this says that the database does not answer right now; what was asked may be right.

    Any other error of the library is a mistake of ours.
    """
    if isinstance(error, DBAPIError) and not isinstance(error, OperationalError):
        return error.connection_invalidated
    return isinstance(error, OperationalError | PoolTimeoutError | ConnectionError)


def writer(engine: AsyncEngine) -> AsyncEngine:
    """The same engine; its transactions take SQLite's write lock at their start."""
    return engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})


def _connect(dialect: Dialect, _record: object, arguments: Any, options: Any) -> Any:
    # The dialect leaves a refused connection as it came, and other refusals without a kind.
    library: Any = dialect.loaded_dbapi
    try:
        return dialect.connect(*arguments, **options)
    except (OSError, library.Error) as error:
        message = str(error) or type(error).__name__
        raise library.OperationalError(message, error) from error


def _prepare_sqlite(connection: Any, _record: object) -> None:
    _prepare(connection, "ON")


def _prepare_sqlite_migration(connection: Any, _record: object) -> None:
    # A table that others refer to is changed by making it anew, in which it is missing for a while.
    _prepare(connection, "OFF")


def _prepare(connection: Any, foreign_keys: str) -> None:
    # The driver's own BEGIN comes too late (at the first write); `_begin_sqlite` does it.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA page_count")
    # It has an effect on a new file alone, but always wants the lock of writers.
    first = ("auto_vacuum = INCREMENTAL",) if cursor.fetchone() == (0,) else ()
    pragmas = (
        *first,
        "journal_mode = WAL",
        "synchronous = NORMAL",
        f"foreign_keys = {foreign_keys}",
    )
    for pragma in pragmas:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    statement = connection.get_execution_options().get(_BEGIN)
    if statement is not None:
        connection.exec_driver_sql(statement)
        return
    # It takes no lock, so it can wait for the first statement.
    driver: Any = connection.connection.dbapi_connection
    driver.begin("BEGIN")
