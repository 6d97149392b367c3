"""Links that share a run, by API."""

import httpx
import pytest
from fastapi import FastAPI

from app.access.permissions import Scope
from app.db import Database
from tests.api.helpers import V1, bearer, get, make_external, make_token, post, problem


async def test_a_link_is_made_listed_used_and_revoked(api: httpx.AsyncClient) -> None:
    run = (await make_external(api))["id"]
    made = await post(api, f"/runs/{run}/shares", {"days": 30})
    assert made["created_by"] == "ada"
    assert made["last_used_at"] is None
    (listed,) = (await get(api, f"/runs/{run}/shares"))["items"]
    assert listed["id"] == made["id"]
    assert "url" not in listed
    assert (await api.get(made["url"], headers={"Authorization": ""})).status_code == 200
    (used,) = (await get(api, f"/runs/{run}/shares"))["items"]
    assert used["last_used_at"] is not None
    answer = await api.delete(f"{V1}/runs/{run}/shares/{made['id']}")
    assert answer.status_code == 204
    assert (await api.get(made["url"])).status_code == 404
    assert (await get(api, f"/runs/{run}/shares"))["items"] == []


async def test_it_lives_a_week_unless_told_otherwise(api: httpx.AsyncClient) -> None:
    run = (await make_external(api))["id"]
    made = await post(api, f"/runs/{run}/shares", {})
    assert made["expires_at"][:10] > made["created_at"][:10]
    wrong = await api.post(f"{V1}/runs/{run}/shares", json={"days": 8})
    assert problem(wrong, 422)["errors"][0]["field"] == "days"


async def test_a_repeated_call_makes_one_link_and_shows_it_once(api: httpx.AsyncClient) -> None:
    run = (await make_external(api))["id"]
    headers = {"Idempotency-Key": "once"}
    first = await post(api, f"/runs/{run}/shares", {"days": 7}, headers=headers)
    again = await post(api, f"/runs/{run}/shares", {"days": 7}, headers=headers)
    assert again["id"] == first["id"]
    assert (first["url"] is None, again["url"]) == (False, None)


async def test_a_link_of_another_run_is_not_found(api: httpx.AsyncClient) -> None:
    run, other = (await make_external(api))["id"], (await make_external(api, "other"))["id"]
    made = await post(api, f"/runs/{run}/shares", {})
    problem(await api.delete(f"{V1}/runs/{other}/shares/{made['id']}"), 404)
    problem(await api.delete(f"{V1}/runs/{run}/shares/share-unknown"), 404)
    assert len((await get(api, f"/runs/{run}/shares"))["items"]) == 1


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_who_only_reads_cannot_share(
    api: httpx.AsyncClient, database: Database, method: str
) -> None:
    run = (await make_external(api))["id"]
    made = await post(api, f"/runs/{run}/shares", {})
    path = f"{V1}/runs/{run}/shares" + (f"/{made['id']}" if method == "DELETE" else "")
    headers = bearer(await make_token(database, Scope.READ))
    problem(await api.request(method, path, headers=headers), 403)
    assert len((await get(api, f"/runs/{run}/shares"))["items"]) == 1


async def test_a_link_starts_with_the_public_url_whatever_host_was_asked(
    application: FastAPI, api: httpx.AsyncClient
) -> None:
    run = (await make_external(api))["id"]
    forged = {"Host": "evil.example"}
    application.state.settings = application.state.settings.model_copy(
        update={"public_url": "https://sky.example"}
    )
    made = await post(api, f"/runs/{run}/shares", {}, headers=forged)
    assert made["url"].startswith("https://sky.example/shared/")
