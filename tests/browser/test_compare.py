"""What a comparison does in a real browser: axes that narrow, statistics that come later, a report
from the disk."""

from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browser.conftest import Site, Watch, opened
from tests.compare.factories import make_compared

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

EVIL = '</script><img src=x onerror="document.title=1">'


@pytest_asyncio.fixture(loop_scope="session")
async def address(site: Site) -> str:
    """Four runs over two keys, one with a hostile name."""
    async with opened(site.database_url) as database, database.write() as session:
        made = [
            await make_compared(
                session,
                EVIL if n == 3 else f"compared {n}",
                config={"trainer.lr": 10.0 ** (n - 6), "rank": 8 * (1 + n % 2), "seed": n},
                solved={0: range(20), 9: range(30 + 5 * n)},
                series={"loss": [1.0, 0.5, float("nan"), 0.3]},
            )
            for n in range(4)
        ]
    return "/compare?" + "&".join(f"run={run.slug}" for run in made)


async def test_an_axis_is_narrowed_by_keyboard(watch: Watch, address: str) -> None:
    page = await watch.page()
    await page.goto(address)
    await page.get_by_label("trainer.lr to").press("ArrowLeft")

    await expect(page.locator("[data-brushed]")).to_have_text("3 of 4 runs lie between")
    await expect(page.locator(".results tr.dim")).to_have_count(1)
    await expect(page.locator(".results tr.dim")).to_contain_text("img src=x")
    await expect(page.locator(".lines path.dim")).to_have_count(1)
    await page.get_by_role("link", name="Compare only these").click()
    await expect(page.locator(".run-chips li")).to_have_count(3)


async def test_an_axis_is_narrowed_by_mouse_and_taken_back(watch: Watch, address: str) -> None:
    page = await watch.page()
    await page.goto(address)
    axis = page.locator(".parallel .hit").first
    await axis.scroll_into_view_if_needed()
    box = await axis.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2
    await page.mouse.move(middle, box["y"] + box["height"] * 0.45)
    await page.mouse.down()
    await page.mouse.move(middle, box["y"] + box["height"] - 2, steps=4)
    await page.mouse.up()
    await expect(page.locator("[data-brushed]")).to_have_text("2 of 4 runs lie between")

    await page.mouse.click(middle, box["y"] + 20)
    await expect(page.locator(".results tr.dim")).to_have_count(0)
    await expect(page.get_by_role("link", name="Compare only these")).to_be_hidden()


async def test_statistics_come_later_and_mazes_are_named(watch: Watch, address: str) -> None:
    page = await watch.page(viewport={"width": 1440, "height": 1200})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(address)
    await expect(page.locator("[data-panel] .main-svg").first).to_be_visible()
    # They take the library that computes them: not before somebody looks.
    assert not [url for url in asked if "/compare/statistics" in url]

    await page.locator("#statistics").scroll_into_view_if_needed()
    await expect(page.get_by_role("heading", name="Returns")).to_be_visible()
    await page.keyboard.press("Home")
    await page.locator("#statistics").scroll_into_view_if_needed()
    assert len([url for url in asked if "/compare/statistics" in url]) == 1
    row = page.locator(".matrix tbody svg").first
    await row.hover(position={"x": 2, "y": 4})
    await expect(page.locator("[data-maze-words]")).to_have_text("Maze 0: solved by 4 of 4.")


async def test_a_report_opens_from_the_disk(
    watch: Watch, browser: Browser, address: str, tmp_path: Path
) -> None:
    page = await watch.page()
    await page.goto(address)
    async with page.expect_download() as started:
        await page.get_by_role("link", name="Report").click()
    download = await started.value
    file = tmp_path / download.suggested_filename
    await download.save_as(file)

    complaints: list[str] = []
    alone = await (await browser.new_context(offline=True)).new_page()
    alone.on("console", lambda message: complaints.append(message.text))
    alone.on("pageerror", lambda error: complaints.append(str(error)))
    await alone.goto(file.as_uri())
    await expect(alone.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    figures = await alone.locator("[data-figure]").count()
    assert await alone.locator(".js-plotly-plot").count() == figures >= 2
    assert await alone.title() == "Comparison of 4 runs · Skydeck"
    assert await alone.locator("img").count() == 0
    assert complaints == []
    await alone.context.close()


async def test_without_scripts_the_comparison_is_there(watch: Watch, address: str) -> None:
    page = await watch.page(java_script_enabled=False)
    await page.goto(address)

    await expect(page.locator(".results tbody tr")).to_have_count(4)
    await expect(page.locator(".brushes")).to_be_hidden()
    await page.get_by_role("link", name="Groups, returns and rank correlations").click()
    await expect(page.get_by_role("heading", name="Returns")).to_be_visible()
