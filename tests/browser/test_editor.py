"""The config editor in a browser: live findings, keys alone, a phone, and no scripts at all."""

import asyncio
import re

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.conftest import Watch
from tests.browser.test_pages import DESK, check

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SKYRL = "/runs/new?recipe=visgym-sft-grpo"
SCRIPT = "python -m examples.train.visgym.main trainer.epochs=3 trainer.nothing=1\nmystery --x\n"
LIVE_MS = 10_000


async def open_groups(page: Page) -> None:
    await page.evaluate("document.querySelectorAll('details.group').forEach((g) => g.open = true)")


def forgive_refusals(watch: Watch) -> None:
    """A form that is refused is reported by the browser as a failed load."""
    watch.complaints = [text for text in watch.complaints if "422" not in text]


@pytest.mark.parametrize("view", ["", "/yaml", "/changes", "/package"])
async def test_each_view(watch: Watch, view: str) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto(f"/runs/new{view}?recipe=visgym-sft-grpo")
    await open_groups(page)
    await check(page, f"editor{view.replace('/', '-')}")


async def test_findings_come_while_one_types_and_a_fix_is_one_click(watch: Watch) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto(SKYRL)
    await open_groups(page)
    batch = page.get_by_label("Batch", exact=True)
    await batch.fill("33")
    await expect(batch).to_have_attribute("aria-invalid", "true", timeout=LIVE_MS)
    problem = page.locator("#field-trainer-train-batch-size-problem")
    await expect(problem).to_contain_text("33")
    await expect(page.locator("[data-field=field-trainer-train-batch-size]")).to_have_class(
        re.compile("changed")
    )
    await expect(batch).to_be_focused()
    await check(page, "editor-typed")
    finding = page.get_by_role("list", name="Errors").get_by_role("listitem").filter(has_text="33")
    await finding.get_by_role("link", name="Batch", exact=True).click()
    await expect(batch).to_be_focused()
    await finding.get_by_role("button", name="Fix").click()
    await expect(page.get_by_label("Batch", exact=True)).not_to_have_value("33")
    await batch.fill("24")
    await expect(batch).not_to_have_attribute("aria-invalid", "true", timeout=LIVE_MS)


async def test_other_keys_complete_and_rows_grow(watch: Watch) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto(SKYRL)
    await open_groups(page)
    await page.get_by_label("Key 1").fill("trainer.algorithm.eps_clip_l")
    option = page.locator("#key-list option[value='trainer.algorithm.eps_clip_low']")
    await expect(option).to_be_attached(timeout=LIVE_MS)
    await page.get_by_label("Key 1").fill("trainer.algorithm.eps_clip_low")
    await page.get_by_label("Value 1").fill("a lot")
    await expect(page.get_by_label("Key 2")).to_be_visible()
    await expect(page.get_by_label("Value 1")).to_have_attribute(
        "aria-invalid", "true", timeout=LIVE_MS
    )
    await expect(page.locator("#other-1-hint")).to_contain_text("float")
    await check(page, "editor-other-keys")


async def test_yaml_is_checked_as_it_is_typed(watch: Watch) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto("/runs/new/yaml?recipe=visgym-sft-grpo")
    await page.get_by_role("textbox", name="YAML").fill("trainer:\n  epochs: [1\n")
    await expect(page.locator("#yaml-problem")).to_contain_text("Line 3, column 1", timeout=LIVE_MS)
    await check(page, "editor-yaml-fault")
    await page.get_by_role("textbox", name="YAML").fill("trainer:\n  epochs: 3 # few\n")
    await expect(page.locator("#yaml-problem")).to_be_hidden(timeout=LIVE_MS)
    await page.get_by_role("button", name="Form", exact=True).click()
    await expect(page.locator("[name='trainer.epochs']")).to_have_value("3")


async def test_a_text_too_long_is_said_at_once_and_kept(watch: Watch) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto("/runs/new/yaml?recipe=visgym-sft-grpo")
    box = page.get_by_role("textbox", name="YAML")
    await page.evaluate(
        """() => {
            const box = document.getElementById('yaml');
            box.value = 'x'.repeat(5_000_000);
            box.dispatchEvent(new Event('input', { bubbles: true }));
        }"""
    )
    said = "5,000,000 characters, at most 131,072"
    await expect(page.locator("#yaml-problem")).to_contain_text(said, timeout=1_000)
    alert = page.get_by_role("alert").filter(has_text="Not checked")
    await expect(alert).to_contain_text(said)
    await expect(box).to_have_attribute("aria-invalid", "true")
    await page.get_by_role("button", name="Launch run").click()
    assert page.url.endswith("/runs/new/yaml?recipe=visgym-sft-grpo")
    assert await page.evaluate("document.getElementById('yaml').value.length") == 5_000_000
    await box.fill("trainer.epochs: 3\n")
    await expect(alert).to_be_hidden()
    await expect(page.locator("#yaml-problem")).to_be_hidden(timeout=LIVE_MS)
    await expect(page.locator("#check")).to_contain_text("1 value from the recipe", timeout=LIVE_MS)


