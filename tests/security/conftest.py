"""The whole application over a database with two projects and everybody."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from app.access.denial_limit import DenialLimit
from app.db import Database
from app.main import create_app
from app.playground import stream_routes as playground_streams
from app.runs import stream_routes
from app.secrets.crypto import make_file
from app.secrets.vault import attach
from app.settings import Settings
from app.web.sse import poll
from tests.browser.conftest import browser
from tests.conftest import sqlite_copy
from tests.security.world import World, make_world

__all__ = ["browser"]


@pytest.fixture(scope="package")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    home = tmp_path_factory.mktemp("home")
    return create_app(Settings(home=home, requests_per_minute=1_000_000))


@pytest.fixture(scope="package")
def template(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, World]:
    url = sqlite_copy(sqlite_template, tmp_path_factory.mktemp("rights"))

    async def fill() -> World:
        database = Database(url)
        world = await make_world(database)
        await database.close()
        return world

    return Path(url.partition("///")[2]), asyncio.run(fill())


@pytest.fixture
def world(template: tuple[Path, World]) -> World:
    return template[1]


@pytest.fixture
async def http(
    app: FastAPI,
    template: tuple[Path, World],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[httpx.AsyncClient]:
    monkeypatch.setattr(stream_routes, "poll", partial(poll, pause=0.0))
    monkeypatch.setattr(playground_streams, "PAUSE_SECONDS", 0.0)
    app.state.database = Database(sqlite_copy(template[0], tmp_path))
    app.state.denial_limit = DenialLimit()
    make_file(tmp_path / "secret.keys")
    attach(app.state.database, tmp_path / "secret.keys")
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://skydeck.test") as client:
        yield client
    await app.state.database.close()
