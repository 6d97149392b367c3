"""What scripts add: charts that grow under a kept zoom, a followed log, keys, theme."""

import asyncio

import pytest
from playwright.async_api import Page, Route, expect

from app.clock import utcnow
from app.models import RunStatus
from app.runs import service as runs
from app.runs.states import transition
from tests.browser.conftest import Site, Watch, opened
from tests.web.seed import add_evaluation, add_log, add_points, add_run, step_block

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

POINTS_DRAWN = """key => {
  const chart = document.querySelector(`[data-panel][data-key="${key}"]`);
  return chart?.data?.[0].x.length ?? 0;
}"""
HERO_DRAWN = "() => document.getElementById('hero-chart').data?.[2].x.length ?? 0"


async def drawn(page: Page, key: str, count: int) -> None:
    await page.wait_for_function(f"key => ({POINTS_DRAWN})(key) === {count}", arg=key)


async def live_run(site: Site, name: str) -> str:
    """A running run of this test's own, so that tests do not disturb each other."""
    async with opened(site.database_url) as database:
        return await add_run(database, name, steps=44, status="running", age=20)


async def advance(site: Site, slug: str, first: int, last: int, *, evaluated: int = 0) -> None:
    """What a worker would write for the steps from `first` to `last`."""
    async with opened(site.database_url) as database, database.write() as session:
        run = await runs.get(session, slug)
        run.step = last
        await add_points(session, run, first, last)
        log = b"".join(step_block(step, {"a": "1"}) for step in range(first, last + 1))
        await add_log(session, run, run.attempts[0], log)
        if evaluated:
            await add_evaluation(session, run, step=evaluated, solved=61)


async def finish(site: Site, slug: str) -> None:
    async with opened(site.database_url) as database, database.write() as session:
        run = await runs.get(session, slug)
        event = transition(run, RunStatus.SUCCEEDED, at=utcnow(), actor="worker", reason="observed")
        session.add(event)


async def test_charts_grow_and_a_zoom_stays(watch: Watch, site: Site) -> None:
    slug = await live_run(site, "grows")
    page = await watch.page(viewport={"width": 1440, "height": 1400})
    await page.goto(f"/runs/{slug}")
    await drawn(page, "reward/avg_raw_reward", 44)
    await page.wait_for_function(f"() => ({HERO_DRAWN})() === 3")
    box = await page.locator("#hero-chart").bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + 100, box["y"] + 100)
    await page.mouse.down()
    await page.mouse.move(box["x"] + 400, box["y"] + 104, steps=5)
    await page.mouse.up()
    zoomed = await page.evaluate("document.getElementById('hero-chart').layout.xaxis.range")
    await advance(site, slug, 45, 60, evaluated=60)
    await drawn(page, "reward/avg_raw_reward", 60)
    await page.wait_for_function(f"() => ({HERO_DRAWN})() === 4")
    after = await page.evaluate("document.getElementById('hero-chart').layout.xaxis.range")
    assert after == zoomed
    await expect(page.get_by_role("heading", name="Evaluation at step 60")).to_be_visible()
    await expect(page.locator(".words")).to_contain_text("Running step 60 of 280")


async def test_what_came_before_the_page_listened_is_shown(watch: Watch, site: Site) -> None:
    slug = await live_run(site, "was late")
    page = await watch.page(viewport={"width": 1440, "height": 1400})
    listening = asyncio.Event()

    async def hold(route: Route) -> None:
        await listening.wait()
        await route.continue_()

    await page.route("**/stream", hold)
    await page.goto(f"/runs/{slug}")
    await drawn(page, "reward/avg_raw_reward", 44)
    await advance(site, slug, 45, 60, evaluated=60)
    listening.set()
    await drawn(page, "reward/avg_raw_reward", 60)
    await page.wait_for_function(f"() => ({HERO_DRAWN})() === 4")
    await expect(page.locator(".words")).to_contain_text("Running step 60 of 280")


async def test_a_page_that_hears_nothing_says_so_and_tries_again(watch: Watch, site: Site) -> None:
    slug = await live_run(site, "breaks off")
    page = await watch.page()
    await page.route("**/stream", lambda route: route.fulfill(status=503))
    await page.goto(f"/runs/{slug}/timeline")
    paused = page.get_by_text("Live updates paused, reconnecting")
    await expect(paused).to_be_visible()
    await page.unroute("**/stream")
    await expect(paused).to_be_hidden(timeout=15_000)
    watch.complaints = [text for text in watch.complaints if "503" not in text]


