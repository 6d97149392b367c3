"""Clusters through the JSON API."""

from typing import Any

import httpx
import pytest

from app.db import Database
from app.settings import Settings
from tests.api.helpers import V1, get, post, problem
from tests.secrets.conftest import with_keys

TOKEN = "ray_9d8c7b6a5f"
BODY = {
    "name": "Lab",
    "address": "https://ray.example.com/",
    "credential": "token",
    "secret": TOKEN,
}


@pytest.fixture(autouse=True)
def keys(database: Database, settings: Settings) -> None:
    with_keys(database, settings.secret_keys)


async def patch(admin: httpx.AsyncClient, path: str, body: Any) -> httpx.Response:
    return await admin.patch(V1 + path, json=body)


async def test_a_cluster_is_added_changed_and_removed(admin: httpx.AsyncClient) -> None:
    made = await post(admin, "/clusters", BODY)
    assert (made["name"], made["kind"], made["status"]) == ("Lab", "http", "starting")
    assert made["address"] == "https://ray.example.com"
    assert TOKEN not in str(made)
    path = f"/clusters/{made['id']}"
    assert await get(admin, path) == made
    assert made in (await get(admin, "/clusters"))["items"]
    changed = (await patch(admin, path, {"max_running_runs": 3, "shows_secrets": True})).json()
    assert (changed["max_running_runs"], changed["shows_secrets"]) == (3, True)
    body = problem(await patch(admin, path, {"address": "https://evil.example.com"}), 422)
    assert [entry["field"] for entry in body["errors"]] == ["secret"]
    assert (await admin.delete(V1 + path)).status_code == 204
    problem(await admin.get(V1 + path), 404)
    problem(await admin.delete(V1 + path), 404)


async def test_a_repeated_call_adds_once(admin: httpx.AsyncClient) -> None:
    ids = set()
    for _ in range(2):
        answer = await admin.post(f"{V1}/clusters", json=BODY, headers={"Idempotency-Key": "a"})
        assert answer.status_code == 201
        ids.add(answer.json()["id"])
    assert len(ids) == 1
    body = problem(await admin.post(f"{V1}/clusters", json=BODY), 422)
    assert [(entry["field"], entry["rule"]) for entry in body["errors"]] == [("name", "taken")]


async def test_a_check_is_asked_for_and_read(admin: httpx.AsyncClient) -> None:
    made = await post(admin, "/clusters", BODY)
    answer = await admin.post(f"{V1}/clusters/{made['id']}/check")
    assert answer.status_code == 202
    check = answer.json()
    assert (check["status"], check["checks"], check["cluster_id"]) == ("queued", [], made["id"])
    assert await get(admin, f"/checks/{check['id']}") == check
    problem(await admin.get(f"{V1}/checks/check-none"), 404)


async def test_what_cannot_be_stored_is_named(admin: httpx.AsyncClient) -> None:
    wrong = {"name": "", "address": "ftp://x", "credential": "kubeconfig", "kubeconfig": "a: ["}
    body = problem(await admin.post(f"{V1}/clusters", json=wrong), 422)
    fields = {entry["field"] for entry in body["errors"]}
    assert {"name", "address"} <= fields
    answer = await admin.post(f"{V1}/clusters", json=BODY | {"credential": "magic"})
    problem(answer, 422)
    body = problem(await patch(admin, "/clusters/embedded", {"name": "mine"}), 409)
    assert "EMBEDDED_CLUSTER=off" in body["detail"]
