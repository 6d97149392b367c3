"""Runs that are chosen in the table, and what is done to them together."""

import re

import httpx
import pytest

from app.db import Database
from app.models import DesiredStatus, RunStatus
from app.projects import service as projects
from app.runs import service as runs
from app.runs.bulk import MAX_RUNS
from tests.factories import ADA, make_run
from tests.queries import QueryCounter
from tests.web.html import parse


@pytest.fixture
async def slugs(sqlite_database: Database) -> list[str]:
    """Three external runs; the first two have ended."""
    found = []
    async with sqlite_database.write() as session:
        home = await projects.ensure_default(session)
        for n in range(3):
            run = await runs.create_external(session, project=home, name=f"run {n}", actor=ADA)
            if n < 2:
                await runs.finish_external(session, run, RunStatus.SUCCEEDED, actor=ADA)
            found.append(run.slug)
    return found


def chosen(slugs: list[str], action: str, back: str = "") -> str:
    query = httpx.QueryParams([("action", action), ("back", back), *(("run", s) for s in slugs)])
    return f"/runs/selected?{query}"


def shown(text: str) -> set[str]:
    return set(re.findall(r'<tr id="(run-[^"]+)"', text))


async def test_rows_can_be_selected(client: httpx.AsyncClient, slugs: list[str]) -> None:
    page = parse((await client.get("/runs")).text)
    boxes = [page.one("checkbox", f"Select run {n}, {slug}") for n, slug in enumerate(slugs)]
    assert {box.attributes["form"] for box in boxes} == {"selection"}
    assert [box.attributes["value"] for box in boxes] == slugs


async def test_what_cannot_be_deleted_stays_and_is_said(
    client: httpx.AsyncClient, slugs: list[str]
) -> None:
    asked = await client.get(chosen(slugs, "delete"))
    page = parse(asked.text)
    assert page.one("button", "Delete 2 runs")
    assert "it is under way: stop it first" in asked.text
    done = await client.post(chosen(slugs, "delete", "sort=name"))
    assert (done.status_code, done.headers["location"]) == (303, "/runs?sort=name")
    assert shown((await client.get("/runs")).text) == {slugs[2]}


async def test_a_tag_is_added_found_and_taken_away(
    client: httpx.AsyncClient, slugs: list[str]
) -> None:
    for _ in range(2):
        assert (
            await client.post(chosen(slugs[:2], "tag"), data={"tag": "best"})
        ).status_code == 303
    filtered = {"filter": "tag = best"}
    assert shown((await client.get("/runs", params=filtered)).text) == set(slugs[:2])
    await client.post(chosen(slugs, "untag"), data={"tag": "best"})
    assert shown((await client.get("/runs", params=filtered)).text) == set()


async def test_a_wrong_tag_is_kept_and_explained(
    client: httpx.AsyncClient, slugs: list[str]
) -> None:
    answer = await client.post(chosen(slugs, "tag"), data={"tag": "x" * 201})
    assert answer.status_code == 422
    assert parse(answer.text).by_id("tag").attributes["value"] == "x" * 201
    assert (await client.post(chosen(slugs, "tag"))).status_code == 422


async def test_pinned_and_archived_runs_are_found(
    client: httpx.AsyncClient, slugs: list[str]
) -> None:
    await client.post(chosen(slugs[:1], "pin"))
    await client.post(chosen(slugs[1:2], "archive"))
    assert shown((await client.get("/runs")).text) == {slugs[0], slugs[2]}
    assert shown((await client.get("/runs?status=pinned")).text) == {slugs[0]}
    assert shown((await client.get("/runs?status=archived")).text) == {slugs[1]}
    both = {"filter": "archived = true or pinned != false"}
    assert shown((await client.get("/runs", params=both)).text) == set(slugs[:2])
    await client.post(chosen(slugs, "unarchive"))
    await client.post(chosen(slugs, "unpin"))
    assert shown((await client.get("/runs")).text) == set(slugs)
    assert shown((await client.get("/runs?status=pinned")).text) == set()


async def test_runs_are_asked_to_stop(
    client: httpx.AsyncClient, sqlite_database: Database, slugs: list[str]
) -> None:
    async with sqlite_database.write() as session:
        own = (await make_run(session)).slug
    asked = await client.get(chosen([*slugs, own], "stop"))
    assert "it runs outside Skydeck" in asked.text
    assert (await client.post(chosen([*slugs, own], "stop"))).status_code == 303
    async with sqlite_database.read() as session:
        assert (await runs.get(session, own)).desired_status is DesiredStatus.STOP
        assert (await runs.get(session, slugs[2])).desired_status is DesiredStatus.RUN


async def test_none_and_too_many_are_refused(client: httpx.AsyncClient, slugs: list[str]) -> None:
    assert (await client.get("/runs/selected?action=pin")).status_code == 422
    assert (await client.post("/runs/selected?action=pin")).status_code == 422
    many = [f"run-{n}" for n in range(MAX_RUNS + 1)]
    assert (await client.get(chosen(many, "pin"))).status_code in (404, 422)
    assert (await client.get(chosen([*slugs, "run-none"], "pin"))).status_code == 404


@pytest.mark.parametrize("action", ["delete", "tag", "pin", "archive"])
async def test_many_cost_as_few_reads_as_one(
    client: httpx.AsyncClient,
    sqlite_database: Database,
    slugs: list[str],
    count_queries: QueryCounter,
    action: str,
) -> None:
    counts = []
    for some in (slugs[:1], slugs[1:]):
        with count_queries(sqlite_database) as counted:
            await client.post(chosen(some, action), data={"tag": "one"})
        counts.append(sum(each.startswith("SELECT") for each in counted.statements))
    assert counts[0] == counts[1]
