"""Projects in a browser: the switch, the pages of members, and what a newcomer sees."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from app.models import Role
from app.projects import service as projects
from app.users import service as users
from tests.browser.conftest import Promoted, Site, Watch, opened, serving
from tests.browser.test_pages import DESK, PHONE, check
from tests.conftest import sqlite_copy
from tests.factories import ADA, make_external_run
from tests.projects.people import add_person
from tests.web.seed import Seeded, seed

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
LONG = "Robots that walk mazes, a project with a name as long as people make them"


@dataclass(frozen=True, slots=True)
class Team:
    """A site with two projects, as its administrator and as a newcomer see it."""

    site: Site
    newcomer: Site
    slug: str


@pytest.fixture(scope="module")
def team(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    database_url = sqlite_copy(sqlite_template, folder)

    async def fill() -> tuple[Seeded, str, str]:
        async with opened(database_url) as database:
            seeded = await seed(database)
            async with database.write() as session:
                project = await projects.create(session, name=LONG, slug="robots", actor=ADA)
                for name, role in (("ben", Role.ADMINISTRATOR), ("W" * 60, Role.VIEWER)):
                    await add_person(session, name)
                    await projects.add_member(session, project, name, role, actor=ADA)
                run = await make_external_run(session, project=project)
                newcomer = await add_person(session, "newcomer")
                return seeded, await users.create_session(session, newcomer), run.slug

    seeded, secret, slug = asyncio.run(fill())
    with serving(folder, database_url) as url:
        nothing = Promoted("", "", "", "")
        site = Site(url, database_url, seeded, "", "", "", "", nothing, "", "")
        yield Team(site, replace(site, seeded=replace(seeded, session_secret=secret)), slug)


@pytest_asyncio.fixture(loop_scope="session")
async def administrator(browser: Browser, team: Team) -> AsyncIterator[Watch]:
    watch = Watch(browser, team.site)
    yield watch
    await watch.close()
    assert watch.complaints == []


@pytest_asyncio.fixture(loop_scope="session")
async def newcomer(browser: Browser, team: Team) -> AsyncIterator[Watch]:
    watch = Watch(browser, team.newcomer)
    yield watch
    await watch.close()
    assert watch.complaints == []


@pytest.mark.parametrize(
    "path", ["/projects", "/projects/new", "/projects/robots", "/runs", "/experiments"]
)
async def test_pages(administrator: Watch, path: str) -> None:
    page = await administrator.page(viewport=DESK)
    await page.goto(path)
    await check(page, "team" + path.replace("/", "-"))


@pytest.mark.parametrize("path", ["/", "/runs", "/projects"])
async def test_pages_of_a_newcomer(newcomer: Watch, path: str) -> None:
    page = await newcomer.page(viewport=DESK)
    await page.goto(path)
    await check(page, "newcomer" + path.replace("/", "-"))


@pytest.mark.parametrize("has_script", [True, False])
@pytest.mark.parametrize("size", [DESK, PHONE])
async def test_the_switch_narrows_the_lists(
    administrator: Watch, team: Team, size: object, has_script: bool
) -> None:
    page = await administrator.page(viewport=size, java_script_enabled=has_script)
    await page.goto("/runs")
    switch = page.locator("details[data-menu]")
    await switch.locator("summary").click()
    await page.get_by_role("link", name=LONG).last.click()
    await page.wait_for_url("**/runs?project=robots")
    rows = page.locator("tbody tr")
    assert await rows.count() == 1
    assert await rows.first.get_attribute("id") == team.slug
    await page.get_by_role("link", name="Experiments").click()
    await page.wait_for_url("**/experiments?project=robots")
    assert await page.locator("tbody tr").count() == 1


async def test_an_open_menu_is_readable_and_closes_by_escape(administrator: Watch) -> None:
    page = await administrator.page(viewport=DESK)
    await page.goto("/runs")
    switch = page.locator("details[data-menu]")
    await switch.locator("summary").click()
    await check(page, "team-menu")
    await page.set_viewport_size(DESK)
    await page.keyboard.press("Escape")
    assert await switch.get_attribute("open") is None
    await switch.locator("summary").click()
    await page.get_by_role("heading", name="Runs").click()
    assert await switch.get_attribute("open") is None
