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

from app.cli import main
from app.clusters import service as clusters
from app.db import Database
from app.main import create_app
from app.settings import Settings
from app.up.checks import listen


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


@pytest.fixture
def server(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a service on the home folder's database, with its embedded cluster's row."""
    url = f"sqlite+aiosqlite:///{home / 'skydeck.db'}"
    asyncio.run(_prepare(url))
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    config = uvicorn.Config(create_app(Settings(home=home)), log_config=None)
    service = uvicorn.Server(config)
    thread = threading.Thread(target=service.run, kwargs={"sockets": [listener]})
    thread.start()
    monkeypatch.setenv("SKYDECK_PORT", str(port))
    yield f"http://127.0.0.1:{port}"
    service.should_exit = True
    thread.join(timeout=20)
    assert not thread.is_alive()


async def _prepare(url: str) -> None:
    database = Database(url)
    async with database.write() as session:
        await clusters.ensure_embedded(session)
    await database.close()
