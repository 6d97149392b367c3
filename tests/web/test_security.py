import re

import httpx
import pytest

from app.db import Database
from app.main import create_app
from app.settings import Settings
from app.web.csp import POLICY
from tests.web.html import parse
from tests.web.seed import Seeded


def page_paths(seeded: Seeded) -> list[str]:
    run = f"/runs/{seeded.running}"
    tabs = ("", "/log", "/config", "/timeline", "/stop", "/status", "/mazes", "/charts")
    return [
        *(run + tab for tab in tabs),
        f"/runs/{seeded.failed}",
        f"/runs/{seeded.queued}",
        f"{run}/chart?key=timing/step",
        *("/", "/runs", "/runs/new", "/runs/new/yaml", "/runs/new/changes", "/runs/new/package"),
        *("/experiments", "/clusters"),
        *("/settings", "/help/keys", "/sign-in", "/sign-in?token=x", "/nothing-here"),
    ]


async def test_every_page_carries_the_policy_and_no_inline_script(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    for path in page_paths(seeded):
        answer = await client.get(path)
        assert answer.headers["Content-Security-Policy"] == POLICY, path
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        for element in parse(answer.text).walk():
            names = [n for n in element.attributes if n.startswith(("on", "hx-on"))]
            assert not names, f"{path}: {names}"
            is_data = element.attributes.get("type") == "application/json"
            if element.tag == "script" and not is_data:
                assert "src" in element.attributes, path
            assert element.tag != "style", path


def test_the_policy_lets_no_inline_script_run() -> None:
    script = re.search(r"script-src ([^;]*)", POLICY)
    assert script is not None
    assert script[1] == "'self'"


async def test_static_files_and_refusals_carry_the_policy_too(stranger: httpx.AsyncClient) -> None:
    for answer in (
        await stranger.get("/static/css/base.css"),
        await stranger.post("/sign-out", headers={"Origin": "https://elsewhere.test"}),
    ):
        assert answer.headers["Content-Security-Policy"] == POLICY


async def test_a_stranger_is_led_to_sign_in_and_back(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get("/runs?q=lora")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/sign-in?next=%2Fruns%3Fq%3Dlora"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303),
        ({"Origin": "http://skydeck.test"}, 303),
        ({"Sec-Fetch-Site": "same-origin"}, 303),
        ({"Sec-Fetch-Site": "none"}, 303),
        ({"Origin": "https://elsewhere.test"}, 403),
        ({"Origin": "http://skydeck.test:81"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://skydeck.test"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
async def test_requests_from_other_sites_change_nothing(
    client: httpx.AsyncClient, seeded: Seeded, headers: dict[str, str], status: int
) -> None:
    answer = await client.post(f"/runs/{seeded.running}/stop", headers=headers)
    assert answer.status_code == status
    page = await client.get(f"/runs/{seeded.running}")
    assert ("Stopping" in page.text) == (status == 303)


async def test_an_error_page_says_what_happened_what_was_kept_and_what_to_do(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.get("/runs/run-nothing1")
    assert answer.status_code == 404
    page = parse(answer.text)
    assert page.one("heading", "Nothing here")
    assert "There is no run run-nothing1." in page.text
    assert "Nothing was changed." in page.text


async def test_a_mistake_of_ours_is_a_page_with_a_reference(
    settings: Settings, sqlite_database: Database, client: httpx.AsyncClient
) -> None:
    async def breaks() -> None:
        raise RuntimeError("secret detail")

    # One of its own: no other test may find this route.
    app = create_app(settings, sqlite_database)
    app.add_api_route("/breaks", breaks)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(
        transport=transport, base_url=client.base_url, cookies=client.cookies
    ) as browser:
        answer = await browser.get("/breaks")
    assert answer.status_code == 500
    assert "secret detail" not in answer.text
    assert re.search(r"err-[a-z0-9]{8}", answer.text)
    assert answer.headers["Content-Security-Policy"] == POLICY


async def test_errors_of_the_api_stay_json(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/runs")
    assert answer.status_code == 401
    assert answer.headers["Content-Type"] == "application/problem+json"
