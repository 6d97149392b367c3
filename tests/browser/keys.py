"""A page worked by its keyboard alone: focus goes where keys take it, and nothing is clicked."""

from re import Pattern

from playwright.async_api import Locator, Page, expect

MOST_PRESSES = 200
APPEARS_MS = 30_000
_IS_FOCUSED = "each => each === document.activeElement"


async def press_until(page: Page, key: str, target: Locator) -> None:
    """Presses a key until the element, which may still come, has the focus."""
    await target.wait_for(timeout=APPEARS_MS)
    for _ in range(MOST_PRESSES):
        if await target.evaluate(_IS_FOCUSED):
            return
        await page.keyboard.press(key)
    raise AssertionError(f"{target} is not reached by {key}")


async def press(page: Page, name: str | Pattern[str]) -> None:
    """Reaches the one button or link of exactly that name, and presses it."""
    button = page.get_by_role("button", name=name, exact=True)
    await press_until(page, "Tab", button.or_(page.get_by_role("link", name=name, exact=True)))
    await page.keyboard.press("Enter")


async def type_over(page: Page, label: str, text: str) -> None:
    """Reaches a field and replaces what it holds: all of it is selected when Tab comes to it."""
    field = page.get_by_label(label, exact=True)
    await press_until(page, "Tab", field)
    await page.keyboard.type(text)
    await expect(field).to_have_value(text)