@pytest.mark.parametrize(("status", "words"), [(413, "larger than this page takes"), (0, "answer")])
async def test_a_check_that_does_not_come_is_said_until_one_comes(
    watch: Watch, status: int, words: str
) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto("/runs/new")

    mended = asyncio.Event()

    # Not ended by `unroute`: a check that is asked again just then would hang without its body.
    async def fail(route: Route) -> None:
        if mended.is_set():
            await route.continue_()
        else:
            await (route.fulfill(status=status, body="") if status else route.abort())

    await page.route("**/runs/new/check", fail)
    await page.get_by_label("Run name").fill("one")
    alert = page.get_by_role("alert").filter(has_text="Not checked")
    await expect(alert).to_contain_text(words, timeout=LIVE_MS)
    await expect(page.get_by_label("Run name")).to_have_value("one")
    await check(page, f"editor-not-checked-{status}")
    mended.set()
    await page.get_by_label("Run name").fill("two")
    await expect(alert).to_be_hidden(timeout=3 * LIVE_MS)
    watch.complaints = [text for text in watch.complaints if "Failed to " not in text]


async def test_the_keyboard_alone_launches(watch: Watch) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto("/runs/new")
    await page.get_by_label("Run name").focus()
    await page.keyboard.type("by keys")
    # Enter checks; it launches nothing.
    await page.keyboard.press("Enter")
    await page.wait_for_load_state()
    assert page.url.endswith("/runs/new")
    await expect(page.get_by_label("Run name")).to_have_value("by keys")
    await page.get_by_label("Evaluate before").or_(page.get_by_label("Seed")).first.focus()
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement?.value") == "launch":
            break
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="by keys")).to_be_visible()


async def test_without_javascript_all_of_it_works(watch: Watch) -> None:
    page = await watch.page(java_script_enabled=False, viewport=DESK)
    await page.goto("/runs/new")
    await page.get_by_role("button", name="visgym-sft-grpo").click()
    await page.get_by_label("Base model").fill("/shared/models/mine")
    await page.get_by_role("button", name="YAML", exact=True).click()
    text = await page.get_by_role("textbox", name="YAML").input_value()
    assert "trainer.policy.model.path: /shared/models/mine" in text
    await page.get_by_role("textbox", name="YAML").fill(
        f"# mine\n{text}".replace("epochs: 20", "epochs: 21")
    )
    await page.get_by_role("button", name="Changes", exact=True).click()
    await expect(page.get_by_role("region", name="Changes from the recipe")).to_contain_text("21")
    await page.get_by_role("button", name="Job package", exact=True).click()
    await expect(page.get_by_role("region", name="train_job.sh")).to_contain_text("epochs=21")
    async with page.expect_download() as waiting:
        await page.get_by_role("button", name="Download train_job.sh").click()
    assert (await waiting.value).suggested_filename == "train_job.sh"
    await page.get_by_label("Experiment").fill("no scripts")
    await page.get_by_role("button", name="Launch run").click()
    await expect(page.get_by_role("alert")).to_contain_text("Not launched")
    await page.get_by_role("button", name="Save version").click()
    await expect(page.get_by_role("heading", name="no scripts")).to_be_visible()
    forgive_refusals(watch)


async def test_a_pasted_script_opens_in_the_editor(watch: Watch) -> None:
    page = await watch.page(viewport=DESK)
    await page.goto("/runs/new")
    await page.get_by_role("link", name="Paste a train_job.sh").click()
    await check(page, "import")
    await page.get_by_label("Script").fill(SCRIPT)
    await page.get_by_role("button", name="Read it").click()
    await expect(page.get_by_role("region", name="Not understood", exact=True)).to_contain_text(
        "mystery"
    )
    await check(page, "imported")
    await page.get_by_role("button", name="Open in the editor").click()
    await expect(page.locator("[name='trainer.epochs']")).to_have_value("3")
