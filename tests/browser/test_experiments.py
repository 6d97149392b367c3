"""Versions, forks and sweeps in a browser: comments come back; all works without scripts."""

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from app.experiments import service as experiments
from app.projects import service as projects
from tests.browser.conftest import Site, Watch, opened
from tests.browser.test_pages import DESK, check
from tests.factories import ADA, make_experiment
from tests.sweeps.factories import SEED, make_sweep

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
TEXT = (
    "# Why 3: a longer remark, so that the line is wider than a phone, and then some more words\n"
)
TYPED = f"{TEXT}trainer:\n  seed: 3   # not 4\n"


@pytest_asyncio.fixture(loop_scope="session")
async def slug(site: Site) -> str:
    """An experiment with two versions of the same values, the second with comments."""
    async with opened(site.database_url) as database, database.write() as session:
        made = await make_experiment(session, name="Comments", config={SEED: 3})
        await experiments.add_version(session, made, {SEED: 3}, actor=ADA, yaml=TYPED)
        return made.slug


@pytest_asyncio.fixture(loop_scope="session")
async def sweep(site: Site) -> str:
    async with opened(site.database_url) as database, database.write() as session:
        return (await make_sweep(session, runs=2)).slug


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("versions-comments", "/experiments/{}/versions"),
        ("version-typed", "/experiments/{}/versions/2"),
        ("versions-diff-comments", "/experiments/{}/diff?from=1&to=2"),
        ("editor-version", "/runs/new/yaml?from={}&version=2"),
        ("editor-import", "/runs/new/import#{}"),
    ],
)
async def test_each_page(watch: Watch, slug: str, name: str, path: str) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto(path.format(slug))
    await check(page, name)


async def test_a_run_of_a_sweep_and_the_runs_of_it(watch: Watch, sweep: str) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto(f"/sweeps/{sweep}")
    await page.get_by_role("link", name="2. seed=2").click()
    await check(page, "run-of-sweep")
    await page.locator("#run-head").get_by_role("link", name="Does rank matter?").click()
    await page.get_by_role("link", name="Show in Runs").click()
    await expect(page.get_by_role("table").get_by_role("row")).to_have_count(3)
    await check(page, "runs-of-sweep")


@pytest.mark.parametrize("has_scripts", [True, False])
async def test_comments_come_back_when_a_version_is_edited(
    watch: Watch, slug: str, has_scripts: bool
) -> None:
    page = await watch.page(viewport=DESK, java_script_enabled=has_scripts)
    await page.goto(f"/experiments/{slug}/versions/2")
    await page.get_by_role("link", name="Edit version 2 as new version").click()
    await page.get_by_label("Training steps").fill("20")
    await page.get_by_role("button", name="YAML", exact=True).click()
    box = page.get_by_role("textbox", name="YAML")
    kept = await box.input_value()
    assert kept.startswith(TYPED)
    assert "trainer.max_training_steps: 20" in kept
    await box.fill(f"{kept}# one more word\n")
    await page.get_by_role("button", name="Save version").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Comments")
    await page.goto(f"/experiments/{slug}/versions/3")
    typed = page.get_by_role("region", name="YAML as typed")
    await expect(typed).to_contain_text("# one more word")
    await page.get_by_role("link", name="Fork version 3").click()
    await page.get_by_role("button", name="Fork experiment").click()
    await page.get_by_role("link", name="Versions").click()
    await page.get_by_role("link", name="Version 1", exact=True).click()
    await expect(typed).to_contain_text("# one more word")


async def test_a_sweep_is_made_without_scripts(watch: Watch, slug: str) -> None:
    page = await watch.page(viewport=DESK, java_script_enabled=False)
    await page.goto(f"/experiments/{slug}")
    await page.get_by_role("link", name="New sweep").click()
    await fill(page, "1, x")
    await page.get_by_role("button", name="Preview all configs").click()
    region = page.get_by_role("region", name="All configs")
    await region.get_by_role("link", name=SEED).click()
    assert page.url.endswith("#field-key-0")
    await fill(page, "1, 2, 3")
    await page.get_by_label("Cluster").select_option("embedded")
    await page.get_by_role("button", name="Preview all configs").click()
    await region.get_by_label("Leave out config 2").check()
    await page.get_by_role("button", name="Launch 3 runs").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Comments")
    rows = page.get_by_role("region", name="Runs of the sweep").get_by_role("row")
    await expect(rows).to_have_count(3)
    await page.get_by_role("link", name="Stop all runs").click()
    await page.get_by_role("button", name="Stop all runs").click()
    watch.complaints = [text for text in watch.complaints if "422" not in text]


async def test_a_preview_on_a_cluster_that_is_too_small(watch: Watch, site: Site) -> None:
    async with opened(site.database_url) as database, database.write() as session:
        project = await projects.ensure_default(session)
        made = await experiments.create(
            session, project=project, name="Big", recipe="visgym-sft-grpo", config={}, actor=ADA
        )
    page = await watch.page(viewport=DESK)
    await page.goto(f"/experiments/{made.slug}/sweeps/new")
    await fill(page, "1, 2")
    await page.get_by_role("button", name="Preview all configs").click()
    await expect(page.get_by_role("region", name="All configs")).to_contain_text("embedded_cluster")
    watch.complaints = [text for text in watch.complaints if "422" not in text]
    await check(page, "sweep-too-small")


async def fill(page: Page, values: str) -> None:
    await page.get_by_label("Key 1", exact=True).fill(SEED)
    await page.get_by_label("Values of key 1").fill(values)
