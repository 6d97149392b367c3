"""A pasted script becomes a config; what is not understood is said, and nothing is lost."""

from pathlib import Path

import httpx
import pytest

from app.recipes import service as recipes
from tests.editor.forms import SKYRL, raw_text
from tests.web.html import Element, parse

pytestmark = pytest.mark.usefixtures("seeded")
SCRIPT = (Path(__file__).parents[1] / "recipes" / "data" / "tutorial_train_job.sh").read_text()
URL = "/runs/new/import"


def opening(page: Element) -> dict[str, str]:
    """The hidden fields of the form that opens the editor."""
    hidden = [each for each in page.walk() if each.attributes.get("type") == "hidden"]
    return {each.attributes["name"]: each.attributes["value"] for each in hidden}


async def test_the_tutorials_script_opens_in_the_editor(client: httpx.AsyncClient) -> None:
    page = parse((await client.post(URL, data={"text": SCRIPT})).text)
    assert "Nothing was left over" in page.text
    assert page.one("button", "Open in the editor")
    opened = parse((await client.post("/runs/new", data={**opening(page), "do": "show"})).text)
    imported = recipes.import_text(SCRIPT)
    assert imported.recipe == SKYRL
    epochs = imported.config["trainer.epochs"]
    assert opened.labelled("Epochs").attributes["value"] == str(epochs)
    changes = recipes.diff((recipes.get(SKYRL), {}), (recipes.get(SKYRL), imported.config))
    assert f"{len(changes)} values from the recipe" in opened.by_id("check").text


async def test_what_is_not_understood_is_listed_with_line_and_reason(
    client: httpx.AsyncClient,
) -> None:
    script = SCRIPT + "\nmystery --flag <b>bold</b>\n"
    answer = await client.post(URL, data={"text": script})
    page = parse(answer.text)
    table = next(each for each in page.all("region", "Lines that were not understood") if each.text)
    assert "mystery" in table.text
    assert "<b>bold</b>" not in answer.text
    document = opening(page)["yaml"]
    assert "# Not understood, line" in document
    opened = await client.post("/runs/new/yaml", data={**opening(page), "do": "show"})
    assert "mystery" in raw_text(parse(opened.text).by_id("yaml"))


async def test_a_file_is_read(client: httpx.AsyncClient) -> None:
    files = {"file": ("train_job.sh", SCRIPT.encode())}
    page = parse((await client.post(URL, data={"text": ""}, files=files)).text)
    assert "Nothing was left over" in page.text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x7fELF\x00\x01", "no text"),
        (b"\xff\xfe\x00", "no text"),
        (b"", "nothing to import"),
        (b"x" * 200_000, "at most"),
        (b"trainer: {a: [1", "no YAML"),
    ],
)
async def test_what_cannot_be_read_is_refused_and_kept(
    client: httpx.AsyncClient, content: bytes, words: str
) -> None:
    answer = await client.post(URL, data={"text": "x"}, files={"file": ("a.sh", content)})
    assert answer.status_code == 422
    page = parse(answer.text)
    assert words in page.one("alert").text
    assert page.labelled("Script").attributes["aria-invalid"] == "true"


async def test_a_paste_of_five_megabytes_is_refused_by_its_size(client: httpx.AsyncClient) -> None:
    answer = await client.post(URL, data={"text": "x" * 5_000_000})
    assert answer.status_code == 413
    assert "Too large" in answer.text
