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


@pytest.mark.usefixtures("worker")
def test_waiting_says_on_stderr_how_far_it_is(skydeck: Skydeck) -> None:
    answer = skydeck(*("evaluate", "--model", "a@fake", "--json"), "--wait")
    assert json.loads(answer.out)["status"] == "succeeded"
    lines = answer.err.splitlines()
    assert lines[-1].endswith(" succeeded: 64 of 64 episodes")
    assert len(set(lines)) == len(lines)


def test_evaluations_are_listed_shown_stopped_and_resumed(
    skydeck: Skydeck, models: ScriptedModels
) -> None:
    made = skydeck("evaluate", "--model", "a@fake", "--name", "mine").out.strip()
    titles, row = skydeck("evaluation", "list").out.splitlines()
    assert titles.split()[:3] == ["ID", "STATUS", "EPISODES"]
    assert (row.split()[:3], row.split()[-1]) == ([made, "queued", "0/64"], "mine")
    assert json.loads(skydeck("evaluation", "list", "--json").out)["items"][0]["id"] == made

    shown = skydeck("evaluation", "show", made)
    assert f"{made} queued: mine" in shown.out
    assert f"{made} queued: 0 of 64 episodes" in shown.out
    assert json.loads(skydeck("evaluation", "show", made, "--json").out)["name"] == "mine"

    stopped = skydeck("evaluation", "stop", made)
    assert (stopped.status, stopped.out.split()[0]) == (0, made)
    assert json.loads(skydeck("evaluation", "show", made, "--json").out)["status"] != "queued"


def test_what_cannot_be_done_to_an_evaluation_is_one_line(
    skydeck: Skydeck, models: ScriptedModels
) -> None:
    made = skydeck("evaluate", "--model", "a@fake").out.strip()
    refused = skydeck("evaluation", "resume", made)
    assert (refused.status, refused.out) == (1, "")
    assert len(refused.err.splitlines()) == 1
    missing = skydeck("evaluation", "show", "evl-22222222")
    assert missing.status == 1
    assert "evl-22222222" in missing.err
