"""Nobody keeps the service from others: requests a minute, and bodies that never end."""

import asyncio

import httpx
from fastapi import FastAPI

from app.access.permissions import Scope
from app.db import Database
from app.web.timeouts import BodyInTime
from tests.api.helpers import V1, bearer, make_token, problem

LIMIT = 60


def limit(application: FastAPI) -> None:
    settings = application.state.settings
    application.state.settings = settings.model_copy(update={"requests_per_minute": LIMIT})


async def test_a_token_that_asks_too_often_waits_and_others_do_not(
    application: FastAPI, api: httpx.AsyncClient, database: Database
) -> None:
    limit(application)
    answers = [await api.get(f"{V1}/recipes") for _ in range(LIMIT + 5)]
    assert {answer.status_code for answer in answers[:LIMIT]} == {200}
    assert "nothing was changed" in problem(answers[-1], 429)["detail"]
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
    other = bearer(await make_token(database, Scope.READ, "other"))
    assert (await api.get(f"{V1}/recipes", headers=other)).status_code == 200
    assert (await api.get("/healthz")).status_code == 200


async def test_made_up_tokens_do_not_get_round_the_limit(
    application: FastAPI, anyone: httpx.AsyncClient
) -> None:
    limit(application)
    statuses: list[int] = []
    # Counts fade while the minute passes, so the limit comes a little later on a slow machine.
    while 429 not in statuses and len(statuses) < LIMIT * 10:
        headers = bearer(f"sky_{len(statuses)}")
        statuses.append((await anyone.get(f"{V1}/recipes", headers=headers)).status_code)
    assert set(statuses[:-1]) == {401}
    assert statuses[-1] == 429


async def test_a_junk_cookie_is_no_other_caller(
    application: FastAPI, anyone: httpx.AsyncClient
) -> None:
    limit(application)
    statuses: list[int] = []
    while 429 not in statuses and len(statuses) < LIMIT * 2:
        headers = {"Cookie": f"junk={len(statuses)}", "Authorization": f"Basic {len(statuses)}"}
        statuses.append((await anyone.get("/sign-in", headers=headers)).status_code)
    assert 429 in statuses


async def test_an_ipv6_network_is_one_caller(application: FastAPI) -> None:
    limit(application)

    async def ask(address: str) -> int:
        transport = httpx.ASGITransport(application, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://skydeck") as client:
            return (await client.get("/sign-in")).status_code

    statuses = [await ask(f"2001:db8::{number:x}") for number in range(LIMIT * 2)]
    assert statuses[0] == 200
    assert 429 in statuses
    assert await ask("2001:db8:0:1::1") == 200


async def test_a_page_says_that_it_was_asked_too_often(
    application: FastAPI, anyone: httpx.AsyncClient
) -> None:
    limit(application)
    answers = [await anyone.get("/sign-in") for _ in range(LIMIT + 5)]
    assert answers[-1].status_code == 429
    assert "Wait a minute" in answers[-1].text
    assert int(answers[-1].headers["Retry-After"]) >= 1


async def test_a_body_that_never_ends_is_refused(
    application: FastAPI, api: httpx.AsyncClient
) -> None:
    async def dripping() -> object:
        yield b'{"name": '
        await asyncio.Event().wait()

    # The middleware stands in front of the one that the application has, with less patience.
    transport = httpx.ASGITransport(BodyInTime(application, seconds=0.05))
    async with httpx.AsyncClient(transport=transport, base_url="http://skydeck") as slow:
        answer = await slow.post(
            f"{V1}/runs/external",
            content=dripping(),  # type: ignore[arg-type]
            headers={**api.headers, "Content-Type": "application/json"},
        )
    assert "nothing was changed" in problem(answer, 408)["detail"]
    assert (await api.get(f"{V1}/runs")).json()["items"] == []
