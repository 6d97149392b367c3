"""Uploaded code in a browser: a zip is sent, and a bad one says what to do."""

from pathlib import Path

import pytest
from playwright.async_api import FilePayload, expect

from tests.browser.conftest import Watch
from tests.browser.test_pages import DESK, check
from tests.code.zips import zip_entries, zip_of

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
URL = "/projects/default/code"
FIELD, BUTTON = "Zip of your code", "Upload code"


def payload(name: str, data: bytes) -> FilePayload:
    return FilePayload(name=name, mimeType="application/zip", buffer=data)


@pytest.mark.parametrize("has_scripts", [True, False])
async def test_a_zip_is_uploaded_and_its_reference_shown(watch: Watch, has_scripts: bool) -> None:
    page = await watch.page(viewport=DESK, java_script_enabled=has_scripts)
    await page.goto(URL)
    data = zip_of({"train.py": f"print({has_scripts})\n", "long/" * 30 + "name.py": "x" * 9})
    await page.get_by_label(FIELD).set_input_files(payload(f"code-{has_scripts}.zip", data))
    await page.get_by_role("button", name=BUTTON).click()
    await expect(page.get_by_text("Put this into a config")).to_be_visible()
    await expect(page.get_by_role("region", name="Table of uploaded code")).to_contain_text(
        f"code-{has_scripts}.zip"
    )
    if has_scripts:
        await check(page, "code-uploaded")


async def test_a_refused_zip_keeps_the_page_and_says_what_to_do(watch: Watch) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto(URL)
    name = "../" + "very-long-name-" * 12 + ".py"
    await page.get_by_label(FIELD).set_input_files(payload("bad.zip", zip_entries((name, b"x"))))
    await page.get_by_role("button", name=BUTTON).click()
    problem = page.locator("#code-file-problem")
    await expect(problem).to_contain_text("pack from inside of your folder")
    await expect(problem).to_contain_text("nothing was stored")
    await expect(page.get_by_label(FIELD)).to_have_attribute("aria-invalid", "true")
    watch.complaints = [text for text in watch.complaints if "422" not in text]
    await check(page, "code-refused")


async def test_a_file_of_any_kind_may_be_chosen_and_is_looked_at(
    watch: Watch, tmp_path: Path
) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto(URL)
    file = tmp_path / "notes.txt"
    file.write_text("not a zip")
    await page.get_by_label(FIELD).set_input_files(file)
    await page.get_by_role("button", name=BUTTON).click()
    await expect(page.locator("#code-file-problem")).to_contain_text("This is no zip")
    watch.complaints = [text for text in watch.complaints if "422" not in text]
