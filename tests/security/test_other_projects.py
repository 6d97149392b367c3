"""What bodies, queries and lists could tell or do to things of a project of others."""

import httpx
import pytest
from fastapi import FastAPI, Request
from sqlalchemy import select

from app.access.permissions import Permission
from app.db import Database
from app.models import AuditEntry, AuditOutcome
from app.projects import service as projects
from app.web.deps import READ_RUN, SESSION_COOKIE
from tests.api.helpers import RECIPE, V1, bearer, problem
from tests.factories import ADA
from tests.security.world import World
from tests.web.html import parse

LISTS = ("/runs", "/experiments", "/projects")


@pytest.fixture
def database(http: httpx.AsyncClient, app: FastAPI) -> Database:
    """That of the application, once a client stands before it."""
    found: Database = app.state.database
    return found


@pytest.fixture
def api(http: httpx.AsyncClient, world: World) -> httpx.AsyncClient:
    """The administrator of `ours`, who has nothing to do with `theirs`."""
    http.headers.update(bearer(world.tokens["administrator"]))
    return http


@pytest.fixture
def browser(http: httpx.AsyncClient, world: World) -> httpx.AsyncClient:
    http.cookies.set(SESSION_COOKIE, world.sessions["administrator"])
    return http


def secrets_of(world: World) -> tuple[str, ...]:
    return world.theirs.experiment, world.theirs.run, "Theirs", "theirs"


async def test_no_whole_run_goes_into_a_project_of_others(
    api: httpx.AsyncClient, world: World
) -> None:
    body = {"runs": [{"name": "x"}]}
    hidden = problem(await api.post(f"{V1}/runs/import", json=body | {"project": "theirs"}), 404)
    missing = problem(await api.post(f"{V1}/runs/import", json=body | {"project": "nowhere"}), 404)
    assert hidden["detail"].replace("theirs", "nowhere") == missing["detail"]
    made = (await api.post(f"{V1}/runs/import", json=body)).json()["items"]
    assert (await api.get(f"{V1}/runs/{made[0]['id']}")).json()["project"] == "ours"


@pytest.mark.parametrize("path", ["/experiments", "/runs/external"])
async def test_nothing_goes_into_a_project_of_others(
    api: httpx.AsyncClient, world: World, path: str
) -> None:
    body = {"name": "x"} | ({"recipe": RECIPE} if path == "/experiments" else {})
    hidden = problem(await api.post(V1 + path, json=body | {"project": "theirs"}), 404)
    missing = problem(await api.post(V1 + path, json=body | {"project": "nowhere"}), 404)
    assert hidden["detail"].replace("theirs", "nowhere") == missing["detail"]
    made = await api.post(V1 + path, json=body)
    assert made.json()["project"] == "ours"


async def test_a_viewer_puts_nothing_into_their_own_project(
    http: httpx.AsyncClient, world: World
) -> None:
    headers = bearer(world.tokens["viewer"])
    body = {"name": "x", "recipe": RECIPE, "project": "ours"}
    problem(await http.post(f"{V1}/experiments", json=body, headers=headers), 403)


async def test_an_experiment_of_others_is_not_found_by_its_name(
    api: httpx.AsyncClient, database: Database, world: World
) -> None:
    body = {"name": "mine", "experiment": "from outside"}
    made = (await api.post(f"{V1}/runs/external", json=body)).json()
    mine = (await api.get(f"{V1}/runs/{world.ours.run}")).json()
    assert made["experiment_id"] == mine["experiment_id"]


@pytest.mark.parametrize("path", LISTS)
async def test_lists_of_the_api_hold_nothing_of_others(
    api: httpx.AsyncClient, world: World, path: str
) -> None:
    for query in ({}, {"limit": 1}, {"sort": "name"} if path == "/runs" else {}):
        text = (await api.get(V1 + path, params=query)).text
        assert not any(f'"{each}"' in text for each in secrets_of(world))
    assert "ours" in text
    if path != "/projects":
        problem(await api.get(V1 + path, params={"project": "theirs"}), 404)
        assert (await api.get(V1 + path, params={"project": "ours"})).json()["items"]


@pytest.mark.parametrize("path", [*LISTS, "/", "/runs?q=outside", "/runs/new", "/clusters"])
async def test_pages_hold_nothing_of_others(
    browser: httpx.AsyncClient, world: World, path: str
) -> None:
    answer = await browser.get(path, follow_redirects=True)
    assert answer.status_code == 200
    assert not any(each in answer.text for each in secrets_of(world))


@pytest.mark.parametrize("path", ["/runs", "/experiments"])
async def test_a_page_of_a_project_of_others_is_not_there(
    browser: httpx.AsyncClient, path: str
) -> None:
    assert (await browser.get(path, params={"project": "theirs"})).status_code == 404
    assert (await browser.get(path, params={"project": "ours"})).status_code == 200


async def test_one_run_of_others_among_ones_own_spoils_the_series(
    api: httpx.AsyncClient, world: World
) -> None:
    runs = {"run": [world.ours.run, world.theirs.run], "key": "loss"}
    problem(await api.get(f"{V1}/series", params=runs), 404)


