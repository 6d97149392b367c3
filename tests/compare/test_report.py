"""The report: one file, in which nothing runs but its own two scripts."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pytest

from app.compare import service
from app.compare.asked import Asked
from app.compare.report import report
from app.db import Database
from tests.compare.factories import make_compared

NAMES = ("</script><script>alert(1)</script>", '<img src=x onerror="alert(2)">', "{{ 7*7 }} %{x}")


class Found(HTMLParser):
    """Elements with their attributes, and the text of each script."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self.elements.append(("/script", {}))


@pytest.fixture
async def page(sqlite_database: Database) -> str:
    async with sqlite_database.write() as session:
        made = [
            await make_compared(
                session,
                name,
                config={"lr": 10.0**-n, name: name, "seed": n},
                tags=[name],
                experiment=name,
                solved={0: range(20), 9: range(30 + n)},
                series={name: [1.0, 2.0], "loss": [1.0, float("nan"), 0.5]},
            )
            for n, name in enumerate(NAMES)
        ]
    asked = Asked(tuple(run.slug for run in made), metric="loss", group="tag")
    found = await service.compare(sqlite_database, asked)
    curves = await service.read_curves(sqlite_database, found)
    return report(asked, found, curves, await service.read_means(sqlite_database, found))


def test_only_its_own_scripts_may_run(page: str) -> None:
    found = Found()
    found.feed(page)
    [policy] = [
        attributes["content"] or ""
        for tag, attributes in found.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    code = [text for attributes, text in found.scripts if "type" not in attributes]
    hashes = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in code}

    assert len(code) == 2
    assert set(re.findall(r"sha256-([^']+)", policy)) == hashes
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
    assert "default-src 'none'" in policy


def test_names_are_text_wherever_they_stand(page: str) -> None:
    found = Found()
    found.feed(page)

    assert not [tag for tag, _ in found.elements if tag in ("img", "iframe", "object", "link")]
    assert not [name for _, each in found.elements for name in each if name.startswith("on")]
    assert NAMES[0] not in page
    assert NAMES[1] not in page
    # Shown, and not computed.
    assert "{{ 7*7 }}" in page


def test_it_needs_nothing_else(page: str) -> None:
    found = Found()
    found.feed(page)
    addresses = [each.get(name) for _, each in found.elements for name in ("src", "href")]

    assert {address for address in addresses if address} == set()
    assert len(page) < 2_500_000


def test_its_figures_hold_the_numbers(page: str) -> None:
    found = Found()
    found.feed(page)
    figures: dict[str, Any] = {
        each["data-figure"] or "": json.loads(text)
        for each, text in found.scripts
        if "data-figure" in each
    }
    named = {figure["layout"]["yaxis"]["title"]["text"]: figure for figure in figures.values()}

    assert set(named) >= {"skydeck/eval/solve_rate", "loss"}
    rates = named["skydeck/eval/solve_rate"]["data"]
    assert len(rates) == 3
    # As the library's own little HTML, in which it would draw a link or an image.
    assert rates[1]["name"] == "B &lt;img src=x onerror=&quot;alert(2)&quot;&gt;"


def test_it_says_what_the_page_says(page: str) -> None:
    for words in ("McNemar", "30/64", "Config differences", "Groups by tag", "Returns", "Mazes"):
        assert words in page


def test_no_page_needs_the_large_libraries_to_start() -> None:
    code = (
        "import sys; from app.main import create_app; import app.compare.routes; "
        "print([name for name in ('scipy', 'plotly') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "[]"
