"""The whole application over a real database, called without a network."""

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from app.access.permissions import Scope
from app.clusters import service as clusters
from app.db import Database
from app.settings import Settings
from tests.api.helpers import bearer, make_token
from tests.conftest import put_over


@pytest.fixture
async def application(
    shared_application: FastAPI, settings: Settings, database: Database
) -> FastAPI:
    async with database.write() as session:
        await clusters.ensure_embedded(session)
    return put_over(shared_application, settings, database)


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
