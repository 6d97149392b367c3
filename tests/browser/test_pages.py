"""Each page: no violation of axe's rules in light, dark and on a phone; no sideways scrolling."""

import os
from typing import Literal

import pytest
from axe_playwright_python.async_playwright import Axe
from axe_playwright_python.base import AxeResults
from playwright.async_api import Page, ViewportSize

from tests.browser.conftest import ARTEFACTS, Site, Watch

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

DESK = ViewportSize(width=1440, height=900)
PHONE = ViewportSize(width=390, height=844)
Scheme = Literal["light", "dark"]
_ALL = {"reporter": "no-passes"}
# The dark theme changes colours alone.
RULES = {
    "light": _ALL,
    "dark": _ALL | {"runOnly": ["color-contrast", "link-in-text-block"]},
    "phone": _ALL,
}
KEEPS_PICTURES = bool(os.environ.get("SCREENSHOTS"))
"""For people to look at: some hundred pictures take minutes."""
MODES: tuple[tuple[str, Scheme, ViewportSize], ...] = (
    ("light", "light", DESK),
    ("dark", "dark", DESK),
    ("phone", "light", PHONE),
)
PAGES = {
    "runs": "/runs",
    "run": "/runs/{running}",
    "run-succeeded": "/runs/{succeeded}",
    "run-failed": "/runs/{failed}",
    "run-queued": "/runs/{queued}",
    "chart": "/runs/{running}/chart?key=policy/grad_norm",
    "charts": "/charts?run={running}&run={succeeded}&key=policy/grad_norm&key=timing/step&log=1",
    "log": "/runs/{running}/log",
    "log-search": "/runs/{running}/log?q=step+8",
    "config": "/runs/{running}/config",
    "timeline": "/runs/{running}/timeline",
    "stop": "/runs/{running}/stop",
    "delete": "/runs/{failed}/delete",
    "selected": "/runs/selected?action=delete&run={running}&run={failed}",
    "selected-tag": "/runs/selected?action=tag&run={failed}",
    "share": "/runs/{running}/share",
    "compare": "/compare?run={running}&run={succeeded}&run={failed}",
    "compare-runs": "/compare/runs?run={running}",
    "compare-statistics": "/compare/statistics?run={running}&run={succeeded}&group=experiment",
    "compare-mazes": "/compare/mazes?run={running}&run={succeeded}",
    "new-run": "/runs/new",
    "experiments": "/experiments",
    "experiment": "/experiments/{experiment}",
    "experiments-archived": "/experiments?archived=true",
    "experiment-edit": "/experiments/{experiment}/edit",
    "experiment-fork": "/experiments/{experiment}/fork",
    "sweeps": "/experiments/{experiment}/sweeps",
    "sweep-new": "/experiments/{experiment}/sweeps/new",
    "sweep": "/sweeps/{sweep}",
    "sweep-stop": "/sweeps/{sweep}/stop",
    "playground": "/playground",
    "playground-again": "/playground?from={episode}",
    "episode": "/playground/{episode}",
    "episode-start": "/playground/{episode}?turn=0",
    "episode-messages": "/playground/{episode}/messages?lane=1&turn=3",
    "episode-share": "/playground/{episode}/share",
    "rollout": "/runs/{failed}/attempts/1/evaluations/7/1",
    "rollout-differs": "/runs/{failed}/attempts/1/evaluations/7/2?turn=3",
    "evaluations": "/evaluations",
    "evaluation": "/evaluations/{evaluation}",
    "evaluation-new": "/evaluations/new?model=maze-base",
    "eval-sets": "/eval-sets",
    "versions": "/experiments/{experiment}/versions",
    "version": "/experiments/{experiment}/versions/2",
    "versions-diff": "/experiments/{experiment}/diff?from=1&to=2",
    "checkpoints": "/runs/{succeeded}/checkpoints",
    "checkpoints-none": "/runs/{queued}/checkpoints",
    "promote": "/checkpoints/{promoted.checkpoint}/promote",
    "promotion": "/promotions/{promoted.promotion}",
    "promotion-failed": "/promotions/{promoted.failed}",
    "adapters": "/adapters",
    "adapter": "/adapters/{promoted.adapter}",
    "adapter-delete": "/adapters/{promoted.adapter}/delete",
    "endpoints": "/endpoints",
    "endpoint": "/endpoints/fake",
    "clusters": "/clusters",
    "cluster": "/clusters/embedded",
    "cluster-new": "/clusters/new",
    "settings": "/settings",
    "audit": "/settings/audit",
    "audit-filtered": "/settings/audit?actor=nemo&from=2026-11-29",
    "audit-of-project": "/projects/default/audit",
    "keys": "/help/keys",
    "users": "/settings/users",
    "not-found": "/nothing-here",
}
EMPTY_PAGES = {
    "start": "/",
    "runs": "/runs",
    "compare": "/compare",
    "experiments": "/experiments",
    "evaluations": "/evaluations",
    "evaluation-new": "/evaluations/new",
    "adapters": "/adapters",
    "endpoints": "/endpoints",
    "clusters": "/clusters",
    "playground": "/playground",
}
_PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def path_of(name: str, site: Site) -> str:
    seeded = site.seeded
    return PAGES[name].format(
        running=seeded.running,
        succeeded=seeded.succeeded,
        failed=seeded.failed,
        queued=seeded.queued,
        experiment=site.experiment,
        sweep=site.sweep,
        episode=site.episode,
        evaluation=site.evaluation,
        promoted=site.promoted,
    )


