"""The page of outgoing hosts in real Chromium: forms, verdicts, long names, both themes, phone."""

import pytest

from tests.browser.conftest import Watch
from tests.browser.test_pages import DESK, check

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LONG = ".".join(["a" * 60] * 4)


async def test_a_host_is_allowed_tried_and_removed(watch: Watch) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto("/settings")
    await page.get_by_role("link", name="Outgoing hosts").click()
    await check(page, "outgoing-empty")
    await page.get_by_role("textbox", name="Address").fill("http://10.0.0.7:8265/v1")
    await page.get_by_role("button", name="Try address").click()
    await page.get_by_text("10.0.0.7:8265 is refused.").wait_for()
    await check(page, "outgoing-refused")
    for host in (LONG, "10.0.0.0/24:8265"):
        await page.get_by_role("textbox", name="Host").fill(host)
        await page.get_by_role("textbox", name="Reason").fill(f"the team's cluster {LONG}")
        await page.get_by_role("button", name="Allow host").click()
        await page.get_by_text("Host allowed.").wait_for()
    await page.get_by_role("textbox", name="Address").fill("http://10.0.0.7:8265/v1")
    await page.get_by_role("button", name="Try address").click()
    await page.get_by_text("10.0.0.7:8265 would be called.").wait_for()
    await check(page, "outgoing")
    for host in (LONG, "10.0.0.0/24:8265"):
        await page.get_by_role("button", name=f"Remove {host}").click()
        await page.get_by_text("taken off the list").wait_for()
    await page.get_by_text("No host yet").wait_for()


async def test_what_is_refused_stays_in_the_form(watch: Watch) -> None:
    page = await watch.page(viewport=DESK, java_script_enabled=False)
    await page.goto("/settings/outgoing")
    await page.get_by_role("textbox", name="Host").fill("*.com")
    await page.get_by_role("button", name="Allow host").click()
    await page.get_by_text("half the internet").wait_for()
    assert await page.get_by_role("textbox", name="Host").input_value() == "*.com"
    watch.complaints = [text for text in watch.complaints if "422" not in text]
