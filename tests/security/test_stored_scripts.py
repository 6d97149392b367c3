"""Hostile text in every field, log line and metric key, opened in real Chromium: nothing runs."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from playwright.async_api import Browser, Page

from app.access.principal import Actor
from app.clusters import service as clusters
from app.db import Database
from app.main import create_app
from app.metrics.ingest import MetricPoint, ingest
from app.outgoing import service as outgoing
from app.projects import service as projects
from app.runs import service as runs
from app.settings import Settings
from app.sharing import service as sharing
from app.users import service as users
from app.web.deps import SESSION_COOKIE
from tests.browser.conftest import opened, serving
from tests.conftest import sqlite_copy
from tests.episodes.factories import add_rollouts
from tests.evaluations.factories import add_endpoint, add_played
from tests.factories import make_promotion
from tests.playground.factories import add_episode, said
from tests.security.hostile import PAYLOADS, poison
from tests.sweeps.factories import make_sweep
from tests.web.seed import add_log, seed

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MALLORY = Actor(PAYLOADS[0], "user:mallory", address=PAYLOADS[1][:60])
PARAMETER = re.compile(r"\{(\w+)\}")
# Streams never end, and are fetched by the pages themselves.
STREAMS = {"/runs/{slug}/stream", "/runs/{slug}/log/stream", "/playground/{slug}/stream"}
PLAIN = {"text/plain", "text/csv", "application/zip", "application/json"}
ROLLOUT = "/runs/{slug}/attempts/{attempt}/evaluations/{step}/{number}"
DOWNLOADS = {
    "/runs.csv",
    "/compare/report.html",
    "/runs/{slug}/log.txt",
    "/evaluations/{slug}/episodes.csv",
    "/runs/{slug}/package.zip",
    "/playground/{slug}/export.{kind}",
    "/settings/audit.{kind}",
    "/projects/{slug}/audit.{kind}",
}


@dataclass(frozen=True, slots=True)
class Poisoned:
    """A served application full of hostile text, and the paths of all its pages."""

    url: str
    secret: str
    paths: list[str]
    downloads: list[str]


@pytest.fixture(scope="module")
def poisoned(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Poisoned]:
    folder = tmp_path_factory.mktemp("hostile")
    database_url = sqlite_copy(sqlite_template, folder)

    async def prepare() -> tuple[str, dict[str, list[str]]]:
        async with opened(database_url) as database:
            return await fill(database)

    secret, names = asyncio.run(prepare())
    paths = pages(Settings(home=folder, database_url=database_url), names)
    downloads = [path for each in sorted(DOWNLOADS) for path in filled(each, names)]
    with serving(folder, database_url) as url:
        yield Poisoned(url, secret, paths, downloads)


async def fill(database: Database) -> tuple[str, dict[str, list[str]]]:
    """One thing of each kind, then a payload in each of its texts."""
    seeded = await seed(database)
    async with database.write() as session:
        home = await projects.ensure_default(session)
        outside = await runs.create_external(
            session,
            project=home,
            name="outside",
            actor=MALLORY,
            config={payload: payload for payload in PAYLOADS},
            tags=["x"],
        )
        points = [MetricPoint(payload, 1, 1.0, 0.0) for payload in PAYLOADS]
        await ingest(session, outside.id, 1, points)
        failed = await runs.get(session, seeded.failed)
        lines = "".join(f"{payload}\n" for payload in PAYLOADS)
        await add_log(session, failed, failed.attempts[0], lines.encode())
        await add_rollouts(session, outside, PAYLOADS)
        _, shared = await sharing.create(session, failed, actor=MALLORY)
        episode = await add_episode(session, home.id, [*said("right", "up"), *PAYLOADS[:3]])
        _, watched = await sharing.create(session, episode, actor=MALLORY)
        await outgoing.allow(session, host="10.0.0.0/8", reason="x", actor=MALLORY)
        experiment, project = failed.experiment.slug, home.slug
        promotion = await make_promotion(session, failed)
        adapter, checkpoint = promotion.adapter.slug, promotion.adapter.checkpoint.slug
        await add_endpoint(session, *PAYLOADS)
        evaluation = (await add_played(session, home, *PAYLOADS[:2])).slug
        sweep = (await make_sweep(session, experiment=failed.experiment, runs=2)).slug
        cluster = (await clusters.ensure_embedded(session)).slug
        [user] = await users.list_users(session)
    async with database.write() as session:
        assert await poison(session) > 20
    return seeded.session_secret, {
        "/runs/{slug}": [seeded.failed, seeded.queued, outside.slug],
        "/runs/{slug}/attempts/{attempt}": ["1"],
        "/runs/{slug}/attempts/{attempt}/evaluations/{step}": ["7"],
        "/runs/{slug}/attempts/{attempt}/evaluations/{step}/{number}": ["1"],
        f"{ROLLOUT}/pictures/{{lane}}": ["1"],
        f"{ROLLOUT}/pictures/{{lane}}/{{turn}}": ["1"],
        "/experiments/{slug}": [experiment],
        "/experiments/{slug}/versions/{version}": ["1"],
        "/sweeps/{slug}": [sweep],
        "/evaluations/{slug}": [evaluation],
        "/checkpoints/{slug}": [checkpoint],
        "/promotions/{slug}": [promotion.slug],
        "/adapters/{slug}": [adapter],
        "/projects/{slug}": [project],
        "/shared/{secret}": [shared, watched],
        "/shared/{secret}/pictures/{lane}": ["1"],
        "/shared/{secret}/pictures/{lane}/{turn}": ["1"],
        "/playground/{slug}": [episode.slug],
        "/playground/{slug}/pictures/{lane}": ["1"],
        "/playground/{slug}/pictures/{lane}/{turn}": ["1"],
        "/playground/{slug}/export.{kind}": ["json"],
        "/clusters/{slug}": [cluster],
        "/endpoints/{slug}": ["fake"],
        "/settings/users/{user_id}": [str(user.id)],
        "/projects/{slug}/secrets/{name}": [PAYLOADS[1].replace("/", "")],
        "/settings/secrets/{name}": [PAYLOADS[1].replace("/", "")],
        "/settings/audit.{kind}": ["csv"],
        "/projects/{slug}/audit.{kind}": ["csv"],
    }


def pages(settings: Settings, names: dict[str, list[str]]) -> list[str]:
    """The address of every page, with something hostile that it is about."""
    found = []
    for route in iter_route_contexts(create_app(settings).routes):
        path = str(route.path)
        is_page = "GET" in (route.methods or ()) and not path.startswith(("/api/", "/static"))
        if is_page and path not in STREAMS | DOWNLOADS:
            found += filled(path, names)
    compared = "&".join(f"run={slug}" for slug in names["/runs/{slug}"])
    found += [f"/compare{part}?{compared}&group=tag" for part in ("", "/statistics", "/runs")]
    found.append(f"/runs/selected?{compared}&action=untag")
    charts = urlencode([("run", names["/runs/{slug}"][-1]), *(("key", each) for each in PAYLOADS)])
    found.append(f"/charts?{charts}&x=metric:{quote(PAYLOADS[0])}")
    return [*found, f"/runs?q={PAYLOADS[1]}", f"/sign-in?next={PAYLOADS[5]}", f"/x{PAYLOADS[1]}"]


def filled(path: str, names: dict[str, list[str]]) -> list[str]:
    """The path with each of the values of its parameters. Raises `KeyError` for unknown ones."""
    paths = [path]
    for match in PARAMETER.finditer(path):
        values = names[path[: match.end()]]
        paths = [each.replace(match[0], value, 1) for each in paths for value in values]
    return paths


async def test_no_script_runs_on_any_page(browser: Browser, poisoned: Poisoned) -> None:
    context = await browser.new_context(base_url=poisoned.url)
    cookie: Any = {"name": SESSION_COOKIE, "value": poisoned.secret, "url": poisoned.url}
    await context.add_cookies([cookie])
    page = await context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{page.url}: {message.text}"))
    page.on("dialog", lambda dialog: complaints.append(f"{page.url}: a dialog {dialog.message}"))
    for path in poisoned.paths:
        await open_page(page, path, complaints)
    await context.close()
    surprises = [each for each in complaints if is_surprise(each)]
    assert not surprises, "\n".join(surprises)


async def open_page(page: Page, path: str, complaints: list[str]) -> None:
    answer = await page.goto(path, wait_until="load", timeout=60_000)
    assert answer is not None
    if answer.status >= 500:
        complaints.append(f"{path}: answered {answer.status}, Content Security Policy unknown")
    # Whatever the page's own scripts build from the data is there after they ran.
    await page.wait_for_timeout(150)
    hit = await page.evaluate("window.hit")
    if hit is not None:
        complaints.append(f"{path}: a dialog or script ran: {hit}")


def is_surprise(complaint: str) -> bool:
    return any(sign in complaint for sign in ("Content Security Policy", "dialog", "SyntaxError"))


async def test_downloads_are_never_pages(poisoned: Poisoned) -> None:
    cookies = {SESSION_COOKIE: poisoned.secret}
    async with httpx.AsyncClient(base_url=poisoned.url, cookies=cookies) as client:
        for path in poisoned.downloads:
            answer = await client.get(path)
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            if answer.status_code == 404:
                continue
            name = answer.headers["Content-Disposition"]
            assert re.fullmatch(r'attachment; filename="[\w.-]+"', name), path
            assert answer.headers["Content-Type"].split(";")[0] in PLAIN
