"""`skydeck user`: the way back in, and to whom it leads."""

import asyncio
import json
import os
from pathlib import Path

import httpx
import pytest

from app.clock import utcnow
from app.commands.local import service_url
from app.db import Database
from app.models import User
from app.settings import Settings
from app.up.checks import LOCK_NAME, UP_FILE
from app.web.deps import SESSION_COOKIE
from tests.cli.conftest import Skydeck


def add_users(home: Path, *users: User) -> None:
    async def add() -> None:
        database = Database(f"sqlite+aiosqlite:///{home / 'skydeck.db'}")
        async with database.write() as session:
            session.add_all(users)
        await database.close()

    asyncio.run(add())


def sign_in(link: str) -> httpx.Response:
    url, _, secret = link.strip().partition("?token=")
    with httpx.Client(trust_env=False) as browser:
        looked = browser.get(link.strip()).status_code
        answer = browser.post(
            url, data={"token": secret}, headers={"Origin": url.rpartition("/")[0]}
        )
    assert looked == (200 if answer.is_redirect else 401)
    return answer


@pytest.mark.parametrize("arguments", [(), ("ada",)])
def test_a_link_signs_in_once(
    skydeck: Skydeck, home: Path, server: str, arguments: tuple[str, ...]
) -> None:
    add_users(home, User(name="ada", is_admin=True, created_at=utcnow()))
    answer = skydeck("user", "link", *arguments)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(f"{server}/sign-in")
    assert len(answer.out.split()) == 1
    signed_in = sign_in(answer.out)
    assert signed_in.status_code == 303
    assert SESSION_COOKIE in signed_in.cookies
    assert sign_in(answer.out).status_code == 401


def test_the_first_link_of_all_makes_the_administrator(skydeck: Skydeck, server: str) -> None:
    assert sign_in(skydeck("user", "link").out).status_code == 303
    assert skydeck("user", "list").out.splitlines()[1].startswith("admin  administrator")


def test_a_link_goes_to_the_address_that_is_given(
    skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYDECK_URL", "https://sky.example/")
    assert skydeck("user", "link").out.startswith("https://sky.example/sign-in?token=")


def test_nobody_of_that_name(skydeck: Skydeck, home: Path) -> None:
    add_users(home, User(name="ada", is_admin=True, created_at=utcnow(), disabled_at=utcnow()))
    for arguments in (("bob",), ("ada",), ()):
        answer = skydeck("user", "link", *arguments)
        assert (answer.status, answer.out) == (1, "")
        assert "skydeck user list" in answer.err


def test_the_list_says_who_may_do_what(skydeck: Skydeck, home: Path) -> None:
    add_users(
        home,
        User(name="ada", is_admin=True, created_at=utcnow()),
        User(name="bob", is_admin=False, created_at=utcnow(), disabled_at=utcnow()),
    )
    lines = [line.split("  ") for line in skydeck("user", "list").out.splitlines()]
    assert [line[0].strip() for line in lines] == ["NAME", "ada", "bob"]
    assert "member, disabled" in skydeck("user", "list").out


def test_the_address_is_that_of_the_running_service(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, port=8000)
    assert service_url(settings) == "http://127.0.0.1:8000"
    (tmp_path / UP_FILE).write_text(json.dumps({"url": "http://127.0.0.1:4711"}))
    assert service_url(settings) == "http://127.0.0.1:8000"
    (tmp_path / LOCK_NAME).write_text(str(os.getpid()))
    assert service_url(settings) == "http://127.0.0.1:4711"
    for text in ("", "[]", '{"url": 3}', "{"):
        (tmp_path / UP_FILE).write_text(text)
        assert service_url(settings) == "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("host", "shown"),
    [("::", "[::1]"), ("::1", "[::1]"), ("0.0.0.0", "127.0.0.1"), ("sky.local", "sky.local")],
)
def test_addresses_that_can_be_called(tmp_path: Path, host: str, shown: str) -> None:
    settings = Settings(home=tmp_path, host=host, port=80)
    assert service_url(settings) == f"http://{shown}:80"
