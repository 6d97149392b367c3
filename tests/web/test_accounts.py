"""Sign-in by password, one's own account, all accounts, and the pages that links lead to."""

import re

import httpx
import pytest

from app.db import Database
from app.models import Role, User
from app.users import service as users
from app.users.passwords import POOL
from app.users.service.throttle import NAME_LIMIT
from app.web.deps import SESSION_COOKIE
from app.web.session_cookie import SECURE_SESSION_COOKIE
from tests.users.people import PASSWORD, add_project, add_user
from tests.web.html import Element, parse

HASH = POOL.hash_now(PASSWORD)
NEW = "another four words"


async def person(
    database: Database, name: str = "ada", *, is_admin: bool = False, has_password: bool = True
) -> User:
    user = await add_user(database, name, is_admin=is_admin)
    if has_password:
        async with database.write() as session:
            fresh = await users.get_user(session, user.id)
            await users.set_password(session, fresh, HASH)
    return user


async def cookie_of(database: Database, user: User) -> str:
    async with database.write() as session:
        return await users.create_session(session, user)


async def as_person(client: httpx.AsyncClient, database: Database, user: User) -> None:
    client.cookies.set(SESSION_COOKIE, await cookie_of(database, user), domain="skydeck.test")


def secret_on(page: Element) -> str:
    [shown] = [each.text for each in page.walk() if each.attributes.get("class") == "secret"]
    return shown


def path_of(link: str) -> str:
    return link.removeprefix("http://skydeck.test")


def token_of(link: str) -> str:
    return link.rpartition("token=")[2]


async def sign_in(client: httpx.AsyncClient, password: str = PASSWORD) -> httpx.Response:
    return await client.post(
        "/sign-in", data={"name": "ada", "password": password, "next": "/runs"}
    )


