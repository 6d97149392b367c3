"""Tokens, clusters, eval sets, health, and the description of it all."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from app.clock import utcnow
from app.db import Database
from tests.api.helpers import V1, bearer, get, post, problem


async def test_a_made_token_works_until_it_is_revoked(admin: httpx.AsyncClient) -> None:
    made = await post(admin, "/tokens", {"name": "sweep", "scope": "read"})
    headers = bearer(made["token"])
    assert (await admin.get(f"{V1}/runs", headers=headers)).status_code == 200
    assert (await admin.delete(f"{V1}/tokens/{made['id']}")).status_code == 204
    problem(await admin.get(f"{V1}/runs", headers=headers), 401)
    problem(await admin.delete(f"{V1}/tokens/{made['id']}"), 404)


async def test_the_list_shows_no_secret(admin: httpx.AsyncClient) -> None:
    made = await post(admin, "/tokens", {"name": "sweep"})
    text = (await admin.get(f"{V1}/tokens")).text
    assert made["id"] in text
    assert made["prefix"] in text
    assert made["token"] not in text


@pytest.mark.parametrize(
    "body",
    [
        {"name": ""},
        {"name": "x", "scope": "root"},
        {"name": "x", "expires_at": "2020-01-01T00:00:00Z"},
        {"name": "x", "expires_at": "2099-01-01T00:00:00"},
    ],
)
async def test_tokens_that_are_refused(admin: httpx.AsyncClient, body: dict[str, Any]) -> None:
    problem(await admin.post(f"{V1}/tokens", json=body), 422)


async def test_a_token_may_have_an_end(admin: httpx.AsyncClient) -> None:
    end = (utcnow() + timedelta(days=1)).isoformat()
    made = await post(admin, "/tokens", {"name": "x", "expires_at": end})
    assert made["expires_at"]


async def test_clusters(api: httpx.AsyncClient) -> None:
    [cluster] = (await get(api, "/clusters"))["items"]
    assert (cluster["id"], cluster["kind"]) == ("embedded", "embedded")
    assert cluster["status"]


async def test_eval_sets(api: httpx.AsyncClient) -> None:
    sets = {each["name"]: each for each in (await get(api, "/eval-sets"))["items"]}
    default = sets["easy-solvable-15"]
    assert len(default["seeds"]) == default["solvable_count"]
    assert (default["max_turns"], default["dialect"]) == (15, "keyword")


async def test_health_needs_no_token(anyone: httpx.AsyncClient) -> None:
    assert (await anyone.get("/healthz")).json() == {"status": "ok"}
    ready = await anyone.get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["checks"]["database"] == "ok"


async def test_not_ready_without_a_database(
    anyone: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OperationalError("SELECT 1", {}, Exception("gone"))

    monkeypatch.setattr(database, "read", fail)
    ready = await anyone.get("/readyz")
    assert ready.status_code == 503
    assert ready.json()["status"] != "ok"
    assert (await anyone.get("/healthz")).status_code == 200


async def test_the_api_describes_itself(anyone: httpx.AsyncClient) -> None:
    described = (await anyone.get(f"{V1}/openapi.json")).json()
    calls = {
        (path, method): call
        for path, methods in described["paths"].items()
        for method, call in methods.items()
        if path.startswith(V1)
    }
    assert (f"{V1}/experiments/{{experiment_id}}/runs", "post") in calls
    for place, call in calls.items():
        # The probe of a cluster's check is for everybody.
        assert call.get("security") or place == (f"{V1}/probe", "get"), place
        assert "application/problem+json" in call["responses"]["401"]["content"], place
    created = {place for place, call in calls.items() if "201" in call["responses"]}
    # Zips are known by their content: the same one again is the same upload without a key.
    for place in created - {(f"{V1}/code", "post")}:
        headers = {parameter["name"] for parameter in calls[place]["parameters"]}
        assert "Idempotency-Key" in headers, place
    push = calls[f"{V1}/runs/{{run_id}}/metrics", "post"]
    assert push["requestBody"]["content"]["application/json"]["examples"]