async def test_the_head_is_live_on_each_tab(watch: Watch, site: Site) -> None:
    slug = await live_run(site, "on each tab")
    pages = []
    for tab in ("log", "config", "timeline"):
        page = await watch.page()
        await page.goto(f"/runs/{slug}/{tab}")
        await expect(page.get_by_role("link", name="Stop run")).to_be_visible()
        pages.append(page)
    await advance(site, slug, 45, 52)
    for page in pages:
        await expect(page.locator(".words")).to_contain_text("Running step 52 of 280")
    await finish(site, slug)
    for page in pages:
        await expect(page.locator(".words")).to_contain_text("Succeeded after")
        await expect(page.get_by_role("link", name="Stop run")).to_be_hidden()


async def test_charts_out_of_sight_are_not_drawn(watch: Watch, site: Site) -> None:
    page = await watch.page(viewport={"width": 390, "height": 600})
    await page.goto(f"/runs/{site.seeded.succeeded}")
    await page.wait_for_selector("#hero-chart .main-svg")
    last = page.locator("[data-panel]").last
    assert await last.locator(".main-svg").count() == 0
    await last.scroll_into_view_if_needed()
    await last.locator(".main-svg").first.wait_for()


async def test_the_log_is_followed_until_the_reader_looks_back(watch: Watch, site: Site) -> None:
    slug = await live_run(site, "follows")
    page = await watch.page()
    await page.goto(f"/runs/{slug}/log")
    follow = page.get_by_role("button", name="Follow")
    await expect(follow).to_have_attribute("aria-pressed", "true")
    await advance(site, slug, 45, 45)
    await expect(page.get_by_text("Step 45:")).to_be_in_viewport()
    await page.locator("[data-lines]").hover()
    await page.mouse.wheel(0, -600)
    await expect(follow).to_have_attribute("aria-pressed", "false")
    await advance(site, slug, 46, 46)
    await expect(page.get_by_text("Step 46:")).to_be_attached()
    await expect(page.get_by_text("Step 46:")).not_to_be_in_viewport()
    await page.keyboard.press("f")
    await expect(page.get_by_text("Step 46:")).to_be_in_viewport()


async def test_the_table_is_live(watch: Watch, site: Site) -> None:
    slug = await live_run(site, "is live")
    page = await watch.page()
    await page.goto("/runs?q=is+live")
    await expect(page.locator(f"#{slug}")).to_contain_text("44/280")
    await advance(site, slug, 45, 51)
    await expect(page.locator(f"#{slug}")).to_contain_text("51/280", timeout=15_000)


async def test_keys(watch: Watch, site: Site) -> None:
    page = await watch.page()
    await page.goto("/clusters")
    await page.keyboard.press("g")
    await page.keyboard.press("r")
    await page.wait_for_url("**/runs")
    await page.keyboard.press("/")
    await expect(page.locator("#find")).to_be_focused()
    await page.keyboard.type("gn?")
    await expect(page.locator("#find")).to_have_value("gn?")
    await page.locator("#find").blur()
    await page.keyboard.press("j")
    focused = page.locator("table.runs tbody tr").first.get_by_role("link")
    await expect(focused).to_be_focused()
    await page.keyboard.press("n")
    await page.wait_for_url("**/runs/new")


async def test_the_theme_is_kept(watch: Watch, site: Site) -> None:
    page = await watch.page(color_scheme="light")
    await page.goto("/clusters")
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    light = await page.evaluate(colour)
    toggle = page.locator("[data-theme-form] button")
    await toggle.click()
    await toggle.click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert await page.evaluate(colour) != light
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")


async def test_without_javascript_pages_list_launch_and_stop(watch: Watch, site: Site) -> None:
    page = await watch.page(java_script_enabled=False)
    await page.goto("/runs")
    await page.get_by_role("link", name="New run").click()
    await page.get_by_label("Experiment").fill("plain")
    await page.get_by_label("Run name").fill("plain run")
    await page.get_by_role("button", name="Launch run").click()
    await expect(page.get_by_role("heading", name="plain run")).to_be_visible()
    await expect(page.get_by_text("Run launched.")).to_be_visible()
    for tab in ("Log", "Config", "Timeline"):
        await page.get_by_role("navigation", name="Run").get_by_role("link", name=tab).click()
        await expect(page.get_by_role("heading", name="plain run")).to_be_visible()
    await page.get_by_role("link", name="Stop run").click()
    await page.get_by_role("button", name="Stop run").click()
    await expect(page.get_by_text("Queued · stopping before it started")).to_be_visible()
