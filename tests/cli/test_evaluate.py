"""`skydeck evaluate` against a real server, with a worker beside it."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.db import Database
from app.episodes.deps import get_models
from app.settings import Settings
from tests.cli.conftest import Service, Skydeck
from tests.evaluations.factories import RIGHT, STOP, make_loop
from tests.fakes.models import ScriptedModel, ScriptedModels

pytestmark = pytest.mark.usefixtures("server")


@pytest.fixture
def models(service: Service, server: str) -> Iterator[ScriptedModels]:
    fake = ScriptedModels(a=ScriptedModel(STOP), b=ScriptedModel(RIGHT))
    service.application.dependency_overrides[get_models] = lambda: fake
    yield fake
    del service.application.dependency_overrides[get_models]


@pytest.fixture
def worker(home: Path, models: ScriptedModels) -> Iterator[None]:
    """Plays what is queued until the test ends."""
    ended = threading.Event()

    async def work() -> None:
        database = Database(Settings(home=home).url)
        stop = asyncio.Event()
        working = asyncio.create_task(make_loop(database, models, concurrency=64).run(stop))
        await asyncio.to_thread(ended.wait)
        stop.set()
        await working
        await database.close()

    thread = threading.Thread(target=asyncio.run, args=(work(),))
    thread.start()
    yield
    ended.set()
    thread.join(timeout=20)


def test_an_evaluation_is_queued(skydeck: Skydeck, models: ScriptedModels) -> None:
    answer = skydeck("evaluate", "--model", "a@fake", "--name", "mine")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("evl-")
    made = json.loads(skydeck("evaluate", "--model", "b@fake", "--json").out)
    assert (made["eval_set"], made["progress"]["total"]) == ("easy-solvable-15", 64)


@pytest.mark.usefixtures("worker")
def test_waiting_prints_rates_with_their_intervals(skydeck: Skydeck) -> None:
    answer = skydeck(
        *("evaluate", "--model", "a@fake", "--model", "b@fake", "--set", "easy-0-63-t15"), "--wait"
    )
    assert answer.status == 0, answer.err
    head, titles, first, _, sentence = answer.out.splitlines()
    assert "succeeded: a and b on easy-0-63-t15" in head
    assert "pass_at_1" in titles
    assert "0/64 0.0 % [0-6]" in first
    assert sentence.startswith("b solves as many of 64 mazes as a (0 gained, 0 lost); McNemar")


def test_what_is_not_there_is_one_line(skydeck: Skydeck, models: ScriptedModels) -> None:
    answer = skydeck("evaluate", "--model", "c@fake")
    assert answer.status == 1
    assert "there is no model c" in answer.err
    assert skydeck("evaluate").status == 2
