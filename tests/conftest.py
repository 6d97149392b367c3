"""Fixtures that all tests share: both databases, migrated once and copied for each test."""

import asyncio
import gc
import shutil
from collections.abc import AsyncIterator, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import hypothesis
import pytest
from alembic.script import ScriptDirectory
from fastapi import FastAPI
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.util import LRUCache

from app.access.denial_limit import DenialLimit
from app.access.limits import RequestCounter
from app.db import Database
from app.main import create_app
from app.models import Base
from app.schema import migrate_now
from app.secrets.vault import attach
from app.settings import ROOT, Settings
from tests.postgres import running_server
from tests.queries import QueryCounter, counting
from tests.ray.plugin import ray_head
from tests.together import Together
from tests.web.seed import Seeded, seed

__all__ = ["ray_head"]

# Property tests judge results, not speed: a busy machine must not fail them.
hypothesis.settings.register_profile("no-deadline", deadline=None)
hypothesis.settings.load_profile("no-deadline")

_HEAD = ScriptDirectory(str(ROOT / "migrations")).get_current_head()
_EMPTY = "; ".join(
    [
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        "SET session_replication_role = replica",
        *(f'DELETE FROM "{table}"' for table in Base.metadata.tables),
        f"UPDATE alembic_version SET version_num = '{_HEAD}'",
    ]
)
_STATEMENTS = 5_000
DATABASES = ("sqlite", "postgresql")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together | None:
    """None: xdist's own."""
    return Together(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests live until the end: the garbage collector need not walk them each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """A failure that shows a lone surrogate is a failure, and not the end of the whole run."""
    return sendable((yield))


@pytest.fixture(scope="session", autouse=True)
def compiled_once() -> Iterator[None]:
    """Statements are compiled once a process, as in the service, whose one engine lives long.

    Each test has an engine of its own, and with it a dialect: those of a kind count as the same.
    """
    statements = LRUCache[Any, Any](_STATEMENTS)
    shared = partial(create_async_engine, execution_options={"compiled_cache": statements})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.db.create_async_engine", shared)
        for dialect in (PGDialect_asyncpg, SQLiteDialect_aiosqlite):
            patch.setattr(dialect, "__eq__", lambda mine, other: type(mine) is type(other))
            patch.setattr(dialect, "__hash__", lambda mine: hash(type(mine)))
        yield


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty SQLite file."""
    file = tmp_path_factory.mktemp("sqlite") / "template.db"
    migrate_now(f"sqlite+aiosqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def seeded_template(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Seeded]:
    """A seeded SQLite file, made once: it is copied for each test that asks for `seeded`."""
    url = sqlite_copy(sqlite_template, tmp_path_factory.mktemp("seeded"))

    async def fill() -> Seeded:
        database = Database(url)
        found = await seed(database)
        await database.close()
        return found

    return Path(url.partition("///")[2]), asyncio.run(fill())


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a migrated database on a server of this session's own."""
    with running_server() as server:
        migrate_now(f"{server}/postgres")
        yield f"{server}/postgres"


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty, migrated database; the test runs once for each kind."""
    if request.param == "sqlite":
        return sqlite_copy(request.getfixturevalue("sqlite_template"), tmp_path)
    url: str = request.getfixturevalue("postgres_server")
    asyncio.run(_empty(url))
    return url


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """URL of a fresh, migrated SQLite file, for tests that need not run on both databases."""
    return sqlite_copy(sqlite_template, tmp_path)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url)
    yield opened
    await opened.close()


@pytest.fixture
async def sqlite_database(sqlite_url: str) -> AsyncIterator[Database]:
    opened = Database(sqlite_url)
    yield opened
    await opened.close()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture(scope="session")
def shared_application(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """Made once, since that takes longer than most of the tests; see `put_over`."""
    return create_app(Settings(home=tmp_path_factory.mktemp("home")))


@pytest.fixture
def count_queries() -> QueryCounter:
    """`with count_queries(database) as counted:` counts the statements sent in the block."""
    return counting


def put_over(application: FastAPI, settings: Settings, database: Database) -> FastAPI:
    """The application as `create_app` makes it for these settings and this database."""
    attach(database, settings.secret_keys)
    application.state.settings = settings
    application.state.database = database
    application.state.request_counter = RequestCounter()
    application.state.denial_limit = DenialLimit()
    return application


def sendable(value: Any) -> Any:
    """The same, with each character that UTF-8 cannot hold written as its escape."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {sendable(key): sendable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(sendable, value))
    return value


def sqlite_copy(template: Path, folder: Path) -> str:
    file = folder / "skydeck.db"
    shutil.copy(template, file)
    return f"sqlite+aiosqlite:///{file}"


async def _empty(url: str) -> None:
    """Removes every row, which is quicker than a new database, and whoever was left connected."""
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        await connection.execute(_EMPTY)
    finally:
        await connection.close()
