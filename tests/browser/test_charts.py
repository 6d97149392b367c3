"""Boards of charts: shared axis, zoom and crosshair, legend, exports; quick with fifty runs."""

import csv
import html
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from app.metrics.columns import Columns
from app.metrics.ingest import ingest_columns
from app.models import RunStatus
from app.runs import service as runs
from tests.browser.conftest import Site, Watch, opened
from tests.browser.test_pages import DESK, check
from tests.factories import make_external_run

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

STEPS = 2_000
KEYS = ("loss", "reward/mean", "policy/kl", "a", "b", "c")
MANY = 50
MOST_CPU_MS_SHOWN = 2_000
MOST_CPU_MS_LIVE = 200
DRAWN = "element => element.data ? element.data[0].x.length : 0"
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
ALL_END_AT = """last => [...document.querySelectorAll("[data-drawn]")].every((element) =>
  !element.data || Math.max(...element.data.flatMap((trace) => trace.x)) === last)"""
NAMES = ("plain", "<b>bold</b>", "third")


@dataclass(frozen=True, slots=True)
class Charted:
    """Runs that go on, with long series; some values of `loss` are no numbers."""

    few: tuple[str, ...]
    many: tuple[str, ...]
    steps: Iterator[int]
    """Where the next points begin: tests come in any order, steps do not."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def charted(site: Site) -> AsyncIterator[Charted]:
    async with opened(site.database_url) as database:
        slugs = []
        for number in range(MANY):
            async with database.write() as session:
                name = NAMES[number] if number < len(NAMES) else f"seed {number}"
                run = await make_external_run(session, name=name)
                run.status = RunStatus.RUNNING
                await ingest_columns(session, run.id, 1, series(number, 1, STEPS))
                slugs.append(run.slug)
        async with database.write() as session:
            # The third was resumed, and went another way from step 1,500 on.
            run = await runs.get(session, slugs[2])
            await ingest_columns(session, run.id, 2, series(7, 1_500, 1_800))
    yield Charted(tuple(slugs[:3]), tuple(slugs), count(3_000, 100))


def series(seed: int, first: int, last: int) -> dict[str, Columns]:
    random = np.random.default_rng(seed)
    steps = np.arange(first, last + 1, dtype=np.int64)
    times = (1_790_000_000.0 + steps * 1.5).astype(np.float64)
    found = {}
    for key in KEYS:
        values = np.cumsum(random.normal(size=steps.size)) * 0.1 + 5
        found[key] = Columns(steps, values, times)
    if first == 1:
        found["loss"].values[500:505] = np.nan
        found["loss"].values[900] = np.inf
    found["trainer/epoch"] = Columns(steps, steps / 100, times)
    return found


async def grow(site: Site, charted: Charted, slugs: tuple[str, ...]) -> list[int]:
    """Five more points of each key, after all that were there; returns their steps."""
    first = next(charted.steps)
    async with opened(site.database_url) as database:
        for number, slug in enumerate(slugs):
            async with database.write() as session:
                run = await runs.get(session, slug)
                attempt = 2 if slug == charted.few[2] else 1
                points = series(number + 100, first, first + 4)
                await ingest_columns(session, run.id, attempt, points)
    return list(range(first, first + 5))


def address(slugs: tuple[str, ...], *keys: str, **settings: str) -> str:
    query = [*(("run", slug) for slug in slugs), *(("key", key) for key in keys)]
    return "/charts?" + urlencode([*query, *settings.items()])


def panel(page: Page, key: str) -> Locator:
    return page.locator(f"[data-panel][data-key='{key}']")


async def show(page: Page, url: str, *keys: str) -> None:
    await page.goto(url)
    for key in keys:
        await expect(panel(page, key)).to_have_attribute("data-drawn", "")


def asked(page: Page) -> dict[str, list[str]]:
    """The settings in the address of the page."""
    return parse_qs(urlsplit(page.url).query)


async def zoom(page: Page, key: str) -> None:
    """Draws a flat rectangle over the middle of a chart."""
    box = await panel(page, key).bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] * 0.45, box["y"] + 60
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x + box["width"] * 0.1, y + 3, steps=5)
    await page.mouse.up()


async def test_first_six_are_drawn_then_those_that_are_scrolled_to(
    watch: Watch, charted: Charted
) -> None:
    page = await watch.page(viewport={"width": 390, "height": 400})
    await show(page, address(charted.few, *KEYS), "reward/mean")
    last = panel(page, "c")
    assert await last.get_attribute("data-drawn") is None
    await last.scroll_into_view_if_needed()
    await expect(last).to_have_attribute("data-drawn", "")


async def test_the_label_names_the_runs_and_the_line_is_on_every_panel(
    watch: Watch, charted: Charted
) -> None:
    page = await watch.page(viewport=DESK)
    await show(page, address(charted.few, "reward/mean", "policy/kl"), "reward/mean", "policy/kl")
    await panel(page, "reward/mean").hover()
    label = page.locator(".chart-label")
    for name in NAMES:
        await expect(label).to_contain_text(name)
    await expect(label).to_contain_text(re.compile(r"^step [\d,]+"))
    await expect(page.locator(".crosshair:visible")).to_have_count(2)
    await page.mouse.move(5, 5)
    await expect(label).to_be_hidden()
    await expect(page.locator(".crosshair:visible")).to_have_count(0)


async def test_the_legend_hides_and_isolates_by_mouse_and_keyboard(
    watch: Watch, charted: Charted
) -> None:
    page = await watch.page(viewport=DESK)
    await show(page, address(charted.few, "reward/mean"), "reward/mean")
    chart = panel(page, "reward/mean")
    everything = await chart.evaluate("e => e.data.reduce((n, t) => n + t.x.length, 0)")
    name = page.get_by_role("button", name="plain", exact=True)
    await name.focus()
    await page.keyboard.press("Enter")
    await expect(name).to_have_attribute("aria-pressed", "false")
    assert asked(page)["hide"] == [charted.few[0]]
    await page.wait_for_function(
        "n => document.querySelector('[data-panel]').data.reduce((m, t) => m + t.x.length, 0) < n",
        arg=everything,
    )
    await page.get_by_role("button", name="Show third alone").focus()
    await page.keyboard.press("Enter")
    assert asked(page)["hide"] == list(charted.few[:2])
    await page.get_by_role("button", name="Show all").click()
    assert "hide" not in asked(page)
    await name.dblclick()
    assert set(asked(page)["hide"]) == set(charted.few[1:])


async def test_a_chosen_colour_is_kept(watch: Watch, charted: Charted) -> None:
    page = await watch.page(viewport=DESK)
    await show(page, address(charted.few[:2], "reward/mean"), "reward/mean")
    swatch = page.get_by_role("button", name="Colour of plain")
    before = await swatch.get_attribute("class")
    hue = 3 if before != "swatch c3" else 4
    await swatch.click()
    await page.get_by_role("group", name="Colours").get_by_role("button").nth(hue).click()
    await expect(swatch).to_have_attribute("class", f"swatch c{hue}")
    assert asked(page)["colour"] == [f"{charted.few[0]}:{hue}"]
    # On another page of this browser, whose address does not say it.
    await show(page, address(charted.few[:2], "policy/kl"), "policy/kl")
    await expect(swatch).to_have_attribute("class", f"swatch c{hue}")


async def test_a_zoom_is_sampled_anew_and_stays_over_new_points(
    watch: Watch, site: Site, charted: Charted
) -> None:
    page = await watch.page(viewport=DESK)
    shown = charted.few[:2]
    await show(page, address(shown, "reward/mean", "policy/kl"), "reward/mean", "policy/kl")
    async with page.expect_response(lambda answer: "&from=" in answer.url) as finer:
        await zoom(page, "reward/mean")
    answer = await (await finer.value).json()
    start, end = (float(asked(page)[name][0]) for name in ("from", "to"))
    assert 0 < start < end < STEPS
    inside = [step for step in answer["series"][0]["step"] if start <= step <= end]
    assert inside == list(range(inside[0], inside[-1] + 1))
    ranges = "e => e.layout.xaxis.range"
    await expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()
    for key in ("reward/mean", "policy/kl"):
        assert await panel(page, key).evaluate(ranges) == [start, end]
    first = await panel(page, "policy/kl").evaluate("e => Math.max(...e.data[0].x)")
    await grow(site, charted, shown)
    await page.wait_for_function(
        "x => Math.max(...document.querySelector('[data-key=\"policy/kl\"]').data[0].x) > x",
        arg=first,
    )
    assert await panel(page, "policy/kl").evaluate(ranges) == [start, end]
    again = await watch.page(viewport=DESK)
    await show(again, page.url, "reward/mean")
    assert await panel(again, "reward/mean").evaluate(ranges) == [start, end]
    await again.get_by_role("button", name="Reset zoom").click()
    assert "from" not in asked(again)
    await again.wait_for_function(
        "end => document.querySelector('[data-panel]').layout.xaxis.range[1] > end", arg=end
    )


async def test_only_new_points_travel(watch: Watch, site: Site, charted: Charted) -> None:
    page = await watch.page(viewport=DESK)
    shown = charted.few[:1]
    await show(page, address(shown, "a", "b"), "a", "b")

    def is_poll(url: str) -> bool:
        return "/series?" in url and "since=" in url

    async with page.expect_response(lambda answer: is_poll(answer.url)) as quiet:
        pass
    assert (await (await quiet.value).json())["series"] == []
    before = await panel(page, "a").evaluate(DRAWN)
    async with page.expect_response(
        lambda answer: is_poll(answer.url) and int(answer.headers.get("content-length", 0)) > 300
    ) as news:
        steps = await grow(site, charted, shown)
    series_sent = (await (await news.value).json())["series"]
    assert [each["step"] for each in series_sent] == [steps] * 2
    await page.wait_for_function(
        f"n => ({DRAWN})(document.querySelector('[data-panel]')) === n + 5", arg=before
    )


@pytest.mark.parametrize(
    ("choice", "axis", "title"),
    [
        ("Epoch", "metric:trainer/epoch", "trainer/epoch"),
        ("Time since the start", "relative", "since the start"),
        ("Wall time", "time", "time"),
    ],
)
async def test_x_axes(watch: Watch, charted: Charted, choice: str, axis: str, title: str) -> None:
    page = await watch.page(viewport=DESK)
    await show(page, address(charted.few[:2], "reward/mean"), "reward/mean")
    await page.get_by_role("combobox", name="x axis").first.select_option(label=choice)
    assert asked(page)["x"] == [axis]
    await page.wait_for_function(
        "title => document.querySelector('[data-panel]').layout.xaxis.title?.text.includes(title)",
        arg=title,
    )
    ends = await panel(page, "reward/mean").evaluate("e => [e.data[0].x[0], e.data[0].x.length]")
    assert ends[1] > 100
    if choice == "Epoch":
        assert ends[0] == 0.01


async def test_any_metric_can_be_the_x_axis(watch: Watch, charted: Charted) -> None:
    page = await watch.page(viewport=DESK)
    await show(page, address(charted.few[:1], "reward/mean", "a"), "reward/mean")
    await page.get_by_role("combobox", name="x axis").first.select_option(label="A metric…")
    field = page.get_by_placeholder("Name of a metric")
    await field.fill("policy/kl")
    await field.press("Tab")
    assert asked(page)["x"] == ["metric:policy/kl"]
    title = "document.querySelector('[data-panel]').layout.xaxis.title?.text"
    await page.wait_for_function(f"() => {title} === 'policy/kl'")
    await page.get_by_role("combobox", name="x axis").first.select_option(label="A metric…")
    await field.fill("no/such")
    await field.press("Tab")
    await expect(
        page.get_by_text("No point of this metric has a place on this x axis.").first
    ).to_be_visible()


async def test_smoothing_lies_over_the_raw_line(watch: Watch, charted: Charted) -> None:
    page = await watch.page(viewport=DESK)
    await show(page, address(charted.few[:1], "reward/mean"), "reward/mean")
    await page.get_by_label("Smoothing").fill("0.9")
    await page.wait_for_function("() => document.querySelector('[data-panel]').data.length === 2")
    raw, over = await panel(page, "reward/mean").evaluate("e => e.data.map((t) => t.y)")
    assert asked(page)["smooth"] == ["0.9"]
    assert len(raw) == len(over)
    assert np.abs(np.diff(over)).mean() < np.abs(np.diff(raw)).mean() / 2


async def test_ranges_leave_out_what_is_not_finite_and_a_log_scale_what_is_not_positive(
    watch: Watch, charted: Charted
) -> None:
    page = await watch.page(viewport=DESK)
    await show(page, address(charted.few[:1], "loss"), "loss")
    chart = panel(page, "loss")
    low, high = await chart.evaluate("e => e.layout.yaxis.range")
    assert -100 < low < high < 100
    marks = await chart.evaluate("e => e.data.at(-1).marker.symbol")
    assert marks == "x-thin"
    await page.get_by_label("Log scale").check()
    await page.wait_for_function(
        "() => document.querySelector('[data-panel]').layout.yaxis.type === 'log'"
    )
    low, high = await chart.evaluate("e => e.layout.yaxis.range")
    assert -6 < low < high < 3


async def test_a_resume_is_marked_and_shows_what_it_replaced(
    watch: Watch, charted: Charted
) -> None:
    page = await watch.page(viewport=DESK)
    await show(page, address(charted.few[2:], "reward/mean"), "reward/mean")
    chart = panel(page, "reward/mean")
    assert await chart.evaluate("e => e.layout.shapes.map((shape) => shape.x0)") == [1_500]
    assert await chart.evaluate("e => e.layout.annotations[0].text") == "resumed"
    await page.get_by_label("Older attempts").check()
    dotted = "data.some((trace) => trace.line?.dash === 'dot')"
    await page.wait_for_function(f"() => document.querySelector('[data-panel]').{dotted}")
    older = await chart.evaluate("e => e.data.find((trace) => trace.line?.dash === 'dot').x")
    assert (min(older), max(older)) == (1_500, 2_000)


async def test_a_chart_is_taken_along_as_table_picture_and_file(
    watch: Watch, charted: Charted, tmp_path: Path
) -> None:
    page = await watch.page(viewport=DESK)
    await show(page, address(charted.few, "reward/mean", "policy/kl"), "reward/mean")
    menu = page.get_by_title("Table, pictures and CSV of reward/mean")
    for kind, signature in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        await menu.click()
        async with page.expect_download() as download:
            await page.get_by_role("button", name=f"Save as {kind}").click()
        file = tmp_path / f"picture.{kind}"
        await (await download.value).save_as(file)
        content = file.read_bytes()
        assert content.startswith(signature)
        assert len(content) > 5_000
    assert "<b>bold</b>" in html.unescape((tmp_path / "picture.SVG").read_text())
    await menu.click()
    async with page.expect_download() as download:
        await page.get_by_role("link", name="All points as CSV").click()
    await (await download.value).save_as(tmp_path / "points.csv")
    with (tmp_path / "points.csv").open() as points:
        rows = list(csv.DictReader(points))
    assert {row["run"] for row in rows} == set(charted.few)
    assert len([row for row in rows if row["run"] == charted.few[1]]) >= STEPS
    await menu.click()
    await page.get_by_role("button", name="Table", exact=True).click()
    dialog = page.get_by_role("dialog", name="reward/mean")
    await expect(dialog.get_by_role("columnheader")).to_have_text(["Step", *NAMES])
    assert await dialog.get_by_role("row").count() == 501
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()


async def test_a_panel_alone_keeps_its_settings(watch: Watch, charted: Charted) -> None:
    page = await watch.page(viewport=DESK)
    url = address(charted.few, "reward/mean", "policy/kl", x="relative", smooth="0.5", log="1")
    await show(page, url, "reward/mean")
    await page.get_by_role("link", name="reward/mean").click()
    await expect(page.get_by_role("heading", name="reward/mean")).to_be_visible()
    kept = asked(page)
    assert (kept["x"], kept["smooth"], kept["log"]) == (["relative"], ["0.5"], ["1"])
    await expect(page.get_by_label("Log scale")).to_be_checked()


async def test_charts_are_legible_in_both_themes_and_on_a_phone(
    watch: Watch, charted: Charted
) -> None:
    page = await watch.page(viewport=DESK)
    await show(page, address(charted.many, *KEYS, smooth="0.9"), "reward/mean")
    await page.get_by_title("Table, pictures and CSV of reward/mean").click()
    await check(page, "charts-many")


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
