"""Points of several runs' charts, as pages ask for them: columns, and a file of all digits."""

import csv
import io
from typing import Any

import httpx
import pytest

from app.db import Database
from app.metrics import service as metrics
from app.metrics.service import MetricPoint
from tests.factories import make_external_run

KEY = "=loss"


@pytest.fixture
async def runs(sqlite_database: Database) -> list[str]:
    """Two runs; the second was resumed at step 2."""
    slugs = []
    async with sqlite_database.write() as session:
        for count in (1, 2):
            run = await make_external_run(session)
            slugs.append(run.slug)
            for attempt in range(1, count + 1):
                values = [1 / 3 + attempt, float("nan"), -(2**53) - 1]
                points = [
                    MetricPoint(KEY, step, value, 1_790_000_000.25 + step)
                    for step, value in enumerate(values, start=attempt)
                ]
                await metrics.ingest(session, run.id, attempt, points)
    return slugs


async def test_columns_of_several_runs(client: httpx.AsyncClient, runs: list[str]) -> None:
    query: dict[str, Any] = {"run": runs, "key": KEY, "attempts": "all", "digits": 3}
    answer = (await client.get("/series", params=query)).json()
    found = [(each["run"], each["attempt"], each["is_hidden"]) for each in answer["series"]]
    assert found == [(runs[0], 1, False), (runs[1], 2, False), (runs[1], 1, True)]
    resumed = answer["series"][1]
    assert (resumed["step"], resumed["value"][:2]) == ([1, 2, 3, 4], [1.33, 2.33])
    assert (resumed["resumes"], resumed["odd"]) == ([[2, 2]], [[3, "NaN"]])
    query["since"] = answer["cursor"]
    assert (await client.get("/series", params=query)).json() == {"series": [], "cursor": None}


async def test_a_file_with_all_digits(client: httpx.AsyncClient, runs: list[str]) -> None:
    query: dict[str, Any] = {"run": runs, "key": KEY, "attempts": "all"}
    answer = await client.get("/series.csv", params=query)
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    head, *rows = csv.reader(io.StringIO(answer.text))
    assert head == ["run", "key", "attempt", "is_hidden", "step", "time", "x", "value"]
    assert len(rows) == 3 + 4 + 2
    assert rows[0] == [
        runs[0],
        "'" + KEY,
        "1",
        "0",
        "1",
        "2026-09-21T14:13:21.250Z",
        "",
        str(4 / 3),
    ]
    assert [row[7] for row in rows[1:3]] == ["NaN", str(-(2**53) - 1)]
    assert [row[2:5] for row in rows[3:]] == [
        *(["1", "0", "1"], ["2", "0", "2"], ["2", "0", "3"], ["2", "0", "4"]),
        *(["1", "1", "2"], ["1", "1", "3"]),
    ]


async def test_a_file_along_a_metric(client: httpx.AsyncClient, runs: list[str]) -> None:
    query: dict[str, Any] = {"run": runs[0], "key": KEY, "x": f"metric:{KEY}"}
    _, *rows = csv.reader(io.StringIO((await client.get("/series.csv", params=query)).text))
    assert [row[6:] for row in rows] == [
        [str(float(-(2**53))), str(-(2**53) - 1)],
        [str(4 / 3), str(4 / 3)],
    ]


@pytest.mark.parametrize("path", ["/series", "/series.csv"])
async def test_who_is_not_signed_in(stranger: httpx.AsyncClient, path: str) -> None:
    answer = await stranger.get(path, params={"run": "run-x", "key": "loss"})
    assert answer.status_code in (303, 401)
