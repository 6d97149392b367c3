"""A shared run in real Chromium, signed out: drawn, legible, and alone with its own address."""

from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page

from app.metrics.ingest import MetricPoint, ingest
from app.runs import service as runs
from tests.browser.conftest import Site, Watch, opened
from tests.browser.test_pages import DESK, check
from tests.sharing.links import revoke, share
from tests.web.seed import add_evaluation

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def open_shared(watch: Watch, site: Site, run: str) -> Page:
    async with opened(site.database_url) as database:
        _, secret = await share(database, run)
    page = await watch.page(is_signed_in=False, viewport=DESK)
    await page.clock.install()
    await page.goto(f"/shared/{secret}")
    return page


@pytest.mark.parametrize("name", ["running", "succeeded", "failed", "queued"])
async def test_it_can_be_read_by_anybody(watch: Watch, site: Site, name: str) -> None:
    page = await open_shared(watch, site, getattr(site.seeded, name))
    await page.clock.resume()
    await check(page, f"shared-{name}")


async def test_a_link_that_shows_nothing(watch: Watch) -> None:
    page = await watch.page(is_signed_in=False, viewport=DESK)
    await page.goto("/shared/unknown")
    await page.get_by_role("heading", name="This link shows nothing").wait_for()
    await check(page, "shared-gone")


async def test_it_asks_for_its_own_address_only(watch: Watch, site: Site) -> None:
    asked: list[str] = []
    page = await watch.page(is_signed_in=False, viewport=DESK)
    page.on("request", lambda request: asked.append(request.url))
    async with opened(site.database_url) as database:
        _, secret = await share(database, site.seeded.running)
    await page.goto(f"/shared/{secret}")
    await page.locator("#charts .js-plotly-plot").first.wait_for()
    paths = [urlsplit(url).path for url in asked]
    assert f"/shared/{secret}/points" in paths
    assert [path for path in paths if not path.startswith(("/static/", f"/shared/{secret}"))] == []


async def test_no_key_leads_into_the_application(watch: Watch, site: Site) -> None:
    page = await open_shared(watch, site, site.seeded.succeeded)
    before = page.url
    for key in ("g", "r", "n", "/", "?"):
        await page.keyboard.press(key)
    assert page.url == before
    assert await page.get_by_role("dialog").count() == 0


async def test_it_follows_a_run_that_goes_on(watch: Watch, site: Site) -> None:
    page = await open_shared(watch, site, site.seeded.running)
    chart = page.locator("[data-key='policy/grad_norm']")
    await chart.scroll_into_view_if_needed()
    await chart.locator(".main-svg").first.wait_for()
    length = "element => element.data[0].x.length"
    drawn = await chart.evaluate(length)
    assert await page.get_by_role("heading", name="Evaluation at step 80").count() == 1
    async with opened(site.database_url) as database, database.write() as session:
        run = await runs.get(session, site.seeded.running)
        run.step = 101
        at = run.created_at.timestamp()
        points = [MetricPoint("policy/grad_norm", step, 0.5, at) for step in range(101, 106)]
        await ingest(session, run.id, 1, points)
        await add_evaluation(session, run, step=100, solved=63)
    await page.clock.fast_forward(16_000)
    await page.get_by_role("heading", name="Evaluation at step 100").wait_for()
    await page.get_by_text("Running step 101 of 280").wait_for()
    await page.wait_for_function(
        "([key, n]) => document.querySelector(`[data-key='${key}']`).data[0].x.length === n",
        arg=["policy/grad_norm", drawn + 5],
    )
    hero = await page.locator("#hero-chart").evaluate("element => element.hero.step.at(-1)")
    assert hero == 100


async def test_a_link_that_is_revoked_meanwhile_says_so(watch: Watch, site: Site) -> None:
    async with opened(site.database_url) as database:
        link, secret = await share(database, site.seeded.running)
    page = await watch.page(is_signed_in=False, viewport=DESK)
    await page.clock.install()
    await page.goto(f"/shared/{secret}")
    await page.locator("#hero-chart .main-svg").first.wait_for()
    async with opened(site.database_url) as database:
        await revoke(database, site.seeded.running, link.slug)
    await page.clock.fast_forward(16_000)
    await page.get_by_role("heading", name="This link shows nothing").wait_for()
