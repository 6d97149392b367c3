import re

import httpx
import pytest

from app.db import Database
from app.users import service as users
from app.web.deps import SESSION_COOKIE, safe_next
from tests.web.html import parse


async def make_link(database: Database) -> str:
    async with database.write() as session:
        secret = await users.create_sign_in_link(session)
    assert secret is not None
    return secret


async def test_looking_at_a_link_does_not_use_it_up(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    token = await make_link(sqlite_database)
    for _ in range(2):
        page = parse((await stranger.get(f"/sign-in?token={token}")).text)
        assert page.one("button", "Sign in")
    answer = await stranger.post("/sign-in/link", data={"token": token})
    assert answer.status_code == 303
    cookie = next(c for c in answer.headers.get_list("set-cookie") if SESSION_COOKIE in c)
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    start = await stranger.get("/")
    assert start.status_code == 200
    assert "Signed in." in start.text
    assert "Signed in." not in (await stranger.get("/")).text


async def test_a_link_works_once(stranger: httpx.AsyncClient, sqlite_database: Database) -> None:
    token = await make_link(sqlite_database)
    await stranger.post("/sign-in/link", data={"token": token})
    stranger.cookies.clear()
    answer = await stranger.post("/sign-in/link", data={"token": token})
    assert answer.status_code == 401
    page = parse(answer.text)
    assert page.one("alert").text == "This sign-in link was used or is older than 15 minutes."
    assert ".venv/bin/skydeck user link" in page.text
    assert "skydeck up" not in page.text
    assert SESSION_COOKIE not in answer.cookies


async def test_without_a_link_the_page_says_how_to_get_one(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get("/sign-in")
    assert answer.status_code == 200
    assert "skydeck up" in parse(answer.text).text


async def test_signing_out_ends_the_session_for_good(client: httpx.AsyncClient) -> None:
    secret = client.cookies[SESSION_COOKIE]
    assert (await client.post("/sign-out")).status_code == 303
    client.cookies.set(SESSION_COOKIE, secret)
    assert (await client.get("/runs")).status_code == 303


@pytest.mark.parametrize(
    "path",
    ["//evil.test", "https://evil.test", "/\\evil.test", "/a\\b", "javascript:x", "/a\nb", ""],
)
def test_no_sign_in_leads_to_another_site(path: str) -> None:
    assert safe_next(path) == "/"


def test_sign_in_leads_back_to_the_page_that_was_asked_for() -> None:
    assert safe_next("/runs?q=a") == "/runs?q=a"


async def test_a_token_is_shown_once_and_can_be_revoked(client: httpx.AsyncClient) -> None:
    answer = await client.post("/settings/tokens", data={"name": "laptop", "scope": "read"})
    assert answer.status_code == 201
    secret = next(
        e.text for e in parse(answer.text).walk() if e.attributes.get("class") == "secret"
    )
    headers = {"Authorization": f"Bearer {secret}"}
    assert (await client.get("/api/v1/runs", headers=headers)).status_code == 200
    page = parse((await client.get("/settings")).text)
    assert secret not in page.text
    actions = [e.attributes.get("action", "") for e in page.walk()]
    action = next(each for each in actions if re.fullmatch(r"/settings/tokens/.*/revoke", each))
    assert (await client.post(action)).status_code == 303
    assert (await client.get("/api/v1/runs", headers=headers)).status_code == 401


async def test_a_token_without_a_name_is_refused_beside_its_field(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.post("/settings/tokens", data={"name": " ", "scope": "admin"})
    assert answer.status_code == 422
    page = parse(answer.text)
    assert page.labelled("Name").attributes["aria-invalid"] == "true"
