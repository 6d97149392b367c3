"""The page of chosen metrics of chosen runs. Their points: `test_series.py`."""

import json
from typing import Any

import httpx

from tests.web.html import Element, parse
from tests.web.seed import Seeded

KEY = "policy/grad_norm"


def config_of(page: Element) -> dict[str, Any]:
    [script] = [each for each in page.walk() if "data-board-config" in each.attributes]
    found: dict[str, Any] = json.loads(str(script.children[0]))
    return found


async def test_a_page_shows_each_metric_of_the_chosen_runs(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    query = {"run": [seeded.running, seeded.failed], "key": [KEY, "no/such"]}
    page = parse((await client.get("/charts", params=query)).text)
    assert page.one("heading", "2 charts")
    panels = [each.attributes for each in page.walk() if "data-panel" in each.attributes]
    assert [panel["data-key"] for panel in panels] == [KEY, "no/such"]
    runs = config_of(page)["runs"]
    assert [run["id"] for run in runs] == query["run"]
    assert [run["live"] for run in runs] == [True, False]
    assert all(0 <= run["colour"] < 10 for run in runs)


async def test_each_panel_leads_to_itself_alone(client: httpx.AsyncClient, seeded: Seeded) -> None:
    query = {"run": [seeded.running, seeded.failed], "key": [KEY, "timing/step"]}
    page = parse((await client.get("/charts", params=query)).text)
    alone = parse((await client.get(page.one("link", "Gradient norm").attributes["href"])).text)
    assert alone.one("heading", "Gradient norm")
    assert [run["id"] for run in config_of(alone)["runs"]] == query["run"]


async def test_charts_need_runs_and_keys_that_are_there(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    assert (await client.get("/charts", params={"run": seeded.running})).status_code == 422
    assert (await client.get("/charts", params={"key": KEY})).status_code == 422
    missing = await client.get("/charts", params={"run": "run-none", "key": KEY})
    assert missing.status_code == 404
