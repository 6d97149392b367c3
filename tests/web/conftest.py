"""A browser without JavaScript: an HTTP client against the application in this process."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from app.db import Database
from app.settings import Settings
from app.web.deps import SESSION_COOKIE
from tests.conftest import put_over, sqlite_copy
from tests.web.seed import Seeded, sign_in

ORIGIN = "http://skydeck.test"


@pytest.fixture
def page_database(sqlite_database: Database) -> Database:
    """What the pages read. A module whose tests are about queries takes `database` instead."""
    return sqlite_database


@pytest.fixture
def app(shared_application: FastAPI, settings: Settings, page_database: Database) -> FastAPI:
    return put_over(shared_application, settings, page_database)


@pytest.fixture
async def stranger(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that is not signed in. It sends no Origin unless a test gives one."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as opened:
        yield opened


@pytest.fixture
async def client(stranger: httpx.AsyncClient, page_database: Database) -> httpx.AsyncClient:
    """A browser in which the administrator is signed in."""
    stranger.cookies.set(SESSION_COOKIE, await sign_in(page_database))
    return stranger


@pytest.fixture
def seeded(seeded_template: tuple[Path, Seeded]) -> Seeded:
    """What is in the database, which then holds runs in each state."""
    return seeded_template[1]


@pytest.fixture
async def sqlite_database(
    request: pytest.FixtureRequest, sqlite_template: Path, tmp_path: Path
) -> AsyncIterator[Database]:
    template = sqlite_template
    if "seeded" in request.fixturenames:
        template = request.getfixturevalue("seeded_template")[0]
    opened = Database(sqlite_copy(template, tmp_path))
    yield opened
    await opened.close()
