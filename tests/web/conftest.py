"""A browser without JavaScript: an HTTP client against the application in this process."""

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from app.db import Database
from app.main import create_app
from app.settings import Settings
from app.web.deps import SESSION_COOKIE
from tests.web.seed import Seeded, seed, sign_in

ORIGIN = "http://skydeck.test"


@pytest.fixture
def app(settings: Settings, sqlite_database: Database) -> FastAPI:
    return create_app(settings, sqlite_database)


@pytest.fixture
async def stranger(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that is not signed in. It sends no Origin unless a test gives one."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as opened:
        yield opened


@pytest.fixture
async def client(stranger: httpx.AsyncClient, sqlite_database: Database) -> httpx.AsyncClient:
    """A browser in which the administrator is signed in."""
    stranger.cookies.set(SESSION_COOKIE, await sign_in(sqlite_database))
    return stranger


@pytest.fixture
async def seeded(client: httpx.AsyncClient, sqlite_database: Database) -> Seeded:
    return await seed(sqlite_database)
