import httpx
import pytest

from app.db import Database
from app.models import Role
from app.projects import service
from app.users import service as users
from app.web.deps import SESSION_COOKIE
from tests.factories import ADA, make_run
from tests.projects.people import add_person
from tests.web.conftest import app, client, page_database, stranger
from tests.web.html import Element, parse

__all__ = ["app", "client", "page_database", "stranger"]


async def shown(client: httpx.AsyncClient, path: str) -> Element:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return parse(answer.text)


async def as_person(client: httpx.AsyncClient, database: Database, name: str) -> None:
    async with database.write() as session:
        person = await users.get_user_named(session, name)
        client.cookies.set(SESSION_COOKIE, await users.create_session(session, person))


async def test_an_administrator_makes_a_project_and_fills_it(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        await add_person(session, "ben")
    answer = await client.post("/projects/new", data={"name": "Vision"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/projects/vision")
    page = await shown(client, "/projects/vision")
    assert page.one("heading", "Vision")
    assert "administrator" in page.one("status", "Project made").text
    added = await client.post("/projects/vision/members", data={"name": "ben", "role": "viewer"})
    assert added.status_code == 303
    page = await shown(client, "/projects/vision")
    assert "ben" in page.one("table").text
    for path, data, said in (
        ("members/change", {"name": "ben", "role": "member"}, "Role changed"),
        ("members/remove", {"name": "ben"}, "Member removed"),
        ("rename", {"project_name": "Seeing"}, "Project renamed"),
    ):
        answer = await client.post(f"/projects/vision/{path}", data=data)
        assert answer.status_code == 303, path
        assert said in (await client.get("/projects/vision")).text
    page = await shown(client, "/projects/vision")
    assert page.one("heading", "Seeing")
    assert "ben" not in page.one("table").text


@pytest.mark.parametrize(
    ("path", "data", "label", "words", "status"),
    [
        ("new", {"name": "Vision", "slug": "vision"}, "Short name", "already", 422),
        ("new", {"name": " ", "slug": ""}, "Name", "printable", 422),
        ("vision/members", {"name": "ghost", "role": "viewer"}, "User name", "no user", 422),
        ("vision/rename", {"project_name": ""}, "Name", "printable", 422),
        ("vision/members/remove", {"name": "admin"}, "", "last administrator", 409),
        ("vision/members/change", {"name": "admin", "role": "viewer"}, "", "last admin", 409),
        ("vision/members/remove", {"name": "ghost"}, "", "no ghost", 404),
    ],
)
async def test_what_is_refused_says_why_and_keeps_what_was_typed(
    client: httpx.AsyncClient,
    path: str,
    data: dict[str, str],
    label: str,
    words: str,
    status: int,
) -> None:
    assert (await client.post("/projects/new", data={"name": "Vision"})).status_code == 303
    answer = await client.post(f"/projects/{path}", data=data)
    assert answer.status_code == status
    page = parse(answer.text)
    if not label:
        assert words in page.one("alert").text
        return
    control = page.labelled(label)
    assert control.attributes["aria-invalid"] == "true"
    assert control.attributes["value"] in data.values()
    assert words in page.by_id(control.attributes["aria-describedby"].split()[0]).text


async def test_who_is_in_no_project_is_told_what_to_do(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        await add_person(session, "ben")
        await make_run(session)
    await as_person(client, sqlite_database, "ben")
    for path in ("/", "/runs", "/experiments", "/projects"):
        page = await shown(client, path)
        assert "Ask an administrator to add you" in page.text, path
        assert "ben" in page.one("main").text
        assert not page.all("link", "New run")
    assert (await client.get("/runs/new")).status_code == 403


async def test_a_viewer_sees_a_run_and_no_button_that_would_be_refused(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        await add_person(session, "ben")
        run = await make_run(session)
        project = await service.ensure_default(session)
        await service.add_member(session, project, "ben", Role.VIEWER, actor=ADA)
    assert (await shown(client, f"/runs/{run.slug}")).all("link", "Stop run")
    await as_person(client, sqlite_database, "ben")
    page = await shown(client, f"/runs/{run.slug}")
    for word in ("Stop", "Share", "Delete", "Resume"):
        assert not page.one("main").all("link", word), word
        assert not page.one("main").all("button", word), word
    assert (await client.post(f"/runs/{run.slug}/stop")).status_code == 403
    page = await shown(client, "/projects/default")
    assert not page.all("button", "Add member")
    assert "Viewer" in page.one("table").text


async def test_a_new_run_goes_into_the_chosen_project(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    for name in ("Vision", "Words"):
        await client.post("/projects/new", data={"name": name})
    page = await shown(client, "/runs?project=words")
    form_url = page.one("main").all("link", "New run")[0].attributes["href"]
    assert form_url == "/runs/new?project=words"
    page = await shown(client, form_url)
    chosen = [
        option.attributes["value"]
        for option in page.labelled("Project").walk()
        if "selected" in option.attributes
    ]
    assert chosen == ["words"]
    form = {"recipe": "embedded-maze-grpo", "project": "words"}
    answer = await client.post("/runs/new", data=form)
    assert answer.status_code == 303
    slug = answer.headers["location"].rpartition("/")[2]
    assert slug in (await client.get("/runs?project=words")).text
    assert slug not in (await client.get("/runs?project=vision")).text
    # Where all are shown, each row says its project; where one is chosen, none does.
    assert (await shown(client, "/runs")).by_id(slug).text.count("Words") == 1
    assert "Words" not in (await shown(client, "/runs?project=words")).by_id(slug).text
    row = (await shown(client, "/experiments")).one("table")
    assert row.one("link", "Words").attributes["href"] == "/experiments?project=words"
