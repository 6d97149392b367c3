"""`skydeck run promote` and `skydeck adapter list` against a real server."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.db import Database
from tests.adapters.conftest import Shop, make_shop
from tests.checkpoints.exports import write_export
from tests.cli.conftest import Skydeck


async def _with_shop(home: Path) -> tuple[Database, Shop]:
    database = Database(f"sqlite+aiosqlite:///{home / 'skydeck.db'}")
    return database, make_shop(database, home)


@pytest.fixture
def run(home: Path, server: str) -> str:
    """A run with two exports, of which the second did better."""

    async def add() -> str:
        database, shop = await _with_shop(home)
        try:
            slug = await shop.add_run(4, 6)
            write_export(shop.folder(slug), 8, data=b"cut short")
            return slug
        finally:
            await database.close()

    return asyncio.run(add())


@contextmanager
def working(home: Path) -> Iterator[None]:
    """A worker that promotes, in a thread."""
    stop = threading.Event()

    async def work() -> None:
        database, shop = await _with_shop(home)
        while not stop.is_set():
            await shop.settle(seconds=1)
            await asyncio.sleep(0.05)
        await database.close()

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_the_best_step_is_promoted_and_waited_for(skydeck: Skydeck, run: str, home: Path) -> None:
    with working(home):
        made = skydeck("run", "promote", run, "--wait")
        assert (made.status, made.out) == (0, f"maze-base:{run}-s6\n"), made
        named = skydeck("run", "promote", run, "--step", "4", "--name", "mine", "--wait", "--json")
    promotion = json.loads(named.out)
    assert (promotion["status"], promotion["model"]) == ("succeeded", "maze-base:mine")
    listed = skydeck("adapter", "list", "--run", run)
    assert f"maze-base:{run}-s6" in listed.out
    assert "6/8 75.0%" in listed.out
    assert json.loads(skydeck("adapter", "list", "--json").out)["items"][0]["name"] == "mine"


def test_what_goes_wrong_is_said_with_what_to_do(skydeck: Skydeck, run: str, home: Path) -> None:
    other = skydeck("run", "promote", run, "--step", "5")
    assert other.status == 1
    assert "there is: 6, 4" in other.err
    assert skydeck("run", "promote", run, "--step", "first").status == 2
    assert skydeck("run", "promote", run, "--name", "No!").status == 1
    write_export(home / "runs" / run, 6, data=b"cut short")
    with working(home):
        failed = skydeck("run", "promote", run, "--step", "6", "--wait")
    assert failed.status == 1
    assert "promote another step" in failed.err
