"""Invites, resets, and the accounts of others."""

import httpx

from app.db import Database
from app.models import Role
from app.users import service as users
from tests.users.people import PASSWORD, add_project
from tests.web.accounts import (
    NEW,
    as_person,
    cookie_of,
    path_of,
    person,
    revokes,
    secret_on,
    sign_in,
    token_of,
)
from tests.web.html import parse


async def test_an_invited_person_makes_an_account_and_is_signed_in(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    await add_project(sqlite_database, "maze")
    form = {"project": "maze", "role": "viewer", "note": "for eve"}
    made = await client.post("/settings/invites", data=form)
    assert made.status_code == 201
    link = secret_on(parse(made.text))
    assert secret_free(await client.get("/settings/users"), link)
    looked = await client.get(path_of(link))
    assert "Going on signs admin out here" in parse(looked.text).text
    client.cookies.clear()
    page = parse((await client.get(path_of(link))).text)
    assert "join maze as viewer" in page.text
    token = token_of(link)
    form = {"token": token, "name": "admin", "password": PASSWORD, "repeat": PASSWORD}
    refused = await client.post("/join", data=form)
    assert refused.status_code == 422
    assert parse(refused.text).labelled("Name").attributes["aria-invalid"] == "true"
    joined = await client.post("/join", data=form | {"name": "eve"})
    assert joined.status_code == 303
    settings = parse((await client.get("/settings")).text)
    assert "eve" in settings.text
    for method in ("get", "post"):
        again = await client.request(method, "/join", params={"token": token}, data=form)
        assert again.status_code == 410
        assert "This invite was used" in again.text


def secret_free(answer: httpx.Response, secret: str) -> bool:
    return answer.status_code == 200 and token_of(secret) not in answer.text


async def test_an_invite_can_be_taken_back(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    link = secret_on(parse((await client.post("/settings/invites", data={})).text))
    page = parse((await client.get("/settings/users")).text)
    [action] = revokes(page, "invites")
    assert (await client.post(action)).status_code == 303
    assert "revoked" in parse((await client.get("/settings/users")).text).text
    gone = await client.get(path_of(link))
    assert gone.status_code == 410
    assert "taken back" in parse(gone.text).text
    assert (await client.get("/join?token=guess")).status_code == 410


async def test_a_reset_link_sets_a_new_password(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    ada = await person(sqlite_database)
    cookie = await cookie_of(sqlite_database, ada)
    made = await client.post(f"/settings/users/{ada.id}/reset")
    assert made.status_code == 201
    link = secret_on(parse(made.text))
    client.cookies.clear()
    via_sign_in = await client.get(f"/sign-in?token={token_of(link)}")
    assert via_sign_in.headers["location"] == path_of(link)
    assert "For ada" in parse((await client.get(path_of(link))).text).text
    form = {"token": token_of(link), "password": "ada ada ada ada", "repeat": "ada ada ada ada"}
    assert (await client.post("/reset", data=form)).status_code == 422
    form |= {"password": NEW, "repeat": NEW}
    assert (await client.post("/reset", data=form)).status_code == 303
    assert "ada" in parse((await client.get("/settings")).text).text
    async with sqlite_database.read() as session:
        assert await users.find_session(session, cookie) is None
    assert (await client.post("/reset", data=form)).status_code == 410
    assert (await client.get(path_of(link))).status_code == 410
    client.cookies.clear()
    assert (await sign_in(client, NEW)).status_code == 303


async def test_an_administrator_changes_shuts_out_and_lets_in(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    ada = await person(sqlite_database)
    path = f"/settings/users/{ada.id}"
    assert parse((await client.get(path)).text).one("button", "Make administrator")
    assert (await client.post(f"{path}/role", data={"is_admin": "true"})).status_code == 303
    page = parse((await client.get(path)).text)
    assert page.one("button", "Make member")
    cookie = await cookie_of(sqlite_database, ada)
    await client.post(f"{path}/disable")
    page = parse((await client.get(path)).text)
    assert page.one("button", "Enable account")
    assert not page.all("button", "Create reset link")
    async with sqlite_database.read() as session:
        assert await users.find_session(session, cookie) is None
    assert (await client.post(f"{path}/reset")).status_code == 409
    await client.post(f"{path}/enable")
    assert parse((await client.get(path)).text).one("button", "Disable account")
    assert (
        await client.get("/settings/users/00000000-0000-0000-0000-000000000000")
    ).status_code == 404


async def test_the_only_administrator_stays(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.read() as session:
        admin = await users.get_user_named(session, "admin")
    for act, form in (("role", {"is_admin": "false"}), ("disable", {})):
        answer = await client.post(f"/settings/users/{admin.id}/{act}", data=form)
        assert answer.status_code == 409
        assert "only administrator" in answer.text
    assert (await client.get("/settings/users")).status_code == 200


async def test_other_accounts_are_for_administrators_of_the_site(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    ada = await person(sqlite_database)
    await add_project(sqlite_database, "maze", ada=Role.ADMINISTRATOR)
    await as_person(stranger, sqlite_database, ada)
    assert (await stranger.get("/settings/users")).status_code == 403
    path = f"/settings/users/{ada.id}"
    for act in ("role", "disable", "enable", "reset"):
        answer = await stranger.post(f"{path}/{act}", data={"is_admin": "true"})
        assert answer.status_code == 403, act
    assert (await stranger.post("/settings/invites", data={})).status_code == 403


async def test_a_project_s_administrators_invite_into_it(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    ada, bob = await person(sqlite_database), await person(sqlite_database, "bob")
    await add_project(sqlite_database, "maze", ada=Role.ADMINISTRATOR, bob=Role.MEMBER)
    await add_project(sqlite_database, "other")
    await as_person(stranger, sqlite_database, bob)
    assert (await stranger.get("/projects/maze/invites")).status_code == 403
    assert (await stranger.get("/projects/other/invites")).status_code == 404
    await as_person(stranger, sqlite_database, ada)
    assert (await stranger.post("/projects/other/invites", data={})).status_code == 404
    form = {"role": "administrator", "project": "other"}
    made = await stranger.post("/projects/maze/invites", data=form)
    assert made.status_code == 201
    link = secret_on(parse(made.text))
    page = parse((await stranger.get("/projects/maze/invites")).text)
    [action] = [
        each.attributes["action"]
        for each in page.walk()
        if each.attributes.get("action", "").endswith("/revoke")
    ]
    assert "join Maze" not in page.text
    assert (await stranger.post(action)).status_code == 303
    assert (await stranger.get(path_of(link))).status_code == 410


async def test_names_are_shown_as_text(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    hostile = '<img src=x onerror="a()">'
    user = await person(sqlite_database, hostile)
    form = {"note": hostile}
    for answer in (
        await client.get("/settings/users"),
        await client.get(f"/settings/users/{user.id}"),
        await client.post("/settings/invites", data=form),
        await client.post("/sign-in", data={"name": hostile, "password": "x"}),
    ):
        assert "<img" not in answer.text
        assert "onerror" in answer.text
