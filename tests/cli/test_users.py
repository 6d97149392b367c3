"""`skydeck user`: the way back in, and to whom it leads."""

import asyncio
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from app.clock import utcnow
from app.commands.connection import service_url
from app.db import Database
from app.models import User
from app.settings import UP_FILE, Settings
from app.up.checks import LOCK_NAME
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
            f"{url}/link", data={"token": secret}, headers={"Origin": url.rpartition("/")[0]}
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


def sign_in_with(server: str, name: str, password: str) -> int:
    with httpx.Client(trust_env=False) as browser:
        form = {"name": name, "password": password}
        return browser.post(f"{server}/sign-in", data=form, headers={"Origin": server}).status_code


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a text onto standard input."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_password_is_read_never_given(
    skydeck: Skydeck, server: str, typed: Callable[[str], None]
) -> None:
    typed("four unrelated words\n")
    answer = skydeck("user", "add", "ada", "--administrator", "--password")
    assert (answer.status, answer.out, answer.err) == (0, "", "")
    assert sign_in_with(server, "ada", "four unrelated words") == 303
    typed("another four words")
    assert skydeck("user", "password", "ada").status == 0
    assert sign_in_with(server, "ada", "four unrelated words") == 401
    assert sign_in_with(server, "ada", "another four words") == 303
    assert skydeck("user", "password", "ada", "in the open").status == 2


def test_a_password_that_cannot_be_taken(skydeck: Skydeck, typed: Callable[[str], None]) -> None:
    typed("short\n")
    answer = skydeck("user", "add", "ada", "--password")
    assert answer.status == 1
    assert "at least 12 characters" in answer.err
    assert "nothing was changed" in answer.err
    assert "ada" not in skydeck("user", "list").out
    typed("four unrelated words")
    assert "no user named" in skydeck("user", "password", "nobody").err


def test_at_a_terminal_it_is_asked_for_twice(
    skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter(["four unrelated words", "four other words"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _prompt: next(said))
    answer = skydeck("user", "add", "ada", "--password")
    assert answer.status == 1
    assert "differ" in answer.err


def test_a_new_user_sets_a_password_by_a_link(skydeck: Skydeck, server: str) -> None:
    answer = skydeck("user", "add", "ada")
    assert answer.out.startswith(f"{server}/reset?token=")
    again = skydeck("user", "add", "ADA")
    assert (again.status, again.out) == (1, "")
    assert "take another name" in again.err
    form = {"token": answer.out.strip().partition("token=")[2]}
    form |= dict.fromkeys(("password", "repeat"), "four unrelated words")
    with httpx.Client(trust_env=False) as browser:
        done = browser.post(f"{server}/reset", data=form, headers={"Origin": server})
    assert done.status_code == 303
    assert sign_in_with(server, "ada", "four unrelated words") == 303


def test_roles_and_shutting_out(skydeck: Skydeck) -> None:
    skydeck("user", "add", "ada", "--administrator")
    skydeck("user", "add", "bob")
    for refused in (("disable", "ada"), ("role", "ada", "member")):
        answer = skydeck("user", *refused)
        assert answer.status == 1
        assert "only administrator" in answer.err
    assert skydeck("user", "role", "bob", "administrator").status == 0
    assert skydeck("user", "disable", "ada").status == 0
    shown = skydeck("user", "list").out
    assert "administrator, disabled" in shown
    assert shown.count("administrator") == 2
    assert skydeck("user", "enable", "ada").status == 0
    assert "disabled" not in skydeck("user", "list").out
    assert skydeck("user", "role", "bob", "king").status == 2
    assert skydeck("user", "enable", "nobody").status == 1


def test_tokens_are_listed_without_secrets_and_revoked(skydeck: Skydeck, server: str) -> None:
    secret = skydeck("token", "create", "--name", "laptop", "--days", "7").out.strip()
    shown = skydeck("token", "list").out
    assert secret not in shown
    line = next(each for each in shown.splitlines() if "laptop" in each)
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(trust_env=False, headers=headers) as client:
        assert client.get(f"{server}/api/v1/runs").status_code == 200
        assert skydeck("token", "revoke", line.split()[0]).status == 0
        assert client.get(f"{server}/api/v1/runs").status_code == 401
    assert skydeck("token", "revoke", line.split()[0]).status == 1
    assert skydeck("token", "create", "--name", "x", "--project", "nothing").status == 1
