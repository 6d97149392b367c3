"""Every refusal is problem+json that says what to do; none changes anything."""

import gzip
import json
from collections.abc import AsyncIterator, Iterator
from time import process_time
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy.exc import OperationalError

from app.api.json_bodies import JsonRoute
from app.api.site import PREFIX
from app.recipes import service as recipes
from tests.api.helpers import RECIPE, V1, get, make_experiment, make_external, problem


async def test_an_unknown_address(api: httpx.AsyncClient) -> None:
    assert problem(await api.get(f"{V1}/nothing"), 404)["title"] == "Not Found"


async def test_a_method_that_is_not_taken(api: httpx.AsyncClient) -> None:
    answer = await api.put(f"{V1}/experiments")
    problem(answer, 405)
    assert "POST" in answer.headers["allow"]


async def test_a_body_that_is_no_json(api: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "application/json"}
    answer = await api.post(f"{V1}/experiments", content=b"{nonsense", headers=headers)
    assert problem(answer, 422)["errors"][0]["rule"] == "json"


@pytest.mark.parametrize(
    ("body", "rule", "said"),
    [
        (b'{"a": 1,}', "json", "no JSON at character 8"),
        (b'{"a": ' + b"1" * 5_000 + b"}", "number", "too many digits"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "depth", "nested too deeply"),
        (b'{"a": "\xff"}', "encoding", "not UTF-8 at byte 7"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "twice", "'c' stands twice"),
    ],
)
@pytest.mark.parametrize("path", ["/experiments", "/runs/external", "/configs/validate", "/tokens"])
async def test_why_a_body_cannot_be_read(
    admin: httpx.AsyncClient, path: str, body: bytes, rule: str, said: str
) -> None:
    headers = {"Content-Type": "application/json"}
    answer = problem(await admin.post(V1 + path, content=body, headers=headers), 422)
    [error] = answer["errors"]
    assert (error["field"], error["rule"]) == ("body", rule)
    assert said in error["message"]
    assert error["message"] in answer["detail"]


def test_every_route_with_a_json_body_reads_it_strictly(application: FastAPI) -> None:
    routes = [each for each in application.routes if getattr(each, "path", "").startswith(PREFIX)]
    with_body = [route for route in routes if getattr(route, "body_field", None)]
    assert with_body
    assert all(isinstance(route, JsonRoute) for route in with_body)


async def test_each_wrong_field_is_named(api: httpx.AsyncClient) -> None:
    body = {"name": "", "recipe": 3, "colour": "red"}
    answer = problem(await api.post(f"{V1}/experiments", json=body), 422)
    assert {error["field"] for error in answer["errors"]} == {"name", "recipe", "colour"}
    assert answer["detail"].startswith("cannot accept name: String should have at least 1")
    assert answer["detail"].endswith("; nor recipe, colour")


@pytest.mark.parametrize("config", [{"k" * 301: 1}, {"a" * 150: {"b" * 150: 1}}])
async def test_keys_that_are_too_long(api: httpx.AsyncClient, config: dict[str, Any]) -> None:
    answer = await api.post(f"{V1}/runs/external", json={"name": "x", "config": config})
    assert "more than 300 characters" in problem(answer, 422)["detail"]


async def test_the_longest_key_is_kept(api: httpx.AsyncClient) -> None:
    config = {"k" * 300: 1}
    assert (await make_external(api, config=config))["config"] == config


async def test_each_wrong_config_value_is_named(api: httpx.AsyncClient) -> None:
    config = {"trainer.sead": 1, "generator.max_turns": 0}
    body = {"name": "x", "recipe": RECIPE, "config": config}
    errors = problem(await api.post(f"{V1}/experiments", json=body), 422)["errors"]
    assert {error["field"] for error in errors} == set(config)
    assert "trainer.seed" in errors[0]["message"]
    assert (await get(api, "/experiments"))["items"] == []


@pytest.mark.parametrize(
    "value", ["\ud800", "a\0b", float("nan"), float("inf"), {"a": {"b": {"c": {"d": {"e": 1}}}}}]
)
async def test_config_values_that_no_database_keeps(api: httpx.AsyncClient, value: object) -> None:
    content = json.dumps({"name": "x", "config": {"key": value}}).encode()
    headers = {"Content-Type": "application/json"}
    answer = await api.post(f"{V1}/runs/external", content=content, headers=headers)
    assert problem(answer, 422)["errors"][0]["field"].startswith("config")


