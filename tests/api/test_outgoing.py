"""Outgoing hosts through the JSON API."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.outgoing.resolve import system_resolver
from tests.api.helpers import V1, get, post, problem
from tests.fakes.dns import FakeDns

PLACE = "/outgoing-hosts"
BODY = {"host": "Ray.Internal:8265", "reason": "the team's cluster"}


@pytest.fixture(autouse=True)
def dns(application: FastAPI) -> Iterator[None]:
    fake = FakeDns({"ray.internal": [["10.0.0.7", "8.8.8.8"]]})
    application.dependency_overrides[system_resolver] = lambda: fake
    yield
    application.dependency_overrides.clear()


async def check(admin: httpx.AsyncClient, address: str) -> Any:
    return await post(admin, f"{PLACE}/check", {"address": address})


async def test_a_host_is_allowed_and_taken_away(admin: httpx.AsyncClient) -> None:
    made = await post(admin, PLACE, BODY)
    assert (made["host"], made["reason"]) == ("ray.internal:8265", BODY["reason"])
    assert made["created_by"] == "root"
    assert (await get(admin, PLACE))["items"] == [made]
    answer = await admin.delete(f"{V1}{PLACE}/{made['id']}")
    assert answer.status_code == 204
    assert (await get(admin, PLACE))["items"] == []
    problem(await admin.delete(f"{V1}{PLACE}/{made['id']}"), 404)


async def test_a_repeated_call_allows_once(admin: httpx.AsyncClient) -> None:
    for _ in range(2):
        answer = await admin.post(V1 + PLACE, json=BODY, headers={"Idempotency-Key": "a"})
        assert answer.status_code == 201
    assert len((await get(admin, PLACE))["items"]) == 1
    body = problem(await admin.post(V1 + PLACE, json=BODY), 422)
    assert [(e["field"], e["rule"]) for e in body["errors"]] == [("host", "taken")]


async def test_what_cannot_be_allowed_is_named(admin: httpx.AsyncClient) -> None:
    answer = await admin.post(V1 + PLACE, json={"host": "0.0.0.0/0", "reason": ""})
    fields = [entry["field"] for entry in problem(answer, 422)["errors"]]
    assert fields == ["host", "reason"]


async def test_the_verdict_follows_the_list(admin: httpx.AsyncClient) -> None:
    before = await check(admin, "http://ray.internal:8265/v1?key=hunter2")
    assert before["is_allowed"] is False
    assert before["target"] == "ray.internal:8265"
    assert "10.0.0.7" in before["reason"]
    assert "hunter2" not in str(before)
    assert before["addresses"] == [
        {"address": "10.0.0.7", "kind": "private", "is_allowed": False, "allowed_by": None},
        {"address": "8.8.8.8", "kind": "public", "is_allowed": True, "allowed_by": None},
    ]
    await post(admin, PLACE, BODY)
    after = await check(admin, "http://ray.internal:8265/v1")
    assert after["is_allowed"] is True
    assert {each["allowed_by"] for each in after["addresses"]} == {"ray.internal:8265"}
    assert (await check(admin, "http://ray.internal:9000/v1"))["is_allowed"] is False


async def test_a_name_without_an_address_and_a_text_without_a_name(
    admin: httpx.AsyncClient,
) -> None:
    unknown = await check(admin, "https://nowhere.example")
    assert (unknown["is_allowed"], unknown["addresses"]) == (False, [])
    assert "resolved" in unknown["reason"]
    assert (await check(admin, "gopher://x"))["target"] is None


@pytest.mark.parametrize("path", [PLACE, f"{PLACE}/check"])
async def test_only_administrators_may(api: httpx.AsyncClient, path: str) -> None:
    problem(await api.post(V1 + path, json={"address": "x", "host": "x", "reason": "x"}), 403)
    problem(await api.get(V1 + PLACE), 403)