async def check(page: Page, name: str) -> None:
    """Waits for what is drawn, keeps pictures if asked to, and asks axe."""
    await page.wait_for_load_state("load")
    if await page.locator("#hero-chart, .chart.tall").count():
        await page.wait_for_selector(".js-plotly-plot .main-svg")
    axe = Axe()
    await page.evaluate(axe.axe_script)
    for mode, scheme, size in MODES:
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        await page.set_viewport_size(size)
        await page.evaluate(_PAINTED)
        if KEEPS_PICTURES:
            await page.screenshot(path=ARTEFACTS / f"{name}-{mode}.png")
        # Its `run` would bring axe's half a megabyte in again.
        results = AxeResults(await page.evaluate("(rules) => axe.run(rules)", RULES[mode]))
        assert results.violations_count == 0, f"{mode}: {results.generate_report()}"
        assert await page.evaluate("document.documentElement.scrollWidth") <= size["width"], mode


@pytest.mark.parametrize("name", list(PAGES))
async def test_page(watch: Watch, site: Site, name: str) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto(path_of(name, site))
    await check(page, name)


@pytest.mark.parametrize("name", list(EMPTY_PAGES))
async def test_page_without_any_run(watch: Watch, name: str) -> None:
    page = await watch.page(is_empty=True, viewport=DESK)
    await page.goto(EMPTY_PAGES[name])
    await check(page, f"empty-{name}")


async def test_sign_in_page(watch: Watch) -> None:
    page = await watch.page(is_signed_in=False, viewport=DESK)
    await page.goto("/runs")
    assert "/sign-in" in page.url
    await check(page, "sign-in")


async def test_refused_form(watch: Watch) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto("/runs/new")
    await page.get_by_label("Training steps").fill("many")
    await page.get_by_role("button", name="Launch run").click()
    await page.get_by_role("alert").wait_for()
    watch.complaints = [text for text in watch.complaints if "422" not in text]
    await check(page, "new-run-refused")


async def test_sweep_preview(watch: Watch, site: Site) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto(path_of("sweep-new", site))
    await page.get_by_label("Key 1", exact=True).fill("trainer.seed")
    await page.get_by_label("Values of key 1").fill("1, 2, -3")
    await page.get_by_label("Key 2", exact=True).fill("trainer.policy.optimizer_config.lr")
    await page.get_by_label("Values of key 2").fill("0.001, 0.002")
    await page.get_by_role("button", name="Preview all configs").click()
    await page.get_by_role("region", name="All configs").wait_for()
    watch.complaints = [text for text in watch.complaints if "422" not in text]
    await check(page, "sweep-preview")


async def test_sheets(watch: Watch, site: Site) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto(path_of("timeline", site))
    await page.get_by_role("link", name="Stop run").click()
    await page.get_by_role("dialog", name="Stop this run?").wait_for()
    await check(page, "stop-sheet")
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")
    await page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    await check(page, "keys-sheet")
