"""Attacks on a live server, over its socket, as somebody signed in is tricked into or does them."""

import asyncio
import csv
import gzip
import io
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import func, select

from app.access.coverage import guards_of
from app.access.permissions import Scope
from app.main import create_app
from app.models import AuditEntry
from app.settings import Settings
from app.users import service as users
from app.web.deps import SESSION_COOKIE
from tests.api.helpers import V1, bearer, make_token
from tests.browser.conftest import opened, serving
from tests.conftest import sqlite_copy
from tests.security.test_stored_scripts import PARAMETER
from tests.web.seed import seed, sign_in

FORMULA = "=HYPERLINK(1)"
SAFE = {"GET", "HEAD", "OPTIONS", "MOUNT"}
TRAVERSALS = (
    "/static/../app/settings.py",
    "/static/%2e%2e/app/settings.py",
    "/static/..%2fapp/settings.py",
    "/static/css/..%5c..%5capp/settings.py",
    "/static//etc/passwd",
    "/static/%2fetc%2fpasswd",
    "/runs/..%2f..%2fetc%2fpasswd/log.txt",
    "/shared/..%2f..%2fsecret.keys",
    "/api/v1/runs/..%2f..%2fsecret.keys/logs.txt",
)


@dataclass(frozen=True, slots=True)
class Live:
    url: str
    database_url: str
    session: str
    token: str
    formula: str
    running: str
    routes: list[tuple[str, str]]


@pytest.fixture(scope="module")
def live(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("live")
    database_url = sqlite_copy(sqlite_template, folder)

    async def fill() -> tuple[str, str, str, str]:
        async with opened(database_url) as database:
            seeded = await seed(database)
            token = await make_token(database, Scope.ADMIN)
            return (
                seeded.session_secret,
                token,
                await make_token(database, Scope.ADMIN, FORMULA),
                seeded.running,
            )

    session, token, formula, running = asyncio.run(fill())
    settings = Settings(home=folder, database_url=database_url)
    routes = [(method, path) for method, path in guards_of(create_app(settings))]
    with serving(folder, database_url, requests_per_minute=1_000_000) as url:
        yield Live(url, database_url, session, token, formula, running, routes)


@pytest.fixture
def browser_of_admin(live: Live) -> Iterator[httpx.Client]:
    cookies = {SESSION_COOKIE: live.session}
    with httpx.Client(base_url=live.url, cookies=cookies, trust_env=False, timeout=30) as client:
        yield client


def changes(live: Live) -> int:
    """Rows of the audit log: whatever changes something writes one."""

    async def count() -> int:
        async with opened(live.database_url) as database, database.read() as session:
            return await session.scalar(select(func.count(AuditEntry.id))) or 0

    return asyncio.run(count())


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.test"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"},
    ],
)
def test_no_route_takes_a_change_from_another_site(
    live: Live, browser_of_admin: httpx.Client, headers: dict[str, str]
) -> None:
    before = changes(live)
    asked = [each for each in live.routes if each[0] not in SAFE and V1 not in each[1]]
    assert asked
    for method, path in asked:
        address = PARAMETER.sub(live.running, path)
        answer = browser_of_admin.request(method, address, headers=headers, data={"a": "b"})
        assert answer.status_code == 403, (method, path)
    assert changes(live) == before


def test_a_cookie_signs_in_to_no_api(live: Live, browser_of_admin: httpx.Client) -> None:
    for method, path in live.routes:
        if path.startswith(V1) and "openapi" not in path:
            answer = browser_of_admin.request(method, PARAMETER.sub(live.running, path), json={})
            assert answer.status_code == 401, (method, path)


def test_no_answer_can_be_framed_sniffed_or_kept(
    live: Live, browser_of_admin: httpx.Client
) -> None:
    for method, path in live.routes:
        if method != "GET" or path.endswith("/stream"):
            continue
        with browser_of_admin.stream("GET", PARAMETER.sub(live.running, path)) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "frame-ancestors 'none'" in policy, path
            assert "script-src 'self';" in policy, path
            assert answer.headers["X-Content-Type-Options"] == "nosniff", path
            assert answer.headers["Referrer-Policy"] in {"same-origin", "no-referrer"}, path
            if answer.headers.get("Content-Type", "").startswith("text/html"):
                assert "no-store" in answer.headers["Cache-Control"], path


