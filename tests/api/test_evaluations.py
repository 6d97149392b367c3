"""Eval sets and evaluations over the API; a worker's loop plays what was asked for."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.db import Database
from app.episodes.deps import get_models
from app.maze.eval_sets import EVAL_SETS
from tests.api.helpers import V1, get, post, problem
from tests.evaluations.factories import RIGHT, STOP, make_loop
from tests.fakes.models import ScriptedModel, ScriptedModels
from tests.queries import QueryCounter

SET = {"name": "two", "env_id": "maze_2d/easy", "seeds": [0, 2], "max_turns": 3}


@pytest.fixture
def models(application: FastAPI) -> Iterator[ScriptedModels]:
    fake = ScriptedModels(a=ScriptedModel(STOP), b=ScriptedModel(RIGHT))
    application.dependency_overrides[get_models] = lambda: fake
    yield fake
    del application.dependency_overrides[get_models]


def body(*models: str, **given: Any) -> dict[str, Any]:
    named = [{"endpoint": "fake", "model": name} for name in models]
    return {"models": named, "eval_set": "two"} | given


async def made(api: httpx.AsyncClient, *models: str, **given: Any) -> Any:
    await post(api, "/eval-sets", SET)
    return await post(api, "/evaluations", body(*models, **given))


async def test_the_built_in_eval_sets_come_first(api: httpx.AsyncClient) -> None:
    added = await post(api, "/eval-sets", SET)
    assert added == SET | {"dialect": "keyword", "solvable_count": 0, "project": "default"}

    items = (await get(api, "/eval-sets"))["items"]
    assert [item["name"] for item in items] == [*EVAL_SETS, "two"]
    assert items[0]["solvable_count"] == 64
    assert items[-1] == added


async def test_an_eval_set_is_never_changed(api: httpx.AsyncClient) -> None:
    await post(api, "/eval-sets", SET)
    again = await api.post(V1 + "/eval-sets", json=SET | {"max_turns": 4})
    assert "never changed" in problem(again, 409)["detail"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "Big Name"}, "name"),
        ({"name": "easy-0-63-t15"}, "name"),
        ({"env_id": "maze_3d/easy"}, "env_id"),
        ({"env_id": "maze_2d/10x10"}, "env_id"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"env_id": "maze_2d/99x99", "seeds": list(range(21))}, "seeds"),
    ],
)
async def test_what_is_no_eval_set_says_why(
    api: httpx.AsyncClient, change: dict[str, Any], field: str
) -> None:
    answer = problem(await api.post(V1 + "/eval-sets", json=SET | change), 422)
    assert [each["field"] for each in answer["errors"]] == [field]


async def test_an_evaluation_from_start_to_end(
    api: httpx.AsyncClient, database: Database, models: ScriptedModels
) -> None:
    queued = await made(api, "a", "b", concurrency=2)
    assert queued["status"] == "queued"
    assert queued["progress"] == {"played": 0, "total": 4}
    assert queued["results"][0]["solve_rate"] is None
    loop = make_loop(database, models)
    while await loop.turn():
        pass

    ended = await get(api, f"/evaluations/{queued['id']}")
    assert ended["status"] == "succeeded"
    first = ended["results"][0]
    assert (first["model"], first["n"], first["solved"], first["pass_at_1"]) == ("a", 2, 0, 0.0)
    assert first["interval"][0] == 0.0
    assert 0 < first["interval"][1] < 1
    assert first["outcomes"] == {"wrong_stop": 2}
    (pair,) = ended["comparisons"]
    assert pair["summary"].startswith("b solves as many of 2 mazes as a (0 gained, 0 lost)")
    assert [(item["model"], item["seed"]) for item in ended["items"]] == [
        ("a", 0),
        ("b", 0),
        ("a", 2),
        ("b", 2),
    ]
    kept = await get(api, f"/episodes/{ended['items'][0]['episode_id']}")
    assert kept["lanes"][0]["turns"][0]["raw"] == STOP

    (line,) = (await get(api, "/evaluations"))["items"]
    assert line["progress"] == {"played": 4, "total": 4}
    assert line["items"] == []


async def test_stop_and_resume(
    api: httpx.AsyncClient, database: Database, models: ScriptedModels
) -> None:
    path = f"/evaluations/{(await made(api, 'a'))['id']}"
    assert problem(await api.post(f"{V1}{path}/resume"), 409)["detail"].startswith("this eval")
    assert (await post(api, f"{path}/stop"))["status"] == "stopped"
    assert (await post(api, f"{path}/stop"))["status"] == "stopped"
    assert (await post(api, f"{path}/resume"))["status"] == "queued"
    loop = make_loop(database, models)
    while await loop.turn():
        pass
    assert (await get(api, path))["status"] == "succeeded"


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({"eval_set": "none"}, 404, "no eval set none"),
        ({"models": [{"endpoint": "fake", "model": "c"}]}, 404, "no model c"),
        ({"models": [{"endpoint": "fake", "model": "a"}] * 2}, 422, "named twice"),
        ({"samples": 2}, 422, "temperature 0"),
        ({"temperature": -1}, 422, "greater than or equal"),
        ({"models": []}, 422, "at least 1"),
        ({"eval_set": "easy-0-63-t15", "samples": 16, "temperature": 1.0}, 201, ""),
    ],
)
async def test_what_cannot_be_evaluated_says_why(
    api: httpx.AsyncClient, models: ScriptedModels, given: dict[str, Any], status: int, words: str
) -> None:
    await post(api, "/eval-sets", SET)
    answer = await api.post(V1 + "/evaluations", json=body("a") | given)
    assert answer.status_code == status
    assert words in answer.text


async def test_the_same_key_makes_one_evaluation(
    api: httpx.AsyncClient, models: ScriptedModels
) -> None:
    await post(api, "/eval-sets", SET)
    headers = {"Idempotency-Key": "k"}
    ids = {(await post(api, "/evaluations", body("a"), headers=headers))["id"] for _ in range(2)}
    assert len(ids) == 1


async def test_reading_takes_as_many_queries_for_many_as_for_one(
    api: httpx.AsyncClient,
    database: Database,
    models: ScriptedModels,
    count_queries: QueryCounter,
) -> None:
    one = await made(api, "a")
    counted = []
    for _ in range(2):
        with count_queries(database) as lines:
            await get(api, "/evaluations")
        with count_queries(database) as whole:
            await get(api, f"/evaluations/{one['id']}")
        counted.append((lines.count, whole.count))
        await post(api, "/evaluations", body("a", "b"))
        loop = make_loop(database, models)
        while await loop.turn():
            pass
    assert counted[0] == counted[1]
    assert counted[0] <= (4, 4)
