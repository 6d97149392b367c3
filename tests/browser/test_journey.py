"""The whole way in real Chromium: sign in by the link, launch, watch the chart move, stop."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import ARTEFACTS
from tests.e2e.skydeck import Skydeck, running

pytestmark = [
    pytest.mark.browser,
    pytest.mark.ray,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="session"),
]

CLUSTER_MS = 240_000
RUN_MS = 180_000
EVALUATIONS = "() => document.getElementById('hero-chart').data?.[2].x.length ?? 0"


@pytest_asyncio.fixture(loop_scope="session")
async def skydeck(tmp_path: Path) -> AsyncIterator[Skydeck]:
    """The real product on a fresh home: web, worker, Ray head."""
    with running(tmp_path / "home", {}) as started:
        await asyncio.to_thread(started.wait_ready)
        yield started


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    opened = await browser.new_context(viewport={"width": 1440, "height": 900})
    yield opened
    await opened.close()


async def until_evaluated(page: Page, count: int) -> None:
    await page.wait_for_function(f"() => ({EVALUATIONS})() >= {count}", timeout=RUN_MS)


async def test_sign_in_launch_watch_stop(skydeck: Skydeck, context: BrowserContext) -> None:
    complaints: list[str] = []
    page = await context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    link = re.search(r"http://\S+/sign-in\?token=\S+", skydeck.said())
    assert link is not None

    await page.goto(link[0])
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Launch your first run")).to_be_visible()
    await page.screenshot(path=ARTEFACTS / "journey-1-start.png")

    # Pages answer while Ray still starts; the run waits for it.
    await page.get_by_role("link", name="New run").click()
    await page.get_by_label("Run name").fill("journey")
    await page.get_by_label("Evaluate every").fill("2")
    await page.get_by_role("button", name="Launch run").click()
    await expect(page.get_by_role("heading", name="journey")).to_be_visible()
    await page.screenshot(path=ARTEFACTS / "journey-2-queued.png")

    await expect(page.locator(".words")).to_contain_text("Running step", timeout=CLUSTER_MS)
    await until_evaluated(page, 1)
    before = await page.evaluate(EVALUATIONS)
    await until_evaluated(page, before + 2)
    assert await page.locator(".maze").count() >= 64
    await page.screenshot(path=ARTEFACTS / "journey-3-running.png")

    await page.get_by_role("link", name="Log").click()
    await expect(page.locator(".log-line.step").first).to_be_visible()
    await page.get_by_role("link", name="Charts").click()
    await page.get_by_role("link", name="Stop run").click()
    sheet = page.get_by_role("dialog", name="Stop this run?")
    await sheet.get_by_role("button", name="Stop run").click()
    await expect(page.locator(".words")).to_contain_text("Stopped after", timeout=RUN_MS)
    await page.screenshot(path=ARTEFACTS / "journey-4-stopped.png")

    await page.get_by_role("link", name="Timeline").click()
    await expect(page.get_by_text("Stop asked for by admin")).to_be_visible()
    assert complaints == []
