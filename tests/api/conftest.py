"""The whole application over a real database, called without a network."""

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from app.access.limits import RequestCounter
from app.access.permissions import Scope
from app.clusters import service as clusters
from app.db import Database
from app.main import create_app
from app.settings import Settings
from tests.api.helpers import bearer, make_token


@pytest.fixture(scope="session")
def shared_application(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """Built once: that takes longer than most of the tests."""
    return create_app(Settings(home=tmp_path_factory.mktemp("home")))


@pytest.fixture
async def application(
    shared_application: FastAPI, settings: Settings, database: Database
) -> FastAPI:
    shared_application.state.settings = settings
    shared_application.state.database = database
    shared_application.state.request_counter = RequestCounter()
    async with database.write() as session:
        await clusters.ensure_embedded(session)
    return shared_application


@pytest.fixture
async def anyone(application: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Without a token."""
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://skydeck") as client:
        yield client


@pytest.fixture
async def api(anyone: httpx.AsyncClient, database: Database) -> httpx.AsyncClient:
    """With a token that may write."""
    anyone.headers.update(bearer(await make_token(database, Scope.WRITE)))
    return anyone


@pytest.fixture
async def admin(anyone: httpx.AsyncClient, database: Database) -> httpx.AsyncClient:
    """With an administrator's token."""
    anyone.headers.update(bearer(await make_token(database, Scope.ADMIN, "root")))
    return anyone
