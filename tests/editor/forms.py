"""Reads and sends the editor's form as a browser does, buttons included."""

from urllib.parse import urlencode

import httpx

from tests.web.html import Element, parse

SKYRL, MAZE = "visgym-sft-grpo", "embedded-maze-grpo"
BATCH = "trainer.train_batch_size"

Pairs = list[tuple[str, str]]


def filled(page: Element) -> Pairs:
    """What a browser would send for the form as it stands, in order, without any button."""
    pairs: Pairs = []
    for element in page.by_id("new-run").walk():
        name = element.attributes.get("name")
        kind = element.attributes.get("type", "")
        if not name or (kind in ("checkbox", "radio") and "checked" not in element.attributes):
            continue
        if element.tag == "select":
            options = [each for each in element.walk() if each.tag == "option"]
            chosen = [each for each in options if "selected" in each.attributes] or options
            pairs.append((name, chosen[0].attributes["value"]))
        elif element.tag == "input":
            pairs.append((name, element.attributes.get("value", "")))
        elif element.tag == "textarea":
            pairs.append((name, raw_text(element)))
    return pairs


def raw_text(element: Element) -> str:
    """The text as it stands, less the line break that HTML drops after the tag."""
    return "".join(each for each in element.children if isinstance(each, str)).removeprefix("\n")


async def press(
    client: httpx.AsyncClient, page: Element, button: str, **typed: str
) -> httpx.Response:
    """Sends the form by a button, with fields changed; `typed` by name, dots as `__`."""
    found = [each for each in page.all("button", button) if "aria-hidden" not in each.attributes]
    attributes = found[0].attributes
    wanted = {name.replace("__", "."): text for name, text in typed.items()}
    pairs = [(name, wanted.get(name, text)) for name, text in filled(page)]
    pairs.append((attributes["name"], attributes["value"]))
    url = attributes.get("formaction") or page.by_id("new-run").attributes["action"]
    return await send(client, url, pairs)


async def send(client: httpx.AsyncClient, url: str, pairs: Pairs) -> httpx.Response:
    """A form with names that repeat."""
    body = urlencode(pairs)
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    return await client.post(url, content=body, headers=kind)


async def opened(client: httpx.AsyncClient, url: str = f"/runs/new?recipe={SKYRL}") -> Element:
    answer = await client.get(url)
    assert answer.status_code == 200, answer.text
    return parse(answer.text)
