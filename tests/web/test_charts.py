"""Charts of chosen metrics of chosen runs: their page, their points, their CSV file."""

import csv
import io
import json
import math
from typing import Any

import httpx
import numpy as np

from app.db import Database
from app.metrics.columns import Columns
from app.metrics.ingest import ingest_columns
from app.models import Run
from tests.factories import make_external_run
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


async def test_points_are_columns_with_gaps_told(client: httpx.AsyncClient, seeded: Seeded) -> None:
    query = {"run": seeded.running, "key": [KEY, "no/such"]}
    answer = (await client.get("/charts/series", params=query)).json()
    (series,) = answer["series"]
    assert (series["run"], series["step"]) == (seeded.running, list(range(1, 85)))
    assert series["value"][39] is None
    assert series["odd"] == [[40, "NaN"]]
    again = await client.get("/charts/series", params=query | {"since": answer["cursor"]})
    assert again.json() == {"series": [], "cursor": None}


async def test_the_file_has_every_point_as_it_is_stored(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    values = [0.1, math.nan, math.inf, -math.inf, 1e-320]
    run = await stored(sqlite_database, "loss", values, excess=None)
    rows = await downloaded(client, run=run.slug, key="loss")
    assert rows[0] == ["run", "name", "key", "step", "time", "value"]
    assert {tuple(row[:3]) for row in rows[1:]} == {(run.slug, run.name, "loss")}
    assert [row[3] for row in rows[1:]] == ["0", "1", "2", "3", "4"]
    assert [row[4] for row in rows[1:3]] == ["2026-01-02T03:04:05.678Z", ""]
    assert [row[5] for row in rows[1:]] == ["0.1", "NaN", "Infinity", "-Infinity", "1e-320"]


async def test_the_file_keeps_large_whole_numbers_and_long_series(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    count = 25_000
    excess = np.zeros(count, np.int64)
    excess[7] = 1
    run = await stored(sqlite_database, "tokens", [2.0**60] * count, excess=excess)
    rows = await downloaded(client, run=run.slug, key="tokens")
    assert len(rows) == 1 + count
    assert rows[8][5] == str(2**60 + 1)


async def test_no_cell_of_the_file_is_a_formula(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    run = await stored(sqlite_database, "=1+1", [-1.5], excess=None)
    [_, row] = await downloaded(client, run=run.slug, key="=1+1")
    assert (row[2], row[5]) == ("'=1+1", "-1.5")


async def stored(database: Database, key: str, values: list[float], *, excess: Any) -> Run:
    """A run with these values from step 0 on; only the first point has a time."""
    times = np.full(len(values), np.nan)
    times[0] = 1767323045.678
    steps = np.arange(len(values), dtype=np.int64)
    async with database.write() as session:
        run = await make_external_run(session)
        await ingest_columns(
            session, run.id, 1, {key: Columns(steps, np.array(values), times, excess)}
        )
    return run


async def downloaded(client: httpx.AsyncClient, **query: str) -> list[list[str]]:
    answer = await client.get("/charts/series.csv", params=query)
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"].startswith("attachment")
    return list(csv.reader(io.StringIO(answer.text)))
