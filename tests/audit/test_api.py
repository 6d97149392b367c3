"""`GET /api/v1/audit`."""

import httpx
import pytest

from app.access.permissions import Scope
from app.db import Database
from app.models import AuditOutcome
from tests.api.helpers import V1, bearer, get, make_external, make_token, problem
from tests.audit.rows import add_entry, add_project


async def test_newest_first_page_by_page(admin: httpx.AsyncClient, database: Database) -> None:
    async with database.write() as session:
        for minute in range(5):
            add_entry(session, minute=minute, object_slug=f"run-{minute}")
    first = await get(admin, "/audit", limit=3, actor="ada")
    second = await get(admin, "/audit", limit=3, actor="ada", cursor=first["next_cursor"])
    assert [item["object"] for item in first["items"]] == ["run-4", "run-3", "run-2"]
    assert [item["object"] for item in second["items"]] == ["run-1", "run-0"]
    assert second["next_cursor"] is None


async def test_each_filter_is_a_query_parameter(
    admin: httpx.AsyncClient, database: Database
) -> None:
    project_id = await add_project(database, "maze")
    async with database.write() as session:
        add_entry(session, minute=0, object_slug="run-0", actor="bob")
        add_entry(session, minute=1, object_slug="run-1", action="run.delete")
        add_entry(session, minute=2, object_slug="run-2", outcome=AuditOutcome.DENIED)
        add_entry(session, minute=3, object_slug="run-3", project_id=project_id)

    async def objects(**query: str) -> list[str]:
        return [item["object"] for item in (await get(admin, "/audit", **query))["items"]]

    assert await objects(actor="bob") == ["run-0"]
    assert await objects(action="run.delete") == ["run-1"]
    assert await objects(outcome="denied") == ["run-2"]
    assert await objects(object="run-2") == ["run-2"]
    assert await objects(project="maze") == ["run-3"]
    assert await objects(since="2026-11-29T12:01:00Z", until="2026-11-29T12:03:00Z") == [
        "run-2",
        "run-1",
    ]


async def test_an_answer_names_all_that_a_row_holds(admin: httpx.AsyncClient) -> None:
    run = await make_external(admin)
    (item,) = (await get(admin, "/audit", object=run["id"]))["items"]
    assert item["action"] == "run.create"
    assert item["actor"] == "root"
    assert item["actor_key"].startswith("tok-")
    assert item["address"] == "127.0.0.1"
    assert item["request_id"].startswith("req-")
    assert (item["object_kind"], item["project"]) == ("run", "default")
    assert (item["before_digest"], len(item["after_digest"])) == (None, 64)


@pytest.mark.parametrize(
    "query",
    [
        {"action": "run.fly"},
        {"outcome": "maybe"},
        {"since": "yesterday"},
        {"since": "2026-11-29T12:00:00"},
        {"since": "0001-01-01T00:00:00+14:00"},
        {"cursor": "x"},
    ],
)
async def test_what_cannot_be_a_filter_is_refused(
    admin: httpx.AsyncClient, query: dict[str, str]
) -> None:
    problem(await admin.get(f"{V1}/audit", params=query), 422)


async def test_an_unknown_project_is_not_found(admin: httpx.AsyncClient) -> None:
    problem(await admin.get(f"{V1}/audit", params={"project": "nowhere"}), 404)


async def test_only_administrators_read_it(anyone: httpx.AsyncClient, database: Database) -> None:
    headers = bearer(await make_token(database, Scope.WRITE))
    problem(await anyone.get(f"{V1}/audit", headers=headers), 403)