async def test_name_and_password_sign_in(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    await person(sqlite_database, is_admin=True)
    page = parse((await stranger.get("/sign-in?next=/runs")).text)
    assert page.labelled("Name").attributes["autocomplete"] == "username"
    assert page.labelled("Password").attributes["type"] == "password"
    answer = await sign_in(stranger)
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
    [cookie] = [c for c in answer.headers.get_list("set-cookie") if SESSION_COOKIE in c]
    for wanted in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age="):
        assert wanted in cookie
    assert "Secure" not in cookie
    assert (await stranger.get("/runs")).status_code == 200


async def test_a_wrong_password_says_nothing_and_keeps_the_name(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    await person(sqlite_database, is_admin=True)
    pages = []
    for name in ("ada", "nobody"):
        answer = await stranger.post("/sign-in", data={"name": name, "password": "wrong one"})
        assert answer.status_code == 401
        assert SESSION_COOKIE not in answer.cookies
        page = parse(answer.text)
        assert page.labelled("Name").attributes["value"] == name
        assert page.labelled("Name").attributes["aria-invalid"] == "true"
        assert "wrong one" not in answer.text
        pages.append(answer.text.replace(name, ""))
    assert pages[0] == pages[1]


async def test_too_many_wrong_passwords_wait(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    await person(sqlite_database)
    for _ in range(NAME_LIMIT):
        assert (await sign_in(stranger, "wrong")).status_code == 401
    answer = await sign_in(stranger)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 900
    assert "sign-in link" in parse(answer.text).one("alert").text
    async with sqlite_database.write() as session:
        link = await users.create_link_for(session, "ada")
    assert (await stranger.post("/sign-in", data={"token": link})).status_code == 303


async def test_a_full_queue_says_when_to_come_back(
    stranger: httpx.AsyncClient, sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await person(sqlite_database)
    monkeypatch.setattr(POOL._free, "acquire", lambda blocking: False)
    answer = await sign_in(stranger)
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) >= 1


async def test_over_tls_the_cookie_is_bound_to_this_host(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    user = await person(sqlite_database)
    stranger.base_url = httpx.URL("https://skydeck.test")
    answer = await sign_in(stranger)
    [cookie] = [c for c in answer.headers.get_list("set-cookie") if "session" in c]
    assert cookie.startswith(f"{SECURE_SESSION_COOKIE}=")
    assert "Secure" in cookie
    assert "Domain" not in cookie
    assert (await stranger.get("/runs")).status_code == 200
    stranger.cookies.clear()
    stranger.cookies.set(SESSION_COOKIE, await cookie_of(sqlite_database, user))
    assert (await stranger.get("/runs")).status_code == 303


async def test_a_planted_cookie_is_never_taken_over(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    await person(sqlite_database)
    stranger.cookies.set(SESSION_COOKIE, "planted", domain="skydeck.test")
    assert (await sign_in(stranger)).status_code == 303
    assert stranger.cookies.get(SESSION_COOKIE, domain="skydeck.test") != "planted"
    stranger.cookies.clear()
    stranger.cookies.set(SESSION_COOKIE, "planted", domain="skydeck.test")
    assert (await stranger.get("/runs")).status_code == 303


async def test_each_sign_in_is_a_new_session_and_ends_the_old_one(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    user = await person(sqlite_database)
    await as_person(stranger, sqlite_database, user)
    old = stranger.cookies[SESSION_COOKIE]
    await sign_in(stranger)
    assert stranger.cookies[SESSION_COOKIE] != old
    stranger.cookies.clear()
    stranger.cookies.set(SESSION_COOKIE, old, domain="skydeck.test")
    assert (await stranger.get("/runs")).status_code == 303


async def test_the_first_administrator_may_take_a_name_and_a_password(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        token = await users.create_sign_in_link(session)
    page = parse((await stranger.get(f"/sign-in?token={token}")).text)
    assert page.labelled("Name").attributes["value"] == "admin"
    form = {"token": token, "name": "ada", "password": "short", "repeat": "other"}
    refused = await stranger.post("/sign-in", data=form)
    assert refused.status_code == 422
    page = parse(refused.text)
    assert page.labelled("Name").attributes["value"] == "ada"
    assert "at least 12 characters" in page.text
    assert "These two differ" in page.text
    form |= {"password": PASSWORD, "repeat": PASSWORD}
    assert (await stranger.post("/sign-in", data=form)).status_code == 303
    stranger.cookies.clear()
    assert (await sign_in(stranger)).status_code == 303


async def test_the_list_of_browsers(stranger: httpx.AsyncClient, sqlite_database: Database) -> None:
    user = await person(sqlite_database)
    other = await cookie_of(sqlite_database, user)
    stranger.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0"
    await sign_in(stranger)
    page = parse((await stranger.get("/settings")).text)
    rows = [row.text for row in page.all("row", "Sign out") if row.all("button")]
    assert len(rows) == 2
    [this] = [row for row in rows if "this one" in row]
    assert "Firefox on Linux" in this
    assert (await stranger.post("/settings/sessions/revoke-others")).status_code == 303
    page = parse((await stranger.get("/settings")).text)
    assert "Every other browser is signed out" in page.text
    [action] = revokes(page, "sessions")
    async with sqlite_database.read() as session:
        assert await users.find_session(session, other) is None
    answer = await stranger.post(action)
    assert answer.headers["location"] == "/sign-in"
    assert (await stranger.get("/settings")).status_code == 303


def revokes(page: Element, kind: str) -> list[str]:
    actions = [each.attributes.get("action", "") for each in page.walk()]
    return [each for each in actions if re.fullmatch(rf"/settings/{kind}/[^/]+/revoke", each)]


async def test_nobody_ends_the_session_of_another(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    ada = await person(sqlite_database)
    secret = await cookie_of(sqlite_database, ada)
    async with sqlite_database.read() as session:
        [row] = await users.list_sessions(session, ada)
    assert (await client.post(f"/settings/sessions/{row.slug}/revoke")).status_code == 404
    async with sqlite_database.read() as session:
        assert await users.find_session(session, secret) is not None


async def test_changing_the_password(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    user = await person(sqlite_database)
    await as_person(stranger, sqlite_database, user)
    old = stranger.cookies[SESSION_COOKIE]
    form = {"present": "wrong", "password": NEW, "repeat": NEW}
    refused = await stranger.post("/settings/password", data=form)
    assert refused.status_code == 422
    assert "not your present password" in parse(refused.text).text
    assert NEW not in refused.text
    answer = await stranger.post("/settings/password", data=form | {"present": PASSWORD})
    assert answer.status_code == 303
    assert stranger.cookies[SESSION_COOKIE] != old
    assert "Password set" in (await stranger.get("/settings")).text
    stranger.cookies.clear()
    assert (await sign_in(stranger)).status_code == 401
    assert (await sign_in(stranger, NEW)).status_code == 303


async def test_a_member_makes_tokens_within_their_rights(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    ada = await person(sqlite_database)
    await add_project(sqlite_database, "maze", ada=Role.MEMBER)
    await add_project(sqlite_database, "other")
    await as_person(stranger, sqlite_database, ada)
    page = parse((await stranger.get("/settings")).text)
    choices = [each.text for each in page.walk() if each.tag == "option"]
    assert "maze" in choices
    assert not {"other", "never"} & set(choices)
    form = {"name": "laptop", "scope": "write", "project": "maze", "expiry": "7 days"}
    made = await stranger.post("/settings/tokens", data=form)
    assert made.status_code == 201
    headers = {"Authorization": f"Bearer {secret_on(parse(made.text))}"}
    assert (await stranger.get("/api/v1/runs", headers=headers)).status_code == 200
    for wrong, status in (
        ({"scope": "admin"}, 403),
        ({"expiry": "never"}, 403),
        ({"project": "other"}, 404),
        ({"expiry": "until a date", "until": "tomorrow"}, 422),
        ({"expiry": "until a date", "until": "2020-01-01"}, 422),
        ({"expiry": "for a while"}, 422),
        ({"name": ""}, 422),
    ):
        answer = await stranger.post("/settings/tokens", data=form | wrong)
        assert answer.status_code == status, wrong
        page = parse(answer.text)
        invalid = [each for each in page.walk() if each.attributes.get("aria-invalid")]
        assert len(invalid) == 1, wrong
        blamed = "expiry" if wrong.get("expiry") == "for a while" else list(wrong)[-1]
        assert invalid[0].attributes["name"] == {"never": "scope"}.get(
            str(wrong.get("expiry")), blamed
        )
        if "name" not in wrong:
            assert page.labelled("Name").attributes["value"] == "laptop"
    [action] = revokes(parse((await stranger.get("/settings")).text), "tokens")
    assert (await stranger.post(action)).status_code == 303
    assert (await stranger.get("/api/v1/runs", headers=headers)).status_code == 401


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
