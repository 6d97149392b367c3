"""The same key and body: the same answer. Another body: a conflict. Nothing made twice."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.access.permissions import Scope
from app.clock import utcnow
from app.db import Database
from app.idempotency import service as keys
from tests.api.helpers import V1, bearer, get, make_experiment, make_token, post, problem

KEY = {"Idempotency-Key": "once"}


async def test_a_repeated_call_gives_the_first_answer(api: httpx.AsyncClient) -> None:
    experiment = await make_experiment(api)
    path = f"/experiments/{experiment['id']}/runs"
    first = await post(api, path, {"name": "a", "tags": ["x"]}, headers=KEY)
    again = await post(api, path, {"tags": ["x"], "name": "a"}, headers=KEY)
    assert again == first
    assert len((await get(api, "/runs"))["items"]) == 1


async def test_another_body_is_a_conflict(api: httpx.AsyncClient) -> None:
    await post(api, "/runs/external", {"name": "a"}, headers=KEY)
    answer = await api.post(f"{V1}/runs/external", json={"name": "b"}, headers=KEY)
    assert "once" in problem(answer, 409)["detail"]
    assert [run["name"] for run in (await get(api, "/runs"))["items"]] == ["a"]


async def test_a_call_that_failed_may_be_repeated(api: httpx.AsyncClient) -> None:
    body = {"name": "x", "recipe": "none"}
    problem(await api.post(f"{V1}/experiments", json=body, headers=KEY), 404)
    body["recipe"] = "embedded-maze-grpo"
    assert (await post(api, "/experiments", body, headers=KEY))["name"] == "x"


async def test_keys_belong_to_their_token(api: httpx.AsyncClient, database: Database) -> None:
    first = await post(api, "/runs/external", {"name": "a"}, headers=KEY)
    other = bearer(await make_token(database, Scope.WRITE, "bob"))
    second = await post(api, "/runs/external", {"name": "a"}, headers=KEY | other)
    assert second["id"] != first["id"]


async def test_calls_at_once_make_one(api: httpx.AsyncClient) -> None:
    async def create() -> Any:
        return await post(api, "/runs/external", {"name": "a"}, headers=KEY)

    answers = await asyncio.gather(*(create() for _ in range(4)))
    assert len({answer["id"] for answer in answers}) == 1
    assert len((await get(api, "/runs"))["items"]) == 1


async def test_a_secret_is_not_kept_for_a_repeat(admin: httpx.AsyncClient) -> None:
    first = await post(admin, "/tokens", {"name": "a"}, headers=KEY)
    again = await post(admin, "/tokens", {"name": "a"}, headers=KEY)
    assert first.pop("token").startswith("sky_")
    assert again.pop("token") is None
    assert again == first


@pytest.mark.parametrize("key", ["", "x" * 201])
async def test_a_key_has_a_length(api: httpx.AsyncClient, key: str) -> None:
    answer = await api.post(
        f"{V1}/runs/external", json={"name": "a"}, headers={"Idempotency-Key": key}
    )
    problem(answer, 422)


async def test_keys_are_forgotten_after_a_day(api: httpx.AsyncClient, database: Database) -> None:
    first = await post(api, "/runs/external", {"name": "a"}, headers=KEY)
    now = utcnow()
    async with database.write() as session:
        assert await keys.forget_old(session, now + timedelta(hours=23)) == 0
    assert await post(api, "/runs/external", {"name": "a"}, headers=KEY) == first
    async with database.write() as session:
        assert await keys.forget_old(session, now + timedelta(hours=25)) == 1
    assert (await post(api, "/runs/external", {"name": "b"}, headers=KEY))["name"] == "b"
