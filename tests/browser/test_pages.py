"""Each page: no violation of axe's rules in light and dark, no sideways scrolling on a phone."""

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

from tests.browser.conftest import ARTEFACTS, Site, Watch

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
MODES = {
    "light": {"color_scheme": "light", "viewport": DESK},
    "dark": {"color_scheme": "dark", "viewport": DESK},
    "phone": {"color_scheme": "light", "viewport": PHONE},
}
PAGES = {
    "runs": "/runs",
    "run": "/runs/{running}",
    "run-succeeded": "/runs/{succeeded}",
    "run-failed": "/runs/{failed}",
    "run-queued": "/runs/{queued}",
    "chart": "/runs/{running}/charts/policy/grad_norm",
    "log": "/runs/{running}/log",
    "config": "/runs/{running}/config",
    "timeline": "/runs/{running}/timeline",
    "stop": "/runs/{running}/stop",
    "new-run": "/runs/new",
    "experiments": "/experiments",
    "clusters": "/clusters",
    "settings": "/settings",
    "keys": "/help/keys",
    "sign-in-link": "/sign-in?token=x",
    "not-found": "/nothing-here",
}


def path_of(name: str, site: Site) -> str:
    seeded = site.seeded
    return PAGES[name].format(
        running=seeded.running,
        succeeded=seeded.succeeded,
        failed=seeded.failed,
        queued=seeded.queued,
    )


async def check(page: Page, name: str) -> None:
    """Waits for what is drawn, keeps a picture, and asks axe with all of its rules.

    On a phone the elements and colours are those of the light page: only the width is asked.
    """
    await page.wait_for_load_state("load")
    if await page.locator("#hero-chart, [data-inline]").count():
        await page.wait_for_selector(".js-plotly-plot .main-svg")
    await page.screenshot(path=ARTEFACTS / f"{name}.png")
    if not name.endswith("phone"):
        results = await Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
    width = await page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"] if page.viewport_size else False


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("name", list(PAGES))
async def test_page(watch: Watch, site: Site, name: str, mode: str) -> None:
    page = await watch.page(**MODES[mode])
    await page.goto(path_of(name, site))
    await check(page, f"{name}-{mode}")


@pytest.mark.parametrize("mode", list(MODES))
async def test_refused_form(watch: Watch, mode: str) -> None:
    page = await watch.page(**MODES[mode])
    await page.goto("/runs/new")
    await page.get_by_label("Training steps").fill("many")
    await page.get_by_role("button", name="Launch run").click()
    await page.get_by_role("alert").wait_for()
    watch.complaints = [text for text in watch.complaints if "422" not in text]
    await check(page, f"new-run-refused-{mode}")


@pytest.mark.parametrize("mode", list(MODES))
async def test_sheets(watch: Watch, site: Site, mode: str) -> None:
    page = await watch.page(**MODES[mode])
    await page.goto(path_of("timeline", site))
    await page.get_by_role("link", name="Stop run").click()
    await page.get_by_role("dialog", name="Stop this run?").wait_for()
    await check(page, f"stop-sheet-{mode}")
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")
    await page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    await check(page, f"keys-sheet-{mode}")
