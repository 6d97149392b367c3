"""The embedded endpoint in this process, without a socket."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.maze.episode import Episode
from app.maze.parse import Dialect
from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.export import read_base
from worker.serving.models import Models
from worker.serving.server import create_server

KEY = "the-key"
Messages = list[dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where adapters lie; empty."""
    made = tmp_path / "adapters"
    made.mkdir()
    return made


@pytest.fixture
async def api(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the right key."""
    app = create_server(Models(read_base(BASE_FILE)[0], folder), key=KEY, version="1.2.3")
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app, raise_app_exceptions=False),
        base_url="http://endpoint/v1",
        headers={"Authorization": f"Bearer {KEY}"},
    ) as client:
        yield client


@pytest.fixture
def messages() -> Messages:
    """The first turn on maze 0."""
    return opening(0)


def opening(seed: int) -> Messages:
    """The first turn on a maze."""
    episode = Episode("maze_2d/easy", seed, max_turns=15, dialect=Dialect.KEYWORD)
    return [dict(message) for message in episode.messages]


async def ask(api: httpx.AsyncClient, messages: Any, **fields: Any) -> httpx.Response:
    """Asks greedily, unless told otherwise."""
    body = {"model": "maze-base", "messages": messages, "temperature": 0} | fields
    return await api.post("/chat/completions", json=body)


async def says(api: httpx.AsyncClient, messages: Any, **fields: Any) -> str:
    """The answer's text."""
    found = await ask(api, messages, **fields)
    assert found.status_code == 200, found.text
    return str(found.json()["choices"][0]["message"]["content"])


def message_of(found: httpx.Response, status: int) -> str:
    """The words of an error in vLLM's shape."""
    assert found.status_code == status, found.text
    error = found.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == status
    return str(error["message"])
