"""Accounts in real Chromium: sign-in, invites, resets; each page in both themes and on a phone."""

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from app.access import service as access
from app.clock import utcnow
from app.models import User
from app.users import service as users
from app.users.passwords import POOL
from tests.browser.conftest import Site, Watch, opened, serving
from tests.browser.test_pages import DESK, check

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PASSWORD = "four unrelated words"


async def add_person(site: Site, name: str) -> str:
    """Somebody with a password; returns the user's id."""
    async with opened(site.database_url) as database, database.write() as session:
        user = await users.create_user(session, name, password_hash=POOL.hash_now(PASSWORD))
        return str(user.id)


async def make_links(site: Site) -> dict[str, str]:
    """One open link of each kind, by its page."""
    async with opened(site.database_url) as database, database.write() as session:
        admin: User = await users.get_user_named(session, "admin")
        person = access.of_person(admin, await access.memberships_of(session, admin))
        _, invite = await users.create_invite(session, person)
        link = await users.create_link_for(session, "admin", utcnow())
        reset = await users.create_reset_link(session, admin)
    return {"sign-in": link, "reset": reset, "join": invite}


def forgive(watch: Watch, status: int) -> None:
    """A page that is an error by purpose is reported by the browser as a failed load."""
    watch.complaints = [text for text in watch.complaints if f"status of {status}" not in text]


async def test_a_person_is_invited_and_comes_back(watch: Watch, site: Site) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto("/settings/users")
    await page.get_by_label("Note").fill("for eve")
    await page.get_by_role("button", name="Create invite").click()
    link = await page.locator("code.secret").inner_text()
    await check(page, "users-invited")
    guest = await watch.page(viewport=DESK, is_signed_in=False)
    await guest.goto(link)
    await fill_account(guest, "eve", PASSWORD, "something else")
    await expect(guest.get_by_label("Once more")).to_have_attribute("aria-invalid", "true")
    await check(guest, "join-refused")
    forgive(watch, 422)
    await fill_account(guest, "eve", PASSWORD, PASSWORD)
    await expect(guest.get_by_text("Your account is made")).to_be_visible()
    await guest.goto("/settings")
    await guest.get_by_role("button", name="Sign out").first.click()
    await sign_in(guest, "eve", "a wrong password")
    await expect(guest.get_by_label("Name")).to_have_value("eve")
    await check(guest, "sign-in-refused")
    forgive(watch, 401)
    await sign_in(guest, "eve", PASSWORD)
    await expect(guest.get_by_text("Signed in.")).to_be_visible()


async def fill_account(page: Page, name: str, password: str, repeat: str) -> None:
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("New password").fill(password)
    await page.get_by_label("Once more").fill(repeat)
    await page.get_by_role("button", name="Make account and sign in").click()


async def sign_in(page: Page, name: str, password: str) -> None:
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in").click()


@pytest.mark.parametrize("kind", ["sign-in", "reset", "join"])
async def test_pages_of_links(watch: Watch, site: Site, kind: str) -> None:
    token = (await make_links(site))[kind]
    page = await watch.page(viewport=DESK, is_signed_in=False)
    await page.goto(f"/{kind}?token={token}")
    await check(page, f"link-{kind}")


@pytest.mark.parametrize(("path", "status"), [("/sign-in", 401), ("/reset", 410), ("/join", 410)])
async def test_pages_of_links_that_ended(watch: Watch, site: Site, path: str, status: int) -> None:
    page = await watch.page(viewport=DESK, is_signed_in=False)
    answer = await page.goto(f"{path}?token=guess")
    assert answer is not None
    assert answer.status == status
    await check(page, f"ended{path.replace('/', '-')}")
    forgive(watch, status)


async def test_the_page_of_a_user(watch: Watch, site: Site) -> None:
    user_id = await add_person(site, "Grace Hopper")
    page = await watch.page(viewport=DESK)
    await page.goto(f"/settings/users/{user_id}")
    await page.get_by_role("button", name="Create reset link").click()
    await page.locator("code.secret").wait_for()
    await check(page, "user-reset")
    await page.get_by_role("button", name="Disable account").click()
    await expect(page.get_by_role("button", name="Enable account")).to_be_visible()
    await check(page, "user-disabled")


async def test_the_first_link_of_all(watch: Watch, tmp_path: Path, sqlite_url: str) -> None:
    async with opened(sqlite_url) as database, database.write() as session:
        token = await users.create_sign_in_link(session)
    with serving(tmp_path / "home", sqlite_url) as url:
        page = await watch.page(viewport=DESK, is_signed_in=False)
        await page.goto(f"{url}/sign-in")
        await check(page, "sign-in-first-time")
        await page.goto(f"{url}/sign-in?token={token}")
        await check(page, "link-first")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_text("Signed in.")).to_be_visible()
