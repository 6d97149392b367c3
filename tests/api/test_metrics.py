"""Pushed points in all their shapes, and what is read back of them."""

import gzip
import json
import math
from typing import Any

import httpx
import pytest

from app.db import Database
from app.metrics import service
from tests.api.helpers import V1, get, make_external, post, problem
from tests.queries import QueryCounter

LINES = {"Content-Type": "application/x-ndjson"}


async def series(api: httpx.AsyncClient, run: Any, key: str = "loss", **query: Any) -> Any:
    answer = await get(api, "/series", run=run["id"], key=key, **query)
    assert len(answer["series"]) == 1
    return answer["series"][0]


async def push(api: httpx.AsyncClient, run: Any, body: Any) -> int:
    accepted: int = (await post(api, f"/runs/{run['id']}/metrics", body))["accepted"]
    return accepted


async def test_points_come_back_as_columns(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    points = [{"key": "loss", "step": step, "value": 1 / step} for step in (1, 2, 4)]
    assert await push(api, run, {"points": points}) == 3
    found = await series(api, run)
    assert (found["step"], found["value"]) == ([1, 2, 4], [1.0, 0.5, 0.25])
    assert (found["run"], found["key"], found["sampled"]) == (run["id"], "loss", False)
    assert found["time"] is None


async def test_values_that_are_not_finite_are_gaps(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    values = ["NaN", "Infinity", "-Infinity", 2]
    points = [{"key": "loss", "step": i, "value": value} for i, value in enumerate(values)]
    await push(api, run, {"points": points})
    assert (await series(api, run))["value"] == [None, None, None, 2.0]
    [summary] = (await get(api, f"/runs/{run['id']}/metrics"))["items"]
    assert (summary["count"], summary["non_finite"], summary["best"]) == (4, 3, 2.0)


async def test_columns(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    body = {
        "step": [1, 2, 3],
        "loss": [3, 2, 1],
        "lr": [None, 0.1, None],
        "time": ["2026-11-29T12:00:00Z", "2026-11-29T13:00:01+01:00", 1795953602],
    }
    assert await push(api, run, body) == 4
    assert (await series(api, run, "lr"))["step"] == [2]
    times = (await series(api, run, x="time"))["time"]
    assert times == [f"2026-11-29T12:00:0{second}Z" for second in range(3)]


async def test_lines_of_points_and_rows(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    content = b'{"step": 1, "loss": 2, "lr": 0.1}\n\n{"key": "loss", "step": 2, "value": "NaN"}'
    answer = await api.post(f"{V1}/runs/{run['id']}/metrics", content=content, headers=LINES)
    assert answer.json() == {"accepted": 3}
    assert (await series(api, run))["value"] == [2.0, None]


async def test_compressed_bodies(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    body = gzip.compress(json.dumps({"step": [1], "loss": [2]}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    path = f"{V1}/runs/{run['id']}/metrics"
    assert (await api.post(path, content=body, headers=headers)).json() == {"accepted": 1}
    problem(await api.post(path, content=body[:-9], headers=headers), 422)
    problem(await api.post(path, content=b"plain", headers=headers), 422)
    problem(await api.post(path, content=b"", headers=headers | {"Content-Encoding": "br"}), 415)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"points": [{"key": "a", "step": 1, "value": "many"}]}, "points.0.value"),
        ({"points": [{"key": "a", "step": 1.5, "value": 1}]}, "points.0.step"),
        ({"points": [{"key": "a", "step": 2**70, "value": 1}]}, "points.0.step"),
        ({"points": [{"key": "", "step": 1, "value": 1}]}, "points.0.key"),
        ({"points": [{"key": "a\0", "step": 1, "value": 1}]}, "points.0.key"),
        ({"points": [{"key": "a", "step": 1, "value": 1, "time": "noon"}]}, "points.0.time"),
        ({"points": [3]}, "points.0"),
        ({"points": [{"key": "a", "step": 1, "value": 10**400}]}, "points.0.value"),
        ({"step": [1, 2], "loss": [1]}, "loss"),
        ({"loss": [1]}, "body"),
        ([1], "body"),
    ],
)
async def test_one_wrong_point_stores_none(api: httpx.AsyncClient, body: Any, field: str) -> None:
    run = await make_external(api)
    if isinstance(body, dict) and "points" in body:
        body["points"].append({"key": "good", "step": 1, "value": 1})
    answer = await api.post(f"{V1}/runs/{run['id']}/metrics", json=body)
    assert problem(answer, 422)["errors"][0]["field"].startswith(field.partition(".step")[0])
    assert (await get(api, f"/runs/{run['id']}/metrics"))["items"] == []


async def test_deep_nonsense_is_no_crash(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    path = f"{V1}/runs/{run['id']}/metrics"
    headers = {"Content-Type": "application/json"}
    problem(await api.post(path, content=b"[" * 500_000, headers=headers), 422)
    problem(await api.post(path, content=b"\xff\xfe", headers=headers), 422)


async def test_a_deleted_run_takes_no_points(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    await post(api, f"/runs/{run['id']}/finish", {"status": "failed"})
    await post(api, f"/runs/{run['id']}/delete")
    answer = await api.post(f"{V1}/runs/{run['id']}/metrics", json={"step": [1], "a": [1]})
    problem(answer, 409)


async def test_a_long_series_is_thinned_and_says_so(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    steps = list(range(3_000))
    await push(api, run, {"step": steps, "loss": [math.sin(step) for step in steps]})
    found = await series(api, run, max_points=100)
    assert found["sampled"]
    assert len(found["step"]) <= 100
    assert (found["step"][0], found["step"][-1]) == (0, 2999)


async def test_only_what_is_new_since_a_cursor(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    await push(api, run, {"step": [1, 2], "loss": [1, 2]})
    first = await series(api, run)
    query = {"run": run["id"], "key": "loss", "since": first["cursor"]}
    assert (await get(api, "/series", **query))["series"] == []
    await push(api, run, {"step": [3], "loss": [3]})
    [news] = (await get(api, "/series", **query))["series"]
    assert (news["step"], news["is_new"]) == ([3], True)


async def test_series_of_several_runs_and_keys(api: httpx.AsyncClient) -> None:
    runs = [await make_external(api, name) for name in ("a", "b")]
    await push(api, runs[0], {"step": [1], "loss": [1], "lr": [2]})
    await push(api, runs[1], {"step": [1], "loss": [3]})
    query = {"run": [run["id"] for run in runs], "key": ["loss", "lr"], "x": "relative"}
    found = (await get(api, "/series", **query))["series"]
    a, b = (run["id"] for run in runs)
    assert [(each["run"], each["key"]) for each in found] == [(a, "loss"), (a, "lr"), (b, "loss")]
    assert all(0 <= each["time"][0] < 600 for each in found)


@pytest.mark.parametrize(
    "query", [{"x": "age"}, {"since": "x"}, {"max_points": 1}, {"run": []}, {"key": []}]
)
async def test_questions_that_make_no_sense(api: httpx.AsyncClient, query: Any) -> None:
    run = await make_external(api)
    await push(api, run, {"step": [1], "loss": [1]})
    params = {"run": run["id"], "key": "loss"} | query
    problem(await api.get(f"{V1}/series", params=params), 422)


async def test_a_run_has_a_bounded_number_of_keys(
    api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_KEYS", 3)
    run = await make_external(api)
    assert await push(api, run, {"step": [1], "a": [1], "b": [1]}) == 2
    path = f"{V1}/runs/{run['id']}/metrics"
    problem(await api.post(path, json={"step": [2], "b": [2], "c": [2], "d": [2]}), 422)
    assert len((await get(api, f"/runs/{run['id']}/metrics"))["items"]) == 2
    assert await push(api, run, {"step": [2], "a": [2], "c": [2]}) == 2
    assert await push(api, run, {"step": [3], "a": [3], "b": [3], "c": [3]}) == 3


async def test_many_runs_cost_as_much_as_one(
    api: httpx.AsyncClient, database: Database, count_queries: QueryCounter
) -> None:
    ids = []
    for name in ("a", "b", "c"):
        run = await make_external(api, name)
        await push(api, run, {"step": [1, 2], "loss": [1, 2]})
        ids.append(run["id"])
    counts = []
    for wanted in (ids[:1], list(reversed(ids))):
        with count_queries(database) as counted:
            answer = await get(api, "/series", run=wanted, key="loss")
        assert [series["run"] for series in answer["series"]] == wanted
        counts.append(counted.count)
    assert counts[0] == counts[1]


async def test_the_run_that_is_missing_is_named(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    query = {"run": [run["id"], "run-none"], "key": "loss"}
    assert "run-none" in problem(await api.get(f"{V1}/series", params=query), 404)["detail"]


async def test_points_that_are_too_many_for_one_call(
    api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_POINTS", 5)
    run = await make_external(api)
    await push(api, run, {"step": [1, 2, 3, 4], "a": [1, 2, 3, 4], "b": [1, 2, None, None]})
    query = {"run": run["id"], "key": ["a", "b"]}
    assert "6 points" in problem(await api.get(f"{V1}/series", params=query), 422)["detail"]
    [alone] = (await get(api, "/series", run=run["id"], key="a"))["series"]
    query["since"] = alone["cursor"]
    assert (await api.get(f"{V1}/series", params=query)).status_code == 200


async def test_a_metric_as_the_x_axis_and_a_window_of_it(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    steps = list(range(8))
    await push(api, run, {"step": steps, "loss": steps, "epoch": [n / 4 for n in steps]})
    query: dict[str, Any] = {"x": "metric:epoch", "from": 0.5, "to": 1}
    found = await series(api, run, **query)
    assert (found["step"], found["x"]) == ([1, 2, 3, 4, 5], [0.25, 0.5, 0.75, 1.0, 1.25])
    assert (found["missing"], found["time"]) == (0, None)


async def test_values_that_are_not_finite_are_told_beside_the_columns(
    api: httpx.AsyncClient,
) -> None:
    run = await make_external(api)
    await push(api, run, {"step": [1, 2, 3, 4], "loss": ["NaN", 1, "Infinity", "-Infinity"]})
    found = await series(api, run, digits=6)
    assert found["value"] == [None, 1.0, None, None]
    assert found["odd"] == [[1, "NaN"], [3, "Infinity"], [4, "-Infinity"]]


async def test_a_cursor_of_the_whole_answer(api: httpx.AsyncClient) -> None:
    ids = [(await make_external(api, name))["id"] for name in ("a", "b")]
    for run in ids:
        await push(api, {"id": run}, {"step": [1, 2], "loss": [1, 2]})
    query = {"run": ids, "key": "loss"}
    first = await get(api, "/series", **query)
    nothing = await get(api, "/series", **query, since=first["cursor"])
    assert nothing == {"series": [], "cursor": None}
    await push(api, {"id": ids[1]}, {"step": [3], "loss": [3]})
    [news] = (await get(api, "/series", **query, since=first["cursor"]))["series"]
    assert (news["run"], news["step"], news["is_new"]) == (ids[1], [3], True)


@pytest.mark.parametrize(
    "query",
    [
        {"x": "metric:"},
        {"x": "metric:" + "k" * 600},
        {"from": 3, "to": 2},
        {"from": "nan"},
        {"to": "inf"},
        {"attempts": "some"},
    ],
)
async def test_axes_and_windows_that_are_none(api: httpx.AsyncClient, query: Any) -> None:
    run = await make_external(api)
    problem(await api.get(f"{V1}/series", params={"run": run["id"], "key": "loss"} | query), 422)
