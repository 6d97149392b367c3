"""Secrets and consents as a person sets them, in both themes and on a phone."""

from pathlib import Path

import pytest

from app.secrets import crypto
from tests.browser.conftest import Site, Watch
from tests.browser.test_pages import DESK, check

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

VALUE = "hf_Zx81kkLmPq"


@pytest.fixture(autouse=True)
def keys(site: Site) -> None:
    crypto.make_file(Path(site.database_url.partition(":///")[2]).with_name("secret.keys"))


@pytest.mark.parametrize("path", ["/settings/secrets", "/projects/default/secrets"])
async def test_a_secret_is_set_and_replaced(watch: Watch, path: str) -> None:
    name = f"secrets-{path.split('/')[1]}"
    page = await watch.page(viewport=DESK)
    await page.goto(path)
    await check(page, f"{name}-empty")
    await page.get_by_role("textbox", name="Name").fill("hf token")
    await page.get_by_label("Value").fill(VALUE)
    await page.get_by_role("button", name="Set secret").click()
    await page.locator(".problem").wait_for()
    watch.complaints = [text for text in watch.complaints if "422" not in text]
    await check(page, f"{name}-refused")
    assert VALUE not in await page.content()
    await page.get_by_role("textbox", name="Name").fill(
        "HF_TOKEN_OF_A_RATHER_LONG_NAME_THAT_GOES_ON_AND_ON_AND_ON"
    )
    await page.get_by_label("Value").fill(VALUE)
    await page.get_by_role("button", name="Set secret").click()
    await page.get_by_text("Secret set.").wait_for()
    await check(page, name)
    await page.get_by_role("link", name="Replace or delete").click()
    await page.get_by_role("button", name="Replace value").wait_for()
    await check(page, f"{name}-one")
    await page.get_by_role("button", name="Delete secret").click()
    await page.get_by_text("Secret deleted.").wait_for()


async def test_what_a_cluster_may_run(watch: Watch) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto("/clusters")
    await page.get_by_role("link", name="Change what it may run").click()
    await page.get_by_label("Give secrets to jobs in their environment").check()
    await page.get_by_role("button", name="Save").click()
    await page.locator(".problem").wait_for()
    watch.complaints = [text for text in watch.complaints if "422" not in text]
    await check(page, "consents")
    await page.get_by_label("Cluster's name").fill("Embedded")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("given to jobs, and shown by Ray").wait_for()
    await check(page, "clusters-consents")
    await page.goto("/clusters/embedded/consents")
    await page.get_by_label("Give secrets to jobs in their environment").uncheck()
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("not given to jobs").wait_for()