@pytest.mark.parametrize("name", ["a\0b", "two\nlines", "x" * 201, "  "])
async def test_names_that_cannot_be_shown(api: httpx.AsyncClient, name: str) -> None:
    problem(await api.post(f"{V1}/runs/external", json={"name": name}), 422)


async def test_a_body_above_the_limit(api: httpx.AsyncClient) -> None:
    body = b'{"name": "' + b"x" * 1_100_000 + b'"}'
    headers = {"Content-Type": "application/json"}
    answer = await api.post(f"{V1}/experiments", content=body, headers=headers)
    assert "too large" in problem(answer, 413)["detail"]


async def test_a_body_above_the_limit_in_pieces(api: httpx.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 100_000

    headers = {"Content-Type": "application/json"}
    problem(await api.post(f"{V1}/experiments", content=pieces(), headers=headers), 413)


async def test_a_small_body_that_unpacks_to_a_large_one(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    bomb = gzip.compress(b" " * 40_000_000)
    assert len(bomb) < 100_000
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = await api.post(f"{V1}/runs/{run['id']}/metrics", content=bomb, headers=headers)
    problem(answer, 413)


async def test_a_body_of_very_many_empty_gzip_files_is_refused_soon(api: httpx.AsyncClient) -> None:
    """What is left was copied for each of them: minutes, in which nobody else was answered."""
    run = await make_external(api)
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    path = f"{V1}/runs/{run['id']}/metrics"
    started = process_time()
    answer = await api.post(path, content=gzip.compress(b"") * 190_000, headers=headers)
    assert "more than 100 gzip files" in problem(answer, 422)["detail"]
    assert process_time() - started < 2
    two = gzip.compress(b'{"step": [1], ') + gzip.compress(b'"loss": [2]}')
    assert (await api.post(path, content=two, headers=headers)).json() == {"accepted": 1}


async def test_a_mistake_of_ours_is_a_problem_too(
    application: FastAPI, api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Iterator[None]:
        raise RuntimeError("secret details")

    monkeypatch.setattr(recipes, "list_all", fail)
    transport = httpx.ASGITransport(application, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, headers=api.headers) as client:
        answer = await client.get(f"http://skydeck{V1}/recipes")
    assert "secret" not in problem(answer, 500)["detail"]


async def test_a_database_that_does_not_answer(
    api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Iterator[None]:
        raise OperationalError("SELECT 1", {}, Exception("locked"))

    monkeypatch.setattr(recipes, "list_all", fail)
    answer = await api.get(f"{V1}/recipes")
    assert "nothing was changed" in problem(answer, 503)["detail"]
    assert "retry-after" in answer.headers


async def test_a_cursor_of_another_list(api: httpx.AsyncClient) -> None:
    for name in ("a", "b"):
        await make_experiment(api, name)
    for cursor in ("nonsense", "W10", "WyJ4Il0", "é"):
        problem(await api.get(f"{V1}/experiments", params={"cursor": cursor}), 422)
        problem(await api.get(f"{V1}/runs", params={"cursor": cursor}), 422)


async def test_the_request_has_an_id(api: httpx.AsyncClient) -> None:
    given = await api.get(f"{V1}/recipes", headers={"X-Request-ID": "mine-1"})
    assert given.headers["x-request-id"] == "mine-1"
    made = await api.get(f"{V1}/recipes", headers={"X-Request-ID": "no good\tid"})
    assert made.headers["x-request-id"].startswith("req-")


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", None])
async def test_a_body_of_another_type_is_not_read(
    api: httpx.AsyncClient, media_type: str | None
) -> None:
    headers = {"Content-Type": media_type} if media_type else {}
    answer = await api.post(f"{V1}/experiments", content=b"{nonsense", headers=headers)
    assert "send Content-Type: application/json" in problem(answer, 415)["detail"]


async def test_json_may_say_its_charset(api: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = await api.post(f"{V1}/experiments", content=b"{}", headers=headers)
    assert answer.status_code == 422


async def test_no_answer_is_kept_by_a_cache(
    api: httpx.AsyncClient,
) -> None:
    for path in (f"{V1}/runs", f"{V1}/no-such-thing", "/sign-in", "/join", "/reset"):
        assert (await api.get(path)).headers["Cache-Control"] == "no-store", path
    answer = await api.post("/sign-in", data={"name": "ada", "password": "wrong"})
    assert answer.headers["Cache-Control"] == "no-store"
