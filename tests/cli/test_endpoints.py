"""`skydeck endpoint`: the key comes in by stdin and never by an argument."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.db import Database
from app.outgoing.allow_list import AllowList
from app.secrets.vault import attach
from tests.cli.conftest import Skydeck
from tests.cli.test_secrets import Typed
from tests.fakes.openai_server import BASE, KEY, FakeOpenAI
from worker.reconciler import Loop
from worker.reconcilers.endpoints import EndpointsReconciler


@contextmanager
def working(home: Path) -> Iterator[None]:
    """A worker that looks at endpoints, in a thread."""
    stop = threading.Event()

    async def work() -> None:
        database = Database(f"sqlite+aiosqlite:///{home / 'skydeck.db'}")
        attach(database, home / "secret.keys")
        loop = Loop(database, EndpointsReconciler(AllowList(database), home=home), lease_seconds=15)
        while not stop.is_set():
            await loop.turn()
            await asyncio.sleep(0.05)
        await database.close()

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(is_hostile=False).in_thread() as served:
        yield served


def test_an_endpoint_is_added_checked_listed_and_removed(
    skydeck: Skydeck, home: Path, fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(f"{KEY}\n"))
    refused = skydeck("endpoint", "add", "Ours", fake.base_url, "--key")
    assert refused.status == 1
    assert "Outgoing hosts" in refused.err
    _allow(home, "127.0.0.1")
    monkeypatch.setattr(sys, "stdin", Typed(f"{KEY}\n"))
    added = skydeck("endpoint", "add", "Ours", fake.base_url, "--key")
    assert added.err == ""
    slug = added.out.strip()
    assert slug.startswith("end-")
    assert "checking" in skydeck("endpoint", "list").out
    with working(home):
        seen = skydeck("endpoint", "check", slug)
    assert seen.status == 0
    assert seen.out.startswith(f"{slug} ready\n")
    assert f"{BASE}:maze-stopfix" in seen.out
    listed = skydeck("endpoint", "list").out
    assert "ready" in listed
    assert " ms" in listed
    assert KEY not in listed
    assert skydeck("endpoint", "remove", slug, "--yes").out == f"{slug} removed\n"
    assert slug not in skydeck("endpoint", "list").out


def test_without_a_worker_a_check_says_so(skydeck: Skydeck, home: Path) -> None:
    slug = skydeck("endpoint", "add", "Ours", "https://9.9.9.9/v1").out.strip()
    answer = skydeck("endpoint", "check", slug, "--wait", "0")
    assert answer.status == 1
    assert "skydeck worker" in answer.err


def _allow(home: Path, host: str) -> None:
    from app.access.principal import Actor
    from app.outgoing import service

    async def act() -> None:
        database = Database(f"sqlite+aiosqlite:///{home / 'skydeck.db'}")
        attach(database, home / "secret.keys")
        async with database.write() as session:
            await service.allow(session, Actor("Ada", "user:ada"), host=host, reason="a test")
        await database.close()

    asyncio.run(act())