def test_a_planted_session_is_never_adopted(live: Live) -> None:
    async def link() -> str:
        async with opened(live.database_url) as database:
            await sign_in(database)
            async with database.write() as session:
                return await users.create_link_for(session, "admin")

    secret = asyncio.run(link())
    with httpx.Client(base_url=live.url, trust_env=False) as victim:
        victim.cookies.set(SESSION_COOKIE, "planted")
        answer = victim.post("/sign-in/link", data={"token": secret})
        assert answer.status_code == 303
        assert answer.cookies[SESSION_COOKIE] != "planted"
    with httpx.Client(base_url=live.url, trust_env=False) as thief:
        thief.cookies.set(SESSION_COOKIE, "planted")
        assert thief.get("/settings").status_code == 303


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leads_out_of_its_folder(live: Live, path: str) -> None:
    # Straight onto the socket: HTTP clients clean paths before they send them.
    answer = spoken(
        live, f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {live.token}\r\n"
    )
    status = int(answer.split(b" ", 2)[1])
    assert status in (303, 400, 404), answer[:200]
    assert b"root:" not in answer
    assert b"BaseSettings" not in answer


@pytest.mark.parametrize(
    "place",
    [
        "/x\r\nSet-Cookie: stolen=1",
        "//elsewhere.test",
        "/\\elsewhere.test",
        "https://elsewhere.test",
    ],
)
def test_redirects_stay_here_and_add_no_header(
    live: Live, browser_of_admin: httpx.Client, place: str
) -> None:
    for answer in (
        browser_of_admin.get("/sign-in", params={"next": place}),
        browser_of_admin.post("/preferences/theme", data={"value": "dark", "back": place}),
    ):
        assert answer.status_code == 303
        assert answer.headers["Location"] == "/"
        assert "stolen" not in str(answer.headers.raw)


def test_a_formula_is_text_in_an_export(live: Live, browser_of_admin: httpx.Client) -> None:
    body = {"name": "outside", "tags": [FORMULA]}
    made = httpx.post(
        f"{live.url}{V1}/runs/external", json=body, headers=bearer(live.formula), trust_env=False
    )
    assert made.status_code == 201
    text = browser_of_admin.get("/settings/audit.csv").text
    rows = list(csv.reader(io.StringIO(text)))
    assert any(f"'{FORMULA}" in row for row in rows)
    cells = [cell for row in rows[1:] for cell in row if cell]
    assert not [cell for cell in cells if cell[0] in "=+-@\t\r"]


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (gzip.compress(bytes(200_000_000), 9, mtime=0), {"Content-Encoding": "gzip"}),
        (b"[" * 500_000, {}),
        (b'{"points":' + b'{"a":' * 100_000, {}),
        (b'{"points": [{"key": "a", "step": ' + b"9" * 900_000 + b', "value": 1}]}', {}),
        (b"\xff\xfe" * 1_000, {}),
    ],
    ids=["gzip-bomb", "deep-list", "deep-object", "long-number", "no-text"],
)
def test_bombs_are_refused_and_the_server_goes_on(
    live: Live, content: bytes, headers: dict[str, str]
) -> None:
    sent = {**bearer(live.token), "Content-Type": "application/json", **headers}
    address = f"{live.url}{V1}/runs/{live.running}/metrics"
    answer = httpx.post(address, content=content, headers=sent, timeout=10, trust_env=False)
    assert 400 <= answer.status_code < 500
    assert answer.json()["detail"]
    assert httpx.get(f"{live.url}/healthz", timeout=5, trust_env=False).json() == {"status": "ok"}


def test_a_huge_head_is_refused(live: Live) -> None:
    lines = "".join(f"X-{number}: {'a' * 8_000}\r\n" for number in range(40))
    answer = spoken(live, f"GET /healthz HTTP/1.1\r\nHost: x\r\n{lines}")
    assert b" 200 " not in answer[:20]
    assert httpx.get(f"{live.url}/healthz", trust_env=False).json() == {"status": "ok"}


def test_a_form_of_many_fields_is_refused(browser_of_admin: httpx.Client) -> None:
    form = {f"field{number}": "x" for number in range(5_000)}
    answer = browser_of_admin.post("/settings/tokens", data=form)
    assert 400 <= answer.status_code < 500


def test_a_problem_never_quotes_what_signs_in(live: Live) -> None:
    address = f"{live.url}{V1}/runs/{live.token}"
    answer = httpx.get(address, headers=bearer(live.token + "x"), trust_env=False)
    assert answer.status_code == 401
    assert live.token not in json.dumps(answer.json())


def spoken(live: Live, head: str) -> bytes:
    """What the server answers to a request's head, all of it; nothing if it hangs up."""
    place = urlsplit(live.url)
    assert place.hostname
    assert place.port
    with socket.create_connection((place.hostname, place.port), timeout=20) as line:
        found = b""
        # Whoever is refused early finds the line closed.
        with suppress(BrokenPipeError, ConnectionResetError):
            line.sendall(f"{head}Connection: close\r\n\r\n".encode())
            while piece := line.recv(65_536):
                found += piece
    return found
