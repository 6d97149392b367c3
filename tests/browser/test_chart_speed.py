"""Charts of fifty runs: quick to show and to update; and the numbers behind a line."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.charted import KEYS, Charted, address, grow, make_charted, panel
from tests.browser.conftest import Site, Watch
from tests.browser.test_pages import DESK

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MOST_CPU_MS_SHOWN = 2_000
MOST_CPU_MS_LIVE = 200
ALL_END_AT = """last => [...document.querySelectorAll("[data-drawn]")].every((element) =>
  !element.data || Math.max(...element.data.flatMap((trace) => trace.x)) === last)"""
MATH = """async () => {
  const { nearest, smoothed, spacing, extent } = await import("/static/js/chart_math.js");
  const step = [...Array(2000).keys()];
  const y = step.map((at) => Math.sin(at / 200) + ((at * 7919) % 13) / 13);
  const whole = smoothed({ step, x: step, y }, 0.99, 1);
  const kept = step.filter((at) => at % 3 === 0 || at < 2);
  const thin = { step: kept, x: kept, y: kept.map((at) => y[at]) };
  const thinned = smoothed(thin, 0.99, spacing(thin));
  const gap = smoothed({ x: [0, 1, 2], y: [1, null, 3] }, 0.5, 1);
  const columns = [{ x: [1, 2, 3, 4], y: [-1, null, 8, 100] }];
  return {
    apart: spacing(thin),
    differs: Math.max(...kept.map((at, i) => (at < 300 ? 0 : Math.abs(whole[at] - thinned[i])))),
    gap,
    nearest: [nearest([], 1), nearest([1, 5], 2.9), nearest([1, 5], 3.1), nearest([1, 5], 99)],
    whole: extent(columns), part: extent(columns, { from: 2, to: 3 }),
    log: extent(columns, { isLog: true, to: 1 }),
  };
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def charted(site: Site) -> Charted:
    return await make_charted(site)


@pytest.mark.parametrize("path", ["/charts", "/compare"])
async def test_fifty_runs_are_quick_to_show_and_to_update(
    browser: Browser, watch: Watch, site: Site, charted: Charted, path: str
) -> None:
    # So high that several panels of either page are drawn.
    page = await watch.page(viewport=DESK | {"height": 2_400})
    async with traced(browser, page) as shown:
        await page.goto(address(charted.many, *KEYS).replace("/charts", path))
        await panel(page, "loss").scroll_into_view_if_needed()
        await expect(panel(page, "loss")).to_have_attribute("data-drawn", "")
    drawn = page.locator("[data-panel][data-drawn]")
    await expect(drawn.nth(2)).to_be_attached()
    async with traced(browser, page) as live:
        steps = await grow(site, charted, charted.many)
        await page.wait_for_function(ALL_END_AT, arg=steps[-1], timeout=60_000)
    assert sum(shown) < MOST_CPU_MS_SHOWN
    assert max(live) < MOST_CPU_MS_LIVE


@asynccontextmanager
async def traced(browser: Browser, page: Page) -> AsyncIterator[list[float]]:
    """Gives, at its end, the CPU milliseconds of each task of the page's main thread.

    CPU time, since a machine with other work makes any task last.
    """
    tasks: list[float] = []
    await browser.start_tracing(page=page, categories=["toplevel"])
    try:
        yield tasks
    finally:
        events = json.loads(await browser.stop_tracing())["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    tasks += [
        event.get("tdur", 0) / 1000
        for event in events
        if event["name"].endswith("RunTask") and (event["pid"], event["tid"]) in threads
    ]
    assert len(tasks) > 10


async def test_a_thinned_line_is_smoothed_as_the_whole_one_is(
    watch: Watch, charted: Charted
) -> None:
    page = await watch.page()
    await page.goto(address(charted.few[:1], "a"))
    found = await page.evaluate(MATH)
    assert found["apart"] == 1
    assert found["differs"] < 0.05
    first, missing, last = found["gap"]
    assert (first, missing) == (1, None)
    assert 1 < last < 3
    assert found["nearest"] == [-1, 0, 1, 1]
    assert (found["whole"], found["part"], found["log"]) == ([-1, 100], [8, 8], None)
