"""Real Chromium against a real server on loopback with a seeded database."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import uvicorn
from fastapi import FastAPI
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from app.db import Database, WriteSession
from app.experiments import service as experiments
from app.main import create_app
from app.models import CheckpointKind, PromotionStatus
from app.projects import service as projects
from app.runs import service as runs
from app.secrets.vault import attach
from app.settings import ROOT, Settings
from app.web.deps import SESSION_COOKIE
from tests.conftest import sqlite_copy
from tests.episodes.factories import add_rollouts, solution, wall
from tests.evaluations.factories import add_endpoint, add_played
from tests.factories import make_checkpoint, make_promotion
from tests.playground.factories import FAILURE, add_episode, said
from tests.sweeps.factories import make_sweep
from tests.web.seed import ADMIN, HOSTILE, Seeded, seed, sign_in

ARTEFACTS = ROOT / "artefacts"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium-headless-shell")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_WAIT_SECONDS = 60
# A busy machine shows things late; what never comes is found out all the same.
expect.set_options(timeout=30_000)
SECOND = {"trainer.seed": 3, "trainer.policy.optimizer_config.lr": 0.001}


@dataclass(frozen=True, slots=True)
class Promoted:
    """Slugs of a checkpoint that was promoted, of what came of it, and of one that failed."""

    checkpoint: str
    promotion: str
    adapter: str
    failed: str


@dataclass(frozen=True, slots=True)
class Site:
    """A served application and what is in its database."""

    url: str
    database_url: str
    seeded: Seeded
    experiment: str
    sweep: str
    episode: str
    evaluation: str
    promoted: Promoted
    empty_url: str
    """The same application with no run in its database."""
    empty_secret: str


@pytest.fixture(scope="session")
def site(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    full, empty = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("empty")
    full_url, empty_url = (sqlite_copy(sqlite_template, folder) for folder in (full, empty))

    async def fill() -> tuple[Seeded, str, str, str, str, Promoted, str]:
        async with opened(full_url) as database:
            seeded = await seed(database)
            async with database.write() as session:
                run = await runs.get(session, seeded.running)
                await experiments.add_version(session, run.experiment, SECOND, actor=ADMIN)
                sweep = await make_sweep(session, experiment=run.experiment, runs=6)
                home = await projects.ensure_default(session)
                await add_endpoint(session, "maze-base", "maze-base:rank-8")
                played = await add_played(session, home, "maze-base", "maze-base:rank-8")
                answers = [*said("right", "up", "right"), HOSTILE]
                episode = await add_episode(session, home.id, answers, error=FAILURE)
                promoted = await _promoted(session, seeded.succeeded)
                failed = await runs.get(session, seeded.failed)
                walls = [wall()] * 15
                await add_rollouts(session, failed, solution(), walls, counted=[True, True])
        async with opened(empty_url) as database:
            secret = await sign_in(database)
        made = (run.experiment.slug, sweep.slug, episode.slug, played.slug, promoted)
        return seeded, *made, secret

    seeded, experiment, sweep, episode, evaluation, promoted, secret = asyncio.run(fill())
    with serving(full, full_url) as url, serving(empty, empty_url) as other:
        things = (experiment, sweep, episode, evaluation, promoted)
        yield Site(url, full_url, seeded, *things, other, secret)


async def _promoted(session: WriteSession, slug: str) -> Promoted:
    run = await runs.get(session, slug)
    await make_checkpoint(session, run, 200, kind=CheckpointKind.STATE)
    await make_checkpoint(session, run, 240, problem="adapter_config.json is missing")
    made = await make_promotion(session, run, 200)
    failed = await make_promotion(session, run, 220, status=PromotionStatus.FAILED)
    adapter = made.adapter
    return Promoted(adapter.checkpoint.slug, made.slug, adapter.slug, failed.slug)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """A database as the served application has it: its key file lies beside it."""
    database = Database(url)
    attach(database, Path(url.partition("///")[2]).with_name("secret.keys"))
    try:
        yield database
    finally:
        await database.close()


@contextmanager
def serving(
    home: Path,
    database_url: str,
    *,
    prepare: Callable[[FastAPI], None] = lambda _app: None,
    **options: Any,
) -> Iterator[str]:
    """The application on a free port of this machine, in a thread; `options` are settings."""
    app = create_app(Settings(home=home, database_url=database_url, **options))
    prepare(app)
    config = uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield _url(server)
    finally:
        server.should_exit = True
        thread.join()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        await opened.close()


class Watch:
    """Opens contexts whose pages may say nothing on the console and raise nothing."""

    def __init__(self, browser: Browser, site: Site) -> None:
        self._browser = browser
        self._site = site
        self._contexts: list[BrowserContext] = []
        self.complaints: list[str] = []

    async def page(
        self, *, is_empty: bool = False, is_signed_in: bool = True, **options: Any
    ) -> Page:
        """A page in a fresh context in which the administrator is signed in."""
        site = self._site
        url = site.empty_url if is_empty else site.url
        context = await self._browser.new_context(base_url=url, **options)
        self._contexts.append(context)
        if is_signed_in:
            secret = site.empty_secret if is_empty else site.seeded.session_secret
            await context.add_cookies([{"name": SESSION_COOKIE, "value": secret, "url": url}])
        page = await context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._listen)
        return page

    async def close(self) -> None:
        for context in self._contexts:
            await context.close()

    def _listen(self, message: Any) -> None:
        # A page that is an error by purpose is reported by the browser as a failed load.
        if message.type in ("error", "warning") and "404 (Not Found)" not in message.text:
            self.complaints.append(message.text)


@pytest_asyncio.fixture(loop_scope="session")
async def watch(browser: Browser, site: Site) -> AsyncIterator[Watch]:
    opened = Watch(browser, site)
    yield opened
    await opened.close()
    assert opened.complaints == []


def _url(server: uvicorn.Server) -> str:
    until = time.monotonic() + _WAIT_SECONDS
    while not server.started and time.monotonic() < until:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    assert httpx.get(f"{url}/sign-in").status_code == 200
    return url
