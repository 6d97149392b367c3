"""The command, called as a person would, and a real server for it to talk to."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI

from app.cli import main
from app.clusters import service as clusters
from app.db import Database
from app.main import create_app
from app.settings import Settings
from app.up.checks import listen
from tests.conftest import put_over


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    out: str
    err: str


Skydeck = Callable[..., Answer]


@pytest.fixture
def home(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with an up-to-date database; the settings point at it and at no server."""
    folder = Path(sqlite_url.partition(":///")[2]).parent
    for name in ("SKYDECK_URL", "SKYDECK_TOKEN", "SKYDECK_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SKYDECK_HOME", str(folder))
    monkeypatch.setenv("SKYDECK_PORT", "1")
    return folder


@pytest.fixture
def skydeck(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Skydeck]:
    """Calls the command in this process."""

    def call(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["skydeck", *arguments])
        capfd.readouterr()
        status: object = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        said = capfd.readouterr()
        assert isinstance(status, int)
        return Answer(status, said.out, said.err)

    before = os.umask(0o022)
    yield call
    # A command may have set its own.
    os.umask(before)


class Service:
    """The application on a port of this machine, in a thread."""

    def __init__(self, application: FastAPI) -> None:
        self.application = application
        self.listener = listen("127.0.0.1", 0)
        self.port: int = self.listener.getsockname()[1]
        self._server = uvicorn.Server(uvicorn.Config(application, log_config=None))
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),))
        self._thread.start()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[self.listener])

    def close(self, database: Database) -> None:
        """Closes a database where its connections were made."""
        asyncio.run_coroutine_threadsafe(database.close(), self._loop).result(timeout=20)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=20)
        assert not self._thread.is_alive()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Made once, since that takes longer than most of the tests.

    Its application is its own: one that is called in this process may be put over a database of
    another test while this one's is at work.
    """
    started = Service(create_app(Settings(home=tmp_path_factory.mktemp("service"))))
    yield started
    started.stop()


@pytest.fixture
def server(service: Service, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a service on the home folder's database, with its embedded cluster's row."""
    settings = Settings(home=home)
    asyncio.run(_prepare(settings.url))
    database = Database(settings.url)
    put_over(service.application, settings, database)
    monkeypatch.setenv("SKYDECK_PORT", str(service.port))
    yield f"http://127.0.0.1:{service.port}"
    service.close(database)


async def _prepare(url: str) -> None:
    database = Database(url)
    async with database.write() as session:
        await clusters.ensure_embedded(session)
    await database.close()
