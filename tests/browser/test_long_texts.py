"""Names and keys of any length: no page scrolls sideways, no number is pushed out of its card."""

import pytest

from app.access.permissions import Scope
from app.experiments import service as experiments
from app.metrics.ingest import MetricPoint, ingest
from app.projects import service as projects
from app.runs import service as runs
from app.users import service as users
from tests.browser.conftest import ARTEFACTS, Site, Watch, opened
from tests.factories import ADA, make_promotion
from tests.web.seed import add_run

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WIDE = "W" * 200
KEYS = (WIDE, "é" * 100, f"policy/{WIDE}", "eval/all/generate/avg_tokens_non_zero_rewards")
OVERFLOW = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("main *")].filter((each) => !each.closest(".table-wrap")
    && each.getBoundingClientRect().right > innerWidth).map((each) => each.className)"""
OUTSIDE = """() => [...document.querySelectorAll(".chart-card .last")].filter((last) =>
  last.getBoundingClientRect().right > last.closest(".card").getBoundingClientRect().right
  || last.getBoundingClientRect().height > 24).length"""


async def fill(site: Site) -> list[str]:
    """Long texts wherever a person may give one; returns the paths that show them."""
    async with opened(site.database_url) as database:
        async with database.write() as session:
            project = await projects.ensure_default(session)
            home = await experiments.create_bare(
                session,
                project=project,
                name=WIDE,
                actor=ADA,
                hypothesis=WIDE,
                tags=[WIDE[:64], "é" * 64],
            )
            run = await runs.create_external(
                session,
                project=project,
                name=WIDE,
                actor=ADA,
                experiment=WIDE,
                config={"a": WIDE, WIDE: 1},
                tags=[WIDE[:64]],
            )
            await ingest(session, run.id, 1, [MetricPoint(key, 1, 338.125, 0.0) for key in KEYS])
            run.conditions = [{"kind": "log_lost", "since": "", "message": WIDE}]
            await users.create_token(session, name="W" * 60, scope=Scope.READ)
        failed = await add_run(database, WIDE, steps=20, status="failed", age=60)
        async with database.write() as session:
            made = await make_promotion(session, await runs.get(session, failed), name="w" * 63)
            made.failure = {"kind": "base_differs", "message": WIDE, "hint": WIDE}
            made.adapter.base = made.adapter.checkpoint.path = WIDE
            made.adapter.checkpoint.problem = WIDE
            checkpoint, adapter = made.adapter.checkpoint.slug, made.adapter.slug
    tabs = ("", f"/chart?key={WIDE}", "/log", f"/log?q={WIDE}", "/config", "/timeline")
    return [
        *(f"/runs/{run.slug}{tab}" for tab in tabs),
        *(f"/runs/{failed}", f"/runs/{failed}/config", f"/runs/{failed}/delete"),
        *("/runs", f"/runs?q={WIDE}", "/experiments", f"/experiments/{home.slug}"),
        *(f"/runs/{failed}/checkpoints", f"/checkpoints/{checkpoint}/promote"),
        *("/adapters", f"/adapters/{adapter}", f"/adapters/{adapter}/delete"),
        f"/promotions/{made.slug}",
        *("/settings", f"/runs/{run.slug}/chart?key={WIDE}x"),
    ]


async def test_long_texts_stay_in_their_place(watch: Watch, site: Site) -> None:
    page = await watch.page(viewport={"width": 1280, "height": 900})
    wrong = []
    for number, path in enumerate(await fill(site)):
        await page.goto(path)
        for width in (1280, 390):
            await page.set_viewport_size({"width": width, "height": 900})
            await page.screenshot(path=ARTEFACTS / f"long-{number}-{width}.png")
            found = await page.evaluate(OVERFLOW) or await page.evaluate(OUTSIDE)
            if found:
                wrong.append(f"{width} {path[:30]}: {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("width", [1100, 1180, 1280, 1366, 1440])
async def test_the_runs_table_fits(watch: Watch, site: Site, width: int) -> None:
    page = await watch.page(viewport={"width": width, "height": 900})
    await page.goto("/runs")
    hidden = await page.locator(".table-wrap").evaluate("box => box.scrollWidth - box.clientWidth")
    assert hidden <= 0