async def test_no_form_is_filled_from_a_run_of_others_nor_sent_into_their_project(
    browser: httpx.AsyncClient, world: World
) -> None:
    assert (await browser.get(f"/runs/new?from={world.theirs.run}")).status_code == 404
    form = {"recipe": RECIPE, "project": "theirs"}
    assert (await browser.post("/runs/new", data=form)).status_code == 404


async def test_a_token_of_one_project_stays_in_it_although_its_user_sees_all(
    http: httpx.AsyncClient, world: World
) -> None:
    http.headers.update(bearer(world.tokens["bound admin token"]))
    items = (await http.get(f"{V1}/runs")).json()["items"]
    assert {item["project"] for item in items} == {"ours"}
    made = await http.post(f"{V1}/experiments", json={"name": "x", "recipe": RECIPE})
    assert made.json()["project"] == "ours"
    problem(await http.post(f"{V1}/tokens", json={"name": "x", "scope": "admin"}), 403)
    problem(await http.get(f"{V1}/secrets"), 403)


async def test_a_role_that_was_taken_away_ends_a_token_and_an_answer_kept_for_it(
    http: httpx.AsyncClient, database: Database, world: World
) -> None:
    http.headers.update(bearer(world.tokens["member"]) | {"Idempotency-Key": "once"})
    body = {"name": "x", "recipe": RECIPE, "project": "ours"}
    first = await http.post(f"{V1}/experiments", json=body)
    assert (await http.post(f"{V1}/experiments", json=body)).json() == first.json()
    async with database.write() as session:
        ours = await projects.get(session, "ours")
        await projects.remove_member(session, ours, "member", actor=ADA)
    assert (await http.post(f"{V1}/experiments", json=body)).status_code in (403, 404)
    problem(await http.get(f"{V1}/experiments/{first.json()['id']}"), 404)


async def test_denied_attempts_are_in_the_audit_log_and_mistyped_names_are_not(
    api: httpx.AsyncClient, database: Database, world: World
) -> None:
    asked = {"X-Request-ID": "req-asked"}
    await api.get(f"{V1}/runs/{world.theirs.run}", headers=asked)
    await api.get(f"{V1}/secrets")
    await api.post(f"{V1}/experiments", json={"name": "x", "recipe": RECIPE, "project": "theirs"})
    await api.get(f"{V1}/runs/run-nothing1")
    async with database.read() as session:
        query = select(AuditEntry).where(AuditEntry.outcome == AuditOutcome.DENIED)
        rows = (await session.scalars(query.order_by(AuditEntry.id))).all()
    assert [row.object_slug for row in rows] == [world.theirs.run, "", ""]
    first = rows[0]
    assert (first.actor, first.request_id, first.address) == (
        "administrator",
        "req-asked",
        "127.0.0.1",
    )
    assert first.details == {
        "method": "GET",
        "path": f"{V1}/runs/{world.theirs.run}",
        "needs": Permission.READ,
    }


async def test_a_stream_stands_until_the_session_or_the_right_ends(
    app: FastAPI, database: Database, world: World
) -> None:
    cookie = f"{SESSION_COOKIE}={world.sessions['member']}".encode()
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/runs/{world.ours.run}/stream",
        "path_params": {"slug": world.ours.run},
        "query_string": b"",
        "headers": [(b"cookie", cookie)],
        "app": app,
        "scheme": "http",
        "server": ("skydeck.test", 80),
        "client": ("127.0.0.1", 1),
    }
    assert await READ_RUN.stands(Request(scope))
    async with database.write() as session:
        ours = await projects.get(session, "ours")
        await projects.remove_member(session, ours, "member", actor=ADA)
    assert not await READ_RUN.stands(Request(scope))
    assert not await READ_RUN.stands(Request(scope | {"headers": []}))


async def test_the_switch_names_only_ones_own_projects(
    browser: httpx.AsyncClient, world: World
) -> None:
    page = parse((await browser.get("/runs")).text)
    assert not [e for e in page.walk() if "data-menu" in e.attributes]
    browser.cookies.set(SESSION_COOKIE, world.sessions["site administrator"])
    page = parse((await browser.get("/runs?project=theirs")).text)
    menu = next(e for e in page.walk() if "data-menu" in e.attributes)
    assert {link.text: link.attributes["href"] for link in menu.all("link")} == {
        "All projects": "/runs",
        "Ours": "/runs?project=ours",
        "Theirs": "/runs?project=theirs",
        "Projects and members": "/projects",
    }
    rows = {e.attributes["id"] for e in page.walk() if e.attributes.get("id", "")[:4] == "run-"}
    assert world.theirs.run in rows
    assert world.ours.run not in rows
    # Remembered for the links of pages that are no lists.
    page = parse((await browser.get("/settings")).text)
    assert page.one("navigation", "Main").one("link", "Runs").attributes["href"] == (
        "/runs?project=theirs"
    )
