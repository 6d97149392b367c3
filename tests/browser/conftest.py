"""Real Chromium against a real server on loopback with a seeded database."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import uvicorn
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from app.db import Database
from app.main import create_app
from app.settings import ROOT, Settings
from app.web.deps import SESSION_COOKIE
from tests.conftest import sqlite_copy
from tests.web.seed import Seeded, seed

ARTEFACTS = ROOT / "artefacts"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
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


@dataclass(frozen=True, slots=True)
class Site:
    """A served application and what is in its database."""

    url: str
    database_url: str
    seeded: Seeded


@pytest.fixture(scope="session")
def site(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    database_url = sqlite_copy(sqlite_template, folder)

    async def fill() -> Seeded:
        database = Database(database_url)
        found = await seed(database)
        await database.close()
        return found

    seeded = asyncio.run(fill())
    app = create_app(Settings(home=folder, database_url=database_url))
    config = uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Site(_url(server), database_url, seeded)
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

    async def page(self, **options: Any) -> Page:
        """A page in a fresh context in which the administrator is signed in."""
        context = await self._browser.new_context(base_url=self._site.url, **options)
        self._contexts.append(context)
        secret = self._site.seeded.session_secret
        await context.add_cookies(
            [{"name": SESSION_COOKIE, "value": secret, "url": self._site.url}]
        )
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
