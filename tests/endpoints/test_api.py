"""The JSON API of endpoints, on both databases."""

import httpx

from app.db import Database
from app.endpoints import service
from tests.endpoints.conftest import KEY, URL

BODY = {"name": "Ours", "base_url": URL, "key": KEY}


async def test_an_endpoint_is_registered_read_changed_and_removed(
    admin: httpx.AsyncClient, vaulted: Database
) -> None:
    made = await admin.post("/api/v1/endpoints", json=BODY)
    assert made.status_code == 201
    found = made.json()
    assert {"id", "name", "base_url", "kind", "status"} <= found.keys()
    assert (found["kind"], found["status"], found["has_key"]) == ("openai", "checking", True)
    assert KEY not in made.text
    path = f"/api/v1/endpoints/{found['id']}"
    assert (await admin.get(path)).json() == found
    assert (await admin.get("/api/v1/endpoints")).json()["items"] == [found]
    changed = await admin.patch(path, json={"name": "Theirs", "key": ""})
    assert (changed.json()["name"], changed.json()["has_key"]) == ("Theirs", False)
    assert (await admin.post(f"{path}/check")).status_code == 202
    assert (await admin.delete(path)).status_code == 204
    assert (await admin.get(path)).status_code == 404


async def test_a_repeated_call_registers_once(admin: httpx.AsyncClient, vaulted: Database) -> None:
    headers = {"Idempotency-Key": "once"}
    first = await admin.post("/api/v1/endpoints", json=BODY, headers=headers)
    again = await admin.post("/api/v1/endpoints", json=BODY, headers=headers)
    assert first.json() == again.json()


async def test_models_have_parents_and_say_whether_they_are_ready(
    admin: httpx.AsyncClient, vaulted: Database
) -> None:
    slug = (await admin.post("/api/v1/endpoints", json=BODY)).json()["id"]
    async with vaulted.write() as session:
        (await service.get(session, slug)).models = [
            {"id": "b", "parent": None, "max_model_len": 6_000},
            {"id": "b:a", "parent": "b", "max_model_len": None},
        ]
    answer = await admin.get(f"/api/v1/endpoints/{slug}/models")
    assert answer.json()["items"] == [
        {"id": "b", "parent": None, "ready": False, "max_model_len": 6_000},
        {"id": "b:a", "parent": "b", "ready": False, "max_model_len": 6_000},
    ]


async def test_what_is_wrong_is_said_by_field(admin: httpx.AsyncClient, vaulted: Database) -> None:
    for body, field in (
        ({"base_url": "https://127.0.0.1/v1"}, "base_url"),
        ({"base_url": "http://9.9.9.9/v1"}, "base_url"),
        ({"key": "short"}, "key"),
    ):
        answer = await admin.post("/api/v1/endpoints", json=BODY | body)
        assert answer.status_code == 422
        assert [each["field"] for each in answer.json()["errors"]] == [field]
        assert KEY not in answer.text


async def test_members_read_and_do_not_change(api: httpx.AsyncClient, vaulted: Database) -> None:
    assert (await api.get("/api/v1/endpoints")).json()["items"] == []
    assert (await api.post("/api/v1/endpoints", json=BODY)).status_code == 403
