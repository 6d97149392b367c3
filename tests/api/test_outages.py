"""PostgreSQL that goes away is 503 everywhere, says so, and is used again when it is back."""

import socket
from collections.abc import AsyncIterator

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app.db import Database, is_unreachable
from app.main import create_app
from app.settings import Settings
from app.web.deps import SESSION_COOKIE
from tests.api.helpers import V1, bearer, problem


@pytest.fixture
async def cut_off(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """The application over a database whose port nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        database = Database(f"postgresql+asyncpg://u:hidden@127.0.0.1:{port}/d")
        app = create_app(settings, database)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://skydeck") as client:
            yield client
        await database.close()


async def test_the_api_says_that_nothing_was_changed(cut_off: httpx.AsyncClient) -> None:
    for method, path in (("GET", "/runs"), ("POST", "/runs/external"), ("GET", "/series")):
        answer = await cut_off.request(method, V1 + path, headers=bearer("sky_x"))
        assert "nothing was changed" in problem(answer, 503)["detail"]
        assert "hidden" not in answer.text


async def test_pages_say_it_too(cut_off: httpx.AsyncClient) -> None:
    cut_off.cookies.set(SESSION_COOKIE, "x")
    answer = await cut_off.get("/runs")
    assert answer.status_code == 503
    assert "The database does not answer" in answer.text


async def test_it_is_alive_but_not_ready(cut_off: httpx.AsyncClient) -> None:
    assert (await cut_off.get("/healthz")).status_code == 200
    answer = await cut_off.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["database"] != "ok"


async def test_a_connection_that_is_cut_is_made_again(postgres_server: str) -> None:
    database = Database(postgres_server)
    async with database.read() as session:
        await session.execute(text("SELECT 1"))
        with pytest.raises(Exception, match=r"terminat|closed") as caught:
            await session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert is_unreachable(caught.value)
    async with database.read() as session:
        assert await session.scalar(text("SELECT 1")) == 1
    await database.close()


async def test_a_server_that_refuses_does_not_answer_either(postgres_server: str) -> None:
    database = Database(f"{postgres_server.rpartition('/')[0]}/nothing")
    with pytest.raises(OperationalError, match="does not exist"):
        async with database.read() as session:
            await session.execute(text("SELECT 1"))
    await database.close()


def test_what_counts_as_not_answering() -> None:
    assert is_unreachable(PoolTimeoutError("QueuePool limit"))
    assert is_unreachable(ConnectionResetError())
    assert not is_unreachable(IntegrityError("INSERT", {}, Exception("unique")))
    assert not is_unreachable(FileNotFoundError())
