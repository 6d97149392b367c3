import httpx
import pytest

from app.access.permissions import Scope
from app.db import Database
from tests.api.helpers import V1, bearer, get, make_experiment, post, problem
from tests.api.helpers import make_token as token_of
from tests.projects.people import add_person


async def test_a_project_is_made_renamed_and_read(admin: httpx.AsyncClient) -> None:
    made = await post(admin, "/projects", {"name": "Vision"})
    assert (made["id"], made["role"], made["member_count"]) == ("vision", "administrator", 0)
    renamed = await admin.patch(f"{V1}/projects/vision", json={"name": "Vision 2"})
    assert renamed.json() == made | {"name": "Vision 2"}
    assert await get(admin, "/projects/vision") == made | {"name": "Vision 2"}
    assert [each["id"] for each in (await get(admin, "/projects"))["items"]] == ["vision"]


async def test_a_repeated_creation_makes_one(admin: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "one"}
    first = await post(admin, "/projects", {"name": "Vision"}, headers=headers)
    assert await post(admin, "/projects", {"name": "Vision"}, headers=headers) == first
    taken = problem(await admin.post(f"{V1}/projects", json={"name": "Vision"}), 422)
    assert taken["errors"][0]["field"] == "slug"


async def test_members_come_and_go(admin: httpx.AsyncClient, database: Database) -> None:
    await post(admin, "/projects", {"name": "Vision", "id": "vis"})
    async with database.write() as session:
        await add_person(session, "team/ben")
    member = f"{V1}/projects/vis/members/team%2Fben"
    for role in ("viewer", "administrator", "administrator"):
        answer = await admin.put(member, json={"role": role})
        assert (answer.json()["name"], answer.json()["role"]) == ("team/ben", role)
    problem(await admin.put(member, json={"role": "owner"}), 422)
    problem(await admin.put(member, json={"role": "viewer"}), 409)
    problem(await admin.delete(member), 409)
    problem(await admin.put(f"{V1}/projects/vis/members/cy", json={"role": "viewer"}), 422)
    problem(await admin.delete(f"{V1}/projects/vis/members/cy"), 404)
    listed = (await get(admin, "/projects/vis/members"))["items"]
    assert [(each["name"], each["role"]) for each in listed] == [("team/ben", "administrator")]


@pytest.mark.parametrize("path", ["/experiments", "/runs/external"])
async def test_what_is_made_says_its_project(admin: httpx.AsyncClient, path: str) -> None:
    await post(admin, "/projects", {"name": "Vision"})
    body = {"name": "x"} | ({"recipe": "embedded-maze-grpo"} if path == "/experiments" else {})
    assert (await post(admin, path, body))["project"] == "default"
    made = await post(admin, path, body | {"project": "vision"})
    assert made["project"] == "vision"
    listing = path.removesuffix("/external")
    for slug in ("default", "vision"):
        found = await get(admin, listing, project=slug)
        assert [each["project"] for each in found["items"]] == [slug]
    assert (await get(admin, "/projects/vision"))["run_count"] == (listing == "/runs")


async def test_a_writing_token_makes_no_project(
    anyone: httpx.AsyncClient, database: Database
) -> None:
    headers = bearer(await token_of(database, Scope.WRITE))
    problem(await anyone.post(f"{V1}/projects", json={"name": "x"}, headers=headers), 403)


async def test_runs_of_an_experiment_stay_in_its_project(admin: httpx.AsyncClient) -> None:
    experiment = await make_experiment(admin)
    run = await post(admin, f"/experiments/{experiment['id']}/runs", {})
    assert run["project"] == experiment["project"] == "default"
