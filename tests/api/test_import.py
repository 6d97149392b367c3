"""Whole runs taken in at once are the same as runs made, fed and ended call by call."""

import gzip
from typing import Any

import httpx
import orjson
import pytest

from app.db import Database
from app.runs import import_api
from tests.api.helpers import V1, get, make_external, post, problem
from tests.queries import QueryCounter

LONG = 1_300
# Late, repeated and odd steps, in more than one chunk.
STEPS = [*range(LONG), 5, 2, 2, -3]
VALUES: list[Any] = [*(step / 7 for step in range(LONG)), "NaN", 9_007_199_254_740_993, 1e300, 0]


def whole(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "experiment": "taken in", "status": "succeeded"} | more


async def names(api: httpx.AsyncClient) -> list[str]:
    return [run["name"] for run in (await get(api, "/runs"))["items"]]


async def points(api: httpx.AsyncClient, run: str) -> Any:
    found = (await get(api, "/series", run=run, key="loss", max_points=10_000))["series"]
    [series] = found
    return series["step"], series["value"], (await get(api, f"/runs/{run}/metrics"))["items"]


async def test_points_are_those_of_a_push(api: httpx.AsyncClient) -> None:
    columns = {"step": STEPS, "loss": VALUES}
    pushed = await make_external(api)
    await post(api, f"/runs/{pushed['id']}/metrics", columns)
    [made] = (await post(api, "/runs/import", {"runs": [whole("a", metrics=columns)]}))["items"]
    assert await points(api, made["id"]) == await points(api, pushed["id"])


async def test_a_run_that_goes_on_is_fed_by_pushes(api: httpx.AsyncClient) -> None:
    run = whole("a", metrics={"step": [1], "loss": [3]}, status=None)
    [made] = (await post(api, "/runs/import", {"runs": [run]}))["items"]
    await post(api, f"/runs/{made['id']}/metrics", {"step": [2], "loss": [2]})
    assert (await points(api, made["id"]))[:2] == ([1, 2], [3.0, 2.0])
    assert (await get(api, f"/runs/{made['id']}"))["status"] == "running"


async def test_config_tags_and_times_are_kept(api: httpx.AsyncClient) -> None:
    times = {"started_at": "2026-01-02T03:04:05Z", "ended_at": "2026-01-02T04:04:05Z"}
    given = whole("a", config={"lr": 0.1}, tags=["old"], **times) | {"status": "failed"}
    answer = await post(api, "/runs/import", {"runs": [given, whole("b")]})
    assert [run["name"] for run in answer["items"]] == ["a", "b"]
    run = await get(api, f"/runs/{answer['items'][0]['id']}")
    assert (run["status"], run["tags"]) == ("failed", ["old"])
    assert {name: run[name] for name in times} == times
    found = await get(api, "/runs", filter='config("lr") = 0.1 and tag = "old"')
    assert [each["id"] for each in found["items"]] == [run["id"]]
    events = (await get(api, f"/runs/{run['id']}/events"))["items"]
    assert [each["to"] for each in events] == ["running", "failed"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"metrics": {"step": [1, 2], "loss": [1, "x"]}}, "runs.1.metrics.loss.1"),
        ({"metrics": {"step": [1], "loss": [1, 2]}}, "runs.1.metrics.loss"),
        ({"status": "running"}, "runs.1.status"),
        ({"status": None, "ended_at": "2026-01-02T03:04:05Z"}, "runs.1.status"),
        ({"ended_at": "2126-01-02T03:04:05Z"}, "runs.1.ended_at"),
        (
            {"started_at": "2026-01-02T03:04:05Z", "ended_at": "2026-01-01T03:04:05Z"},
            "runs.1.ended_at",
        ),
        ({"started_at": "2026-01-02T03:04:05"}, "runs.1.started_at"),
        ({"name": ""}, "runs.1.name"),
        ({"color": "red"}, "runs.1.color"),
    ],
)
async def test_a_wrong_run_is_named_and_none_is_made(
    api: httpx.AsyncClient, wrong: dict[str, Any], field: str
) -> None:
    body = {"runs": [whole("a"), whole("b") | wrong]}
    answer = await api.post(f"{V1}/runs/import", json=body)
    assert [each["field"] for each in problem(answer, 422)["errors"]] == [field]
    assert await names(api) == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"runs": []}', b'{"runs": "x"}', b"\xff"])
async def test_nonsense_is_refused_in_words(api: httpx.AsyncClient, body: bytes) -> None:
    answer = await api.post(f"{V1}/runs/import", content=body)
    assert problem(answer, 422)["errors"][0]["message"]


async def test_too_many_points_are_refused(
    api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_api, "MAX_POINTS", 3)
    runs = [whole(name, metrics={"step": [1, 2], "loss": [1, 2]}) for name in "ab"]
    answer = await api.post(f"{V1}/runs/import", json={"runs": runs})
    assert "at most 3 points" in problem(answer, 422)["detail"]
    assert await names(api) == []


async def test_a_large_body_sent_again_makes_nothing_twice(api: httpx.AsyncClient) -> None:
    columns = {"step": list(range(20_000)), "loss": [0.5] * 20_000}
    headers = {"Idempotency-Key": "once", "Content-Encoding": "gzip"}
    body = gzip.compress(orjson.dumps({"runs": [whole("a", metrics=columns)]}))
    first, again = [
        await api.post(f"{V1}/runs/import", content=body, headers=headers) for _ in range(2)
    ]
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert await names(api) == ["a"]


async def test_statements_do_not_grow_with_the_runs(
    api: httpx.AsyncClient, database: Database, count_queries: QueryCounter
) -> None:
    counts = []
    for number in (2, 2, 40):
        config = {"lr": 0.1, "model": "small"}
        columns = {"step": list(range(600)), "loss": [0.5] * 600, "kl": [0.1] * 600}
        runs = [whole(f"r{i}", config=config, tags=["x"], metrics=columns) for i in range(number)]
        with count_queries(database) as counted:
            await post(api, "/runs/import", {"runs": runs})
        counts.append(counted.count)
    assert counts[2] <= counts[1]
