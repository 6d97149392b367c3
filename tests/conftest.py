"""Fixtures that all tests share: both databases, migrated once and copied for each test."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import hypothesis
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from app.db import Database
from app.schema import migrate_now
from app.settings import Settings
from tests.postgres import running_server
from tests.queries import QueryCounter, counting

# Property tests judge results, not speed: a busy machine must not fail them.
hypothesis.settings.register_profile("no-deadline", deadline=None)
hypothesis.settings.load_profile("no-deadline")

DATABASES = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty SQLite file."""
    file = tmp_path_factory.mktemp("sqlite") / "template.db"
    migrate_now(f"sqlite+aiosqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a server that has a migrated database named `template_skydeck`."""
    with running_server() as server:
        asyncio.run(_execute(server, 'CREATE DATABASE "template_skydeck"'))
        migrate_now(f"{server}/template_skydeck")
        yield server


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a fresh, migrated database; the test runs once for each kind."""
    if request.param == "sqlite":
        return sqlite_copy(request.getfixturevalue("sqlite_template"), tmp_path)
    server: str = request.getfixturevalue("postgres_server")
    name = f"test_{uuid4().hex}"
    asyncio.run(_execute(server, f'CREATE DATABASE "{name}" TEMPLATE "template_skydeck"'))
    return f"{server}/{name}"


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


@pytest.fixture
def count_queries() -> QueryCounter:
    """`with count_queries(database) as counted:` counts the statements sent in the block."""
    return counting


def sqlite_copy(template: Path, folder: Path) -> str:
    file = folder / "skydeck.db"
    shutil.copy(template, file)
    return f"sqlite+aiosqlite:///{file}"


async def _execute(server: str, statement: str) -> None:
    engine = create_async_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.execute(text(statement))
    await engine.dispose()
